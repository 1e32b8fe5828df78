#!/usr/bin/env python3
"""Makes the library's entry points from mpi_functions.table.

usage: generate.py front    TABLE OUT.h      names of the wrapped functions, for the front
       generate.py jumps    TABLE OUT.S      the exported jumps, for the front
       generate.py next     TABLE OUT.h      struct mpi_next, the real functions, for the variants
       generate.py wrappers TABLE OUT.c      the entry points, for the variants
"""
import re
import sys
import zlib

ROLES = (
    "init finalize send isend send_init start recv mrecv irecv recv_init imrecv sendrecv isendrecv probe "
    "mprobe iprobe improbe test wait waitall waitany waitsome testone testall testany testsome get_status "
    "request_free buffer part look collective icollective creation dup idup comm_free window rma_sync win_wait "
    "internal"
).split()


class Function:
    """One MPI function: a line of the table, or what its flags make of it."""

    def __init__(self, role, name, since, twin, parameters, suffix=""):
        self.role = role
        self.name = name
        self.since = since  # version of the MPI standard
        self.twin = twin
        self.parameters = parameters
        self.suffix = suffix  # "_c": counts are MPI_Count
        self.shunned = None  # the family of MPI whose twin is not to be used
        if parameters == "void":
            self.arguments = []
        else:
            self.arguments = [self.argument_name(p) for p in parameters.split(",")]

    @staticmethod
    def argument_name(parameter):
        return parameter.replace("[]", "").replace("*", " ").split()[-1]

    def argument_of_type(self, pattern):
        """The name of the first parameter whose declaration matches, or None."""
        for parameter, name in zip(self.parameters.split(","), self.arguments):
            if re.fullmatch(pattern + r"\s*" + name, parameter.strip()):
                return name
        return None

    def call(self, replace=None, drop=(), add=()):
        """The argument list of a call: `replace` maps names, `drop` leaves out, `add` appends."""
        names = [(replace or {}).get(a, a) for a in self.arguments if a not in drop]
        return ", ".join(names + list(add))


def large_count(parameters):
    """The parameters of the function's _c form."""
    text = re.sub(r"\bint (\w*counts?(?:\[\])?|size)(?=,|$)", r"MPI_Count \1", parameters)
    text = re.sub(r"\bint \*(size)(?=,|$)", r"MPI_Count *\1", text)
    text = re.sub(r"\bint (\w*displs\[\]|disp_unit|array_of_displacements\[\])(?=,|$)", r"MPI_Aint \1", text)
    if "outbuf" in parameters:  # MPI_Pack_c
        text = text.replace("int outsize", "MPI_Count outsize").replace("int *position", "MPI_Count *position")
    return text


def expand(role, name, flags, twin, parameters):
    """The function of a line and those that its flags stand for."""
    since = 4 if "4" in flags else 3
    twin, _, shunned = (twin or "").partition("!")
    functions = [Function(role, name, since, twin or None, parameters)]
    functions[0].shunned = shunned or None
    if "i" in flags:
        immediate = f"I{name[0].lower()}{name[1:]}"
        functions.append(Function("icollective", immediate, 3, None, parameters + ", MPI_Request *request"))
    if "p" in flags:
        functions.append(Function("icollective", name + "_init", 4, None,
                                  parameters + ", MPI_Info info, MPI_Request *request"))
    if "c" in flags:
        for f in list(functions):
            functions.append(Function(f.role, f.name + "_c", 4, f.twin and f.twin + "_c",
                                      large_count(f.parameters), "_c"))
            functions[-1].shunned = f.shunned
    return functions


def read_table(path):
    functions = []
    with open(path, encoding="utf-8") as table:
        for number, line in enumerate(table, 1):
            line = line.split("#", 1)[0].strip()
            if not line:
                continue
            fields = line.split(None, 4)
            if len(fields) != 5:
                sys.exit(f"{path}:{number}: expected role, name, flags, twin and parameters")
            role, name, flags, twin, parameters = fields
            if role not in ROLES:
                sys.exit(f"{path}:{number}: unknown role {role}; known are: {' '.join(ROLES)}")
            if set(flags) - set("-cip4"):
                sys.exit(f"{path}:{number}: unknown flags {flags}; known are: c, i, p, 4")
            functions += expand(role, name, flags, None if twin == "-" else twin, parameters)
    names = [f.name for f in functions]
    for name in names:
        if names.count(name) > 1:
            sys.exit(f"{path}: {name} stands there twice")
    for f in functions:
        if f.twin and f.twin not in names:
            sys.exit(f"{path}: {f.name} has the twin {f.twin}, which the table lacks")
    return functions


