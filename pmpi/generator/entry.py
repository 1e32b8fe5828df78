"""What an entry point does when the call is the program's own."""

from .body import Body, after_real, before_real, indent
from .roles import AFTER, BEFORE, BLOCKING, COMPLETION, IN, INTRODUCES, MERGES, OUT, OVER, STRANGERS, unpolled


def completion(f, body):
    """A call that completes requests: headers come off, statuses are put right."""
    shape, count, requests, index, statuses, done = COMPLETION[f.role]
    outcount = "1"
    body.replace[statuses] = "given"
    if shape == "SOME":
        outcount = "found != WAIT_UNTOLD ? found : 0"
        body.replace["outcount"] = "outcount != NULL ? &found : NULL"
        yield "int found = WAIT_UNTOLD;"
    yield "struct header_batch batch;"
    yield f"MPI_Status *given = header_before(&batch, HEADER_{shape}, {count}, {requests}, {statuses});"
    yield from before_real(f)
    yield from body.real()
    if shape == "SOME":
        yield "if (found != WAIT_UNTOLD)"
        yield "    *outcount = found;"
    yield from after_real(f)
    yield f"header_after(&batch, rc, {done}, {outcount}, {index});"


BUFFER = {
    "Buffer_attach": [
        "MPI_Count bytes = size;",
        "void *given = header_attach(buffer, &bytes);",
        "rc = next->{name}(given, {cast}bytes);",
        "header_attached(rc);",
    ],
    "Buffer_detach": [
        "within_begin();",
        "rc = next->{name}(buffer_addr, size);",
        "within_end();",
        "if (rc == MPI_SUCCESS) {{",
        "    MPI_Count bytes = *size;",
        "    header_detached(buffer_addr, &bytes);",
        "    *size = {cast}bytes;",
        "}}",
    ],
}


def started(f):
    """How many requests are started, and which."""
    return "count, array_of_requests" if f.name == "Startall" else "1, request"


def nested_lines(f):
    """What it does when the call is made within a callback of MPI's, or is MPI's own. A header is known by its request, not
    by who calls: one that stayed would be taken for the next request's of the same handle."""
    call = f"next->{f.name}({f.call()})"
    if f.role in COMPLETION:
        shape, count, requests, index, statuses, done = COMPLETION[f.role]
        outcount = "rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS ? *outcount : 0" if shape == "SOME" else "1"
        return ["struct header_batch batch;",
                f"MPI_Status *given = header_before(&batch, HEADER_{shape}, {count}, {requests}, {statuses});",
                f"int rc = next->{f.name}({f.call({statuses: 'given'})});",
                f"header_after(&batch, rc, {done}, {outcount}, {index});",
                "return rc;"]
    if f.role == "get_status":
        return ["return header_get_status(next, request, flag, status);"]
    if f.role == "request_free":
        return ["return header_request_free(next, request);"]
    if f.role == "start":
        return [f"header_starting({started(f)});", f"int rc = {call};", f"header_started(rc, {started(f)});", "return rc;"]
    if f.role == "buffer":
        lines = BUFFER[f.name.removesuffix("_c")]
        cast = Body(f).cast
        return ["int rc;", *(line.format(name=f.name, cast=cast) for line in lines if not line.startswith("within_")), "return rc;"]
    return ["return carrier_free_nested(" + call.replace("(", ", ", 1) + ";" if f.role == "comm_free" else f"return {call};"]


def entry_lines(f):
    """What an entry point does when the call is the program's own."""
    body = Body(f)
    if f.role in ("recv", "mrecv", "sendrecv"):
        yield "MPI_Status own_status;"
        yield "if (status == MPI_STATUS_IGNORE)"
        yield "    status = &own_status;"
    yield f"struct core_call call = core_enter({'true' if f.role in BLOCKING else 'false'});"
    if f.name in STRANGERS:
        yield "strangers_come();"
    if f.role in BEFORE:
        comm = f.argument_of_type("MPI_Comm")
        peer = "dest" if "dest" in f.arguments else "source"
        if comm or f.role != "creation":
            for line in BEFORE[f.role].format(comm=comm, peer=peer).split("; "):
                yield line.rstrip(";") + ";"
    if f.role in COMPLETION:
        yield from completion(f, body)
    elif f.role in OUT or f.role in IN:
        yield from body.parcels()
        yield from before_real(f)
        yield f"if ({body.ok}) {{"
        yield from indent(body.real())
        yield "} else {"
        both = f.role in OUT and f.role in IN
        yield "    rc = " + ("out.rc != MPI_SUCCESS ? out.rc : in.rc;" if both
                             else "out.rc;" if f.role in OUT else "in.rc;")
        yield "}"
        yield from after_real(f)
        if f.role in ("isend", "irecv", "isendrecv", "imrecv"):
            yield from body.expected()
        if f.role in ("send_init", "recv_init"):
            yield from body.kept()
        yield from body.after_parcels()
    else:
        if f.role == "start":
            yield f"header_starting({started(f)});"
        yield from before_real(f)
        if f.role == "get_status":
            yield "rc = header_get_status(next, request, flag, status);"
        elif f.role == "request_free":
            yield "wait_forgets(request);"
            yield "rc = header_request_free(next, request);"
        elif f.role == "buffer":
            for line in BUFFER[f.name.removesuffix("_c")]:
                yield line.format(name=f.name, cast=body.cast)
        else:
            yield from body.real()
        yield from after_real(f)
        if f.role == "start":
            yield f"header_started(rc, {started(f)});"
        if unpolled(f) == "wait_whole":
            yield from body.kept()
        elif f.role == "icollective":
            yield from body.expected()
        if f.role == "start" or f.name.startswith("Pready"):
            yield "if (rc == MPI_SUCCESS)"
            yield f"    wait_begins({started(f) if f.role == 'start' else '1, &request'});"
    if f.role in ("probe", "iprobe"):
        there = " && *flag" if f.role == "iprobe" else ""
        yield f"if (rc == MPI_SUCCESS{there})"
        yield "    header_probed(comm, status);"
    if f.role in ("mprobe", "improbe"):
        there = " && *flag" if f.role == "improbe" else ""
        yield f"if (rc == MPI_SUCCESS{there})"
        yield "    header_matched(comm, *message, status);"
    if f.role == "start":
        yield "carrier_look();"
    if f.role in AFTER:
        yield "if (rc == MPI_SUCCESS)"
        yield f"    {AFTER[f.role]}"
    if f.role == "comm_free":  # a delete callback may have kept it
        yield "if (rc != MPI_SUCCESS && known)"
        yield "    peers_learn(*comm);"
    if f.name in INTRODUCES:
        yield "if (rc == MPI_SUCCESS)"
        yield "    strangers_look_for(*newcomm);"
    if f.name in MERGES:
        yield "if (rc == MPI_SUCCESS)"
        yield "    wait_merged(*newcomm);"
    yield OVER.get(f.role, "wait_over();")
    if f.role in BLOCKING:
        yield "outsiders_count();"
    yield "core_leave(&call);"
