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
            yield ("header_starting(1, request);" if f.name == "Start"
                   else "header_starting(count, array_of_requests);")
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
        if unpolled(f) == "wait_whole":
            yield from body.kept()
        elif f.role == "icollective":
            yield from body.expected()
        if f.role == "start" or f.name.startswith("Pready"):
            yield "if (rc == MPI_SUCCESS)"
            yield ("    wait_begins(count, array_of_requests);" if f.name == "Startall"
                   else "    wait_begins(1, request);" if f.role == "start" else "    wait_begins(1, &request);")
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