def wrapped(functions):
    return [f for f in functions if f.role != "internal"]


def checksum(functions):
    text = " ".join(f.name for f in wrapped(functions))
    return f"0x{zlib.crc32(text.encode()):08x}u"


# --- front ---------------------------------------------------------------------------------------


def front(functions):
    names = wrapped(functions)
    yield f"#define FRONT_FUNCTIONS {len(names)}"
    yield f"#define FRONT_TABLE {checksum(functions)}"
    yield "#define FRONT_NAMES \\"
    for f in names:
        yield f'    "{f.name}", \\'
    yield ""


# A slot holds where an entry point jumps to. At first that is a piece of code that names the slot
# and asks front_resolve() for the real target, with all argument registers saved: MPI's functions
# take integers and pointers only.
JUMPS = """\
// Generated. Jumps from the exported names through front_slots; slot = function * 2 + (0: MPI_, 1: PMPI_).
#if defined(__x86_64__)
    .text
front_lazy:
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    mov %eax, %edi
    mov %rsp, %rax
    and $-16, %rsp
    push %rax
    push %rax
    call front_resolve
    pop %rsp
    mov %rax, %r11
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    jmp *%r11
.macro entry name, slot
    .globl \\name
    .type \\name, @function
    .p2align 4
\\name:
    endbr64
    jmp *front_slots+8*\\slot(%rip)
    .size \\name, .-\\name
first\\slot:
    endbr64
    mov $\\slot, %eax
    jmp front_lazy
.endm
#elif defined(__aarch64__)
    .text
front_lazy:
    stp x29, x30, [sp, #-96]!
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    mov x0, x17
    bl front_resolve
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp x29, x30, [sp], #96
    br x16
.macro entry name, slot
    .globl \\name
    .type \\name, @function
    .p2align 4
\\name:
    hint #34
    adrp x16, front_slots+8*\\slot
    ldr x16, [x16, #:lo12:front_slots+8*\\slot]
    br x16
    .size \\name, .-\\name
first\\slot:
    mov x17, #\\slot
    b front_lazy
.endm
#else
#error "the front has no jumps for this processor yet; add them in pmpi/generate.py"
#endif
"""


def jumps(functions):
    yield JUMPS
    names = [prefix + f.name for f in wrapped(functions) for prefix in ("MPI_", "PMPI_")]
    for slot, name in enumerate(names):
        yield f"    entry {name}, {slot}"
    yield "    .data"
    yield "    .p2align 3"
    yield "    .globl front_slots"
    yield "    .hidden front_slots"
    yield "    .type front_slots, @object"
    yield "front_slots:"
    for slot in range(len(names)):
        yield f"    .quad first{slot}"
    yield "    .size front_slots, .-front_slots"
    yield '    .section .note.GNU-stack,"",%progbits'


# --- variants ------------------------------------------------------------------------------------


def next_header(functions):
    yield "// Generated: the functions that are called on from here, under the names MPI_X or PMPI_X."
    yield "#ifndef COSCHED_PMPI_MPI_NEXT_H"
    yield "#define COSCHED_PMPI_MPI_NEXT_H"
    yield "#include <mpi.h>"
    yield f"#define MPI_NEXT_FUNCTIONS {len(functions)}"
    yield f"#define MPI_NEXT_WRAPPED {len(wrapped(functions))}"
    yield f"#define MPI_NEXT_TABLE {checksum(functions)}"
    yield "struct mpi_next {"
    for f in functions:
        yield f"    int (*{f.name})({f.parameters});"
    yield "};"
    yield "#define MPI_NEXT_NAMES \\"
    for f in functions:
        yield f'    "{f.name}", \\'
    yield ""
    yield "// The version of the standard that each came with: an MPI may lack those of version 4."
    yield "#define MPI_NEXT_SINCE \\"
    for f in functions:
        yield f"    {f.since}, \\"
    yield ""
    yield "#endif"


# What happens before and after the call, by role. The behaviours themselves are in the variant's
# modules; only their order stands here.
BEFORE = {
    "send": "stats_message(); carrier_sending(comm, dest);",
    "isend": "stats_message(); carrier_sending(comm, dest);",
    "sendrecv": "carrier_contact(comm, source); carrier_sending(comm, dest);",
    "isendrecv": "carrier_contact(comm, source); carrier_sending(comm, dest);",
    "send_init": "carrier_contact(comm, dest);",
    "irecv": "carrier_contact(comm, source);",
    "recv": "carrier_contact(comm, source);",
    "recv_init": "carrier_contact(comm, source);",
    "part": "carrier_contact(comm, {peer});",
    "collective": "carrier_collective(comm);",
    "icollective": "carrier_collective(comm);",
    "creation": "carrier_collective({comm});",
    "dup": "carrier_collective(comm);",
    "idup": "carrier_collective(comm);",
    "window": "block_without_sign(); carrier_collective(comm);",
    "look": "carrier_look();",
    "rma_sync": "carrier_look();",
    "win_wait": "carrier_look();",
    "comm_free": "bool known = carrier_forget(*comm);",
}
AFTER = {
    "recv": "carrier_arrived_from(comm, status->MPI_SOURCE);",
    "sendrecv": "carrier_arrived_from(comm, status->MPI_SOURCE);",
    "mrecv": "carrier_arrived();",
    "iprobe": "carrier_looked();",
    "improbe": "carrier_looked();",
    "test": "carrier_looked();",
    "testone": "carrier_looked();",
    "testall": "carrier_looked();",
    "testany": "carrier_looked();",
    "testsome": "carrier_looked();",
    "get_status": "carrier_looked();",
    "wait": "carrier_arrived();",
    "waitall": "carrier_arrived();",
    "waitany": "carrier_arrived();",
    "waitsome": "carrier_arrived();",
    "collective": "carrier_arrived();",
    "rma_sync": "carrier_arrived();",
    "win_wait": "carrier_arrived();",
    "creation": "peers_learn(*newcomm);",
    "dup": "peers_learn_duplicate(*newcomm, comm);",
    "idup": "peers_learn_like(*newcomm, comm);",
}
# What may have been done for peers that sleep, and for whom: else for anybody.
OVER = {
    "send": "wait_over_for(comm, dest);",
    "isend": "wait_over_for(comm, dest);",
    "irecv": "wait_over_for(comm, source);",
    "recv": "wait_over_for(comm, rc == MPI_SUCCESS ? status->MPI_SOURCE : source);",
    "testsome": "wait_tested(rc == MPI_SUCCESS && *outcount > 0);",
    **dict.fromkeys(["test", "testone", "testall", "testany", "get_status", "iprobe", "improbe"],
                    "wait_tested(rc == MPI_SUCCESS && *flag);"),
}
# These bring processes of other jobs, who do not ring.
STRANGERS = {"Comm_spawn", "Comm_spawn_multiple", "Comm_accept", "Comm_connect", "Comm_join"}
# These make intracommunicators of processes that may be of other jobs.
MERGES = {"Intercomm_merge", "Comm_create_from_group"}
BLOCKING = {
    "send", "recv", "mrecv", "sendrecv", "probe", "mprobe", "wait", "waitall", "waitany",
    "waitsome", "collective", "creation", "dup", "rma_sync", "win_wait",
}

# Of these some, or all, are left to the MPI as a whole.
WITHIN = {"collective", "creation", "dup", "comm_free", "window", "rma_sync", "mrecv", "recv"}

# The header carrier's part. A parcel is what really goes to MPI in place of the user's buffer, count
# and datatype: these themselves where no header travels.
OUT = {"send": "ONCE", "isend": "KEPT", "send_init": "PERSISTENT", "sendrecv": "ONCE", "isendrecv": "JOINED"}
IN = {"recv": "ONCE", "irecv": "KEPT", "recv_init": "PERSISTENT", "sendrecv": "ONCE", "isendrecv": "JOINED",
      "mrecv": "ONCE", "imrecv": "KEPT"}
# The arguments of the calls that complete requests: number, requests, index or indices, statuses.
COMPLETION = {
    "wait": ("ALL", "1", "request", "NULL", "status", "true"),
    "testone": ("ALL", "1", "request", "NULL", "status", "*flag != 0"),
    "waitall": ("ALL", "count", "array_of_requests", "NULL", "array_of_statuses", "true"),
    "testall": ("ALL", "count", "array_of_requests", "NULL", "array_of_statuses", "*flag != 0"),
    "waitany": ("ANY", "count", "array_of_requests", "index", "status", "true"),
    "testany": ("ANY", "count", "array_of_requests", "index", "status", "*flag != 0"),
    "waitsome": ("SOME", "incount", "array_of_requests", "array_of_indices", "array_of_statuses", "true"),
    "testsome": ("SOME", "incount", "array_of_requests", "array_of_indices", "array_of_statuses", "true"),
}


class Body:
    """The lines of one entry point."""

    def __init__(self, f):
        self.f = f
        self.replace = {}  # arguments of the real call
        self.cast = "" if f.suffix else "(int)"

    def triple(self, parcel, names):
        """The real call gets the parcel's buffer, count and datatype."""
        buf, count, datatype = names
        self.replace.update({buf: f"{parcel}.buf", count: f"{self.cast}{parcel}.count",
                             datatype: f"{parcel}.type"})

    def parcels(self):
        """Declarations of the parcels, and the condition under which the call is made."""
        f, ok = self.f, []
        replaces = f.name.startswith(("Sendrecv_replace", "Isendrecv_replace"))
        split = "sendbuf" in f.arguments
        if f.role in OUT:
            names = ("sendbuf", "sendcount", "sendtype") if split else ("buf", "count", "datatype")
            tag = "sendtag" if "sendtag" in f.arguments else "tag"
            make = "header_out_copy(" if replaces else f"header_out(HEADER_{OUT[f.role]}, "
            yield f"struct parcel out = {make}{', '.join(names)}, dest, {tag}, comm);"
            if replaces and f.role == "sendrecv":
                yield "if (out.wire == NULL && out.rc == MPI_SUCCESS && wait_polls())"
                yield f"    header_copy(&out, dest, {tag}, comm);"
            ok.append("out.rc == MPI_SUCCESS")
            self.out = names
        if f.role in IN:
            names = ("recvbuf", "recvcount", "recvtype") if split else ("buf", "count", "datatype")
            if "message" in f.arguments:
                call = f"header_in_matched(HEADER_{IN[f.role]}, {', '.join(names)}, *message)"
            else:
                tag = "recvtag" if "recvtag" in f.arguments else "tag"
                call = f"header_in(HEADER_{IN[f.role]}, {', '.join(names)}, source, {tag}, comm)"
            yield f"struct parcel in = {call};"
            ok.append("in.rc == MPI_SUCCESS")
            self.in_ = names
        if f.role in OUT and not replaces:
            self.triple("out", self.out)
        if f.role in IN and not replaces:
            self.triple("in", self.in_)
        self.ok = " && ".join(ok)

    def real(self):
        """The call itself, polled where that is called for."""
        f = self.f
        if f.name.startswith(("Sendrecv_replace", "Isendrecv_replace")):
            return self.replacing()
        direct = within(f.role, [f"rc = next->{f.name}({f.call(self.replace)});"])
        polled = self.polled()
        if not polled:
            return direct
        test = "wait_polls_collectives(comm)" if f.role == "collective" else "wait_polls()"
        if f.shunned:
            test += f" && !{f.shunned.upper()}"
        return [f"if ({test}) {{", *indent(polled), "} else {", *indent(direct), "}"]

    def both(self, call):
        """Arguments of Sendrecv and Isendrecv made of two parcels."""
        return (f"out.buf, {self.cast}out.count, out.type, dest, sendtag, in.buf, {self.cast}in.count, "
                f"in.type, source, recvtag, comm, {call}")

    def replacing(self):
        """The send part of a call with one buffer is a copy, where a header travels or the call is polled."""
        f = self.f
        name = f.name.replace("_replace", "")
        last = f.arguments[-1]
        if f.role == "isendrecv":
            made = [f"rc = next->{name}({self.both(last)});"]
        else:
            # MPICH 4.0 fails on elements of derived datatypes that lie across the fragments of a packed message.
            apart = "apart && (in.wire != NULL || wire_basic_size(datatype) != 0)"
            made = ["if (wait_polls()) {", *indent(self.polled_sendrecv(apart)), "} else {",
                    f"    rc = next->{name}({self.both(last)});", "}"]
        return ["if (out.wire != NULL) {", *indent(made), "} else {",
                f"    rc = next->{f.name}({f.call()});", "}"]

    def polled_receive(self):
        """Waits for the message and then receives it. Faulty arguments are found before there is one, and
        a fault of the message is the blocking call's, which tells the user's error handler."""
        arguments = self.f.call(self.replace, drop=("status",))
        return ["MPI_Request trial = MPI_REQUEST_NULL;",
                f"rc = next->Recv_init{self.f.suffix}({arguments}, &trial);",
                *self.message(arguments, "tag", *(self.replace.get(a, a) for a in ("count", "datatype")))]

    def message(self, arguments, tag, count, datatype, apart="apart"):
        """What fits, and is large, is received by polls; the rest by the blocking call. Faults of a message that a
        poll completes would go to another error handler."""
        c = self.f.suffix
        return ["bool apart = false;",
                "if (rc == MPI_SUCCESS)",
                f"    rc = wait_for_message(next, &trial, source, {tag}, comm, {count}, {datatype}, &apart);",
                f"if (rc == MPI_SUCCESS && {apart}) {{",
                f"    rc = next->Irecv{c}({arguments}, &trial);",
                "    if (rc == MPI_SUCCESS)",
                "        rc = wait_receive(next, &trial, status, comm, source);",
                "} else if (rc == MPI_SUCCESS) {",
                *indent(within("recv", [f"rc = next->Recv{c}({arguments}, status);"])),
                "}"]

    def polled_sendrecv(self, apart="apart"):
        """The same beside a nonblocking send."""
        c = self.f.suffix
        out = f"out.buf, {self.cast}out.count, out.type, dest, sendtag, comm"
        in_ = f"in.buf, {self.cast}in.count, in.type, source, recvtag, comm"
        return ["MPI_Request trial = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;",
                f"rc = next->Recv_init{c}({in_}, &trial);",
                "if (rc == MPI_SUCCESS)",
                f"    rc = next->Isend{c}({out}, &send);",
                "doorbell_ring(peers_world_rank(comm, dest));",
                *self.message(in_, "recvtag", "in.count", "in.type", apart),
                "rc = wait_sent(next, rc, &trial, &send);"]

    def polled(self):
        """The body of a blocking call as polls, or None where it has none. What a poll completes, or
        finds at fault, is left to the blocking call wherever that can be."""
        f = self.f
        if f.role == "sendrecv":
            return self.polled_sendrecv()
        if f.role == "recv":
            return self.polled_receive()
        if f.twin is None:
            return None
        if f.role in ("send", "collective"):
            wait = ("wait_send(next, &request, comm, dest)" if f.role == "send"
                    else "wait_request(next, &request, MPI_STATUS_IGNORE, PEERS_UNKNOWN)")
            return ["MPI_Request request = MPI_REQUEST_NULL;",
                    f"rc = next->{f.twin}({f.call(self.replace, add=('&request',))});",
                    "if (rc == MPI_SUCCESS)",
                    f"    rc = {wait};"]
        arguments = [self.replace.get(a, a) for a in f.arguments]
        lines, unfinished = ["struct wait wait = wait_new();"], "*outcount == 0"
        if f.role != "waitsome":
            at = {"probe": 3, "mprobe": 3, "win_wait": 1, "wait": 1, "waitall": 2, "waitany": 3}[f.role]
            arguments.insert(at, "&flag")
            lines.append("int flag = 0;")
            unfinished = "!flag"
        lines += [f"while ((rc = next->{f.twin}({', '.join(arguments)})) == MPI_SUCCESS && {unfinished})",
                  "    wait_pause(&wait);"]
        direct = f"rc = next->{f.name}({f.call(self.replace)});"
        if f.role == "waitany":  # MPICH's MPI_Testany leaves the status alone when there is nothing
            lines += ["if (rc == MPI_SUCCESS && *index == MPI_UNDEFINED)", "    " + direct]
        if f.role == "waitall":
            lines = ["if (wait_one_by_one) {",
                     "    wait_for_each(next, count, array_of_requests);",
                     "    " + direct, "} else {", *indent(lines), "}"]
        return lines

    def after_parcels(self):
        f = self.f
        request = "request" if f.role in ("isend", "send_init", "irecv", "recv_init", "isendrecv",
                                          "imrecv") else None
        if request:
            out = "&out" if f.role in OUT else "NULL"
            in_ = "&in" if f.role in IN else "NULL"
            yield f"header_keep({out}, {in_}, rc, {request});"
            return
        if f.role in OUT:
            yield "header_sent(&out);"
        if f.role in IN:
            yield "header_received(&in, rc, status);"


def waits(f):
    return f.role in BLOCKING | WITHIN or f.name.startswith("Buffer_detach")


def before_real(f):
    yield "core_before_real(&call);"
    if waits(f):
        yield "within_take_over();"


def after_real(f):
    if waits(f):
        yield "within_give_back();"
    yield "core_after_real(&call);"


def within(role, call):
    """A call that is left to the MPI as a whole, and may wait for others."""
    return ["within_begin();", *call, "within_end();"] if role in WITHIN else call


def indent(lines):
    return ["    " + line for line in lines]


def completion(f, body):
    """A call that completes requests: headers come off, statuses are put right."""
    shape, count, requests, index, statuses, done = COMPLETION[f.role]
    outcount = "rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS ? *outcount : 0" if shape == "SOME" else "1"
    body.replace[statuses] = "given"
    yield "struct header_batch batch;"
    yield f"MPI_Status *given = header_before(&batch, HEADER_{shape}, {count}, {requests}, {statuses});"
    yield from before_real(f)
    yield from body.real()
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
        yield "block_without_sign();"
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
        yield from body.after_parcels()
    else:
        if f.role == "start":
            yield ("header_starting(1, request);" if f.name == "Start"
                   else "header_starting(count, array_of_requests);")
        yield from before_real(f)
        if f.role == "get_status":
            yield "rc = header_get_status(next, request, flag, status);"
        elif f.role == "request_free":
            yield "rc = header_request_free(next, request);"
        elif f.role == "buffer":
            for line in BUFFER[f.name.removesuffix("_c")]:
                yield line.format(name=f.name, cast=body.cast)
        else:
            yield from body.real()
        yield from after_real(f)
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
    if f.role == "part" or (f.name.endswith(("_init", "_init_c")) and f.role == "icollective"):
        yield "wait_one_by_one = true;"
    if f.role in AFTER:
        yield "if (rc == MPI_SUCCESS)"
        yield f"    {AFTER[f.role]}"
    if f.role == "comm_free":  # a delete callback may have kept it
        yield "if (rc != MPI_SUCCESS && known)"
        yield "    peers_learn(*comm);"
    if f.name in MERGES:
        yield "if (rc == MPI_SUCCESS)"
        yield "    wait_merged(*newcomm);"
    yield OVER.get(f.role, "wait_over();")
    if f.role in BLOCKING:
        yield "outsiders_count();"
    yield "core_leave(&call);"


# The rule is that nothing has changed since the last call. Then these go on to MPI at once, and those
# that wait look again afterwards. Neither depth nor anything else is kept: being seen twice costs such a
# call one more look.
QUICK_BEFORE = {
    "send": "quick_peer(word, {comm}, dest)",
    "isend": "quick_peer(word, {comm}, dest)",
    "irecv": "quick_contact({comm}, source)",
    "recv": "quick_look(word) && quick_contact({comm}, source)",
    "collective": "quick_look(word) && quick_collective({comm})",
    "icollective": "quick_look(word) && quick_collective({comm})",
    # Two peers, or what is rare: only where all is settled.
    **dict.fromkeys(["sendrecv", "isendrecv", "probe", "mprobe", "rma_sync", "win_wait", "imrecv", "send_init",
                     "recv_init", "start", "get_status", "request_free"], "false"),
    **dict.fromkeys(["mrecv", "wait", "waitall", "waitany", "waitsome", "iprobe", "improbe", "test",
                     "testone", "testall", "testany", "testsome", "look"], "quick_look(word)"),
}
QUICK_AFTER = {"recv", "sendrecv", "collective", "mrecv", "probe", "mprobe", "wait", "waitall", "waitany", "waitsome",
               "rma_sync", "win_wait"}


ENTRY = "static int entry_"
NOINLINE = "static __attribute__((noinline)) int "


def quick_wrapper(f, entry):
    prefix = ("MPI_", "PMPI_")[entry]
    condition = QUICK_BEFORE[f.role]
    if f.role in QUICK_AFTER:
        yield from quick_function(f, entry, f"quick_settled(word) || ({condition})", ENTRY, "full_" + prefix)
    else:  # the way through a settled job needs no stack
        yield from quick_function(f, entry, condition, NOINLINE + "looked_up_", "full_" + prefix)
        yield from quick_function(f, entry, "quick_settled(word)", ENTRY, "looked_up_" + prefix)


def quick_function(f, entry, condition, kind, otherwise):
    prefix = ("MPI_", "PMPI_")[entry]
    real = f"mpi_next[{entry}].{f.name}({f.call()})"
    condition = condition.format(comm=f.argument_of_type("MPI_Comm"))
    yield ""
    yield f"{kind}{prefix}{f.name}({f.parameters})"
    yield "{"
    if "word" in condition or f.role in QUICK_AFTER:
        yield "    uint64_t word = session_word();"
    if f.role in QUICK_AFTER:
        yield f"    if ({condition}) {{"
        yield f"        int rc = {real};"
        yield "        outsiders_count();"
        yield "        if (__builtin_expect(session_word() != word, 0))"
        yield "            quick_changed(rc);"
        yield "        return rc;"
        yield "    }"
    else:
        yield f"    if ({condition})"
        yield f"        return {real};"
    yield f"    return {otherwise}{f.name}({f.call()});"
    yield "}"


def wrapper(f, entry):
    prefix = ("MPI_", "PMPI_")[entry]
    quick = f.role in QUICK_BEFORE and not (f.role == "icollective" and "MPI_Info" in f.parameters)
    kind = NOINLINE + "full_" if quick else "static int entry_"
    yield f"{kind}{prefix}{f.name}({f.parameters})"
    yield "{"
    yield f"    const struct mpi_next *next = &mpi_next[{entry}];"
    if f.role in ("init", "finalize"):
        call = ", ".join(["next", *f.arguments])
        yield f"    return lifecycle_{f.name}({call});"
        yield "}"
        return
    yield "    if (core_nested())"
    yield f"        return next->{f.name}({f.call()});"
    yield "    int rc;"
    yield from indent(entry_lines(f))
    yield "    return rc;"
    yield "}"
    if quick:
        yield from quick_wrapper(f, entry)


def wrappers(functions):
    yield "// Generated: the entry points of this variant, one behaviour per role."
    yield '#include "pmpi/variant/carrier.h"'
    yield '#include "pmpi/variant/core.h"'
    yield '#include "pmpi/variant/header.h"'
    yield '#include "pmpi/variant/lifecycle.h"'
    yield '#include "pmpi/variant/outsiders.h"'
    yield '#include "pmpi/variant/peers.h"'
    yield '#include "pmpi/variant/quick.h"'
    yield '#include "pmpi/variant/stats.h"'
    yield '#include "pmpi/variant/wait.h"'
    yield '#include "pmpi/variant/wire.h"'
    yield '#include "pmpi/variant/within.h"'
    yield "#ifdef OPEN_MPI"
    yield "#define OPENMPI true"
    yield "#else"
    yield "#define OPENMPI false"
    yield "#endif"
    for f in wrapped(functions):
        for entry in (0, 1):
            yield ""
            yield from wrapper(f, entry)
    yield ""
    yield "void *const core_entries[MPI_NEXT_WRAPPED * 2] = {"
    for f in wrapped(functions):
        yield f"    (void *)entry_MPI_{f.name}, (void *)entry_PMPI_{f.name},"
    yield "};"


def main():
    makers = {"front": front, "jumps": jumps, "next": next_header, "wrappers": wrappers}
    if len(sys.argv) != 4 or sys.argv[1] not in makers:
        sys.exit(__doc__)
    functions = read_table(sys.argv[2])
    text = "\n".join(makers[sys.argv[1]](functions)) + "\n"
    with open(sys.argv[3], "w", encoding="utf-8") as out:
        out.write(text)


if __name__ == "__main__":
    main()
