#!/usr/bin/env python3
"""Makes the library's entry points from mpi_functions.table.

usage: generate.py front    TABLE OUT.h      names of the wrapped functions, for the front
       generate.py jumps    TABLE OUT.S      the exported jumps, for the front
       generate.py next     TABLE OUT.h      struct mpi_next, the real functions, for the variants
       generate.py wrappers TABLE OUT.c      the entry points, for the variants
"""
import sys
import zlib

ROLES = (
    "init finalize send isend send_init start recv mrecv irecv imrecv sendrecv probe mprobe test wait "
    "waitall waitany waitsome collective icollective creation comm_free internal"
).split()


class Function:
    def __init__(self, line, where):
        fields = line.split(None, 3)
        if len(fields) != 4:
            sys.exit(f"{where}: expected role, name, twin and parameters")
        self.role, self.name, self.twin, self.parameters = fields
        if self.role not in ROLES:
            sys.exit(f"{where}: unknown role {self.role}; known are: {' '.join(ROLES)}")
        self.twin = None if self.twin == "-" else self.twin
        if self.parameters == "void":
            self.arguments = []
        else:
            self.arguments = [self.argument_name(p) for p in self.parameters.split(",")]

    @staticmethod
    def argument_name(parameter):
        return parameter.replace("[]", "").replace("*", " ").split()[-1]

    def call(self, replace=None, drop=(), add=()):
        """The argument list of a call: `replace` maps names, `drop` leaves out, `add` appends."""
        names = [(replace or {}).get(a, a) for a in self.arguments if a not in drop]
        return ", ".join(names + list(add))


def read_table(path):
    functions = []
    with open(path, encoding="utf-8") as table:
        for number, line in enumerate(table, 1):
            line = line.split("#", 1)[0].strip()
            if line:
                functions.append(Function(line, f"{path}:{number}"))
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
    yield "#endif"


# What happens before and after the call, by role. The behaviours themselves are in the variant's
# modules; only their order stands here.
BEFORE = {
    "send": "carrier_sending(comm, dest);",
    "isend": "carrier_sending(comm, dest);",
    "send_init": "carrier_contact(comm, dest);",
    "start": "carrier_look();",
    "irecv": "carrier_contact(comm, source);",
    "recv": "carrier_contact(comm, source);",
    "collective": "carrier_collective(comm);",
    "icollective": "carrier_collective(comm);",
    "creation": "carrier_collective(comm);",
    "comm_free": "peers_forget(*comm);",
}
AFTER = {
    "recv": "carrier_arrived_from(comm, status->MPI_SOURCE);",
    "mrecv": "carrier_arrived();",
    "test": "carrier_looked();",
    "wait": "carrier_arrived();",
    "waitall": "carrier_arrived();",
    "waitany": "carrier_arrived();",
    "waitsome": "carrier_arrived();",
    "collective": "carrier_arrived();",
}
BLOCKING = {
    "send", "recv", "mrecv", "sendrecv", "probe", "mprobe", "wait", "waitall", "waitany",
    "waitsome", "collective", "creation",
}
MESSAGES = {"send", "isend"}


def polled(f):
    """The body of a blocking call as polls of its twin, or None where it has none."""
    start = "struct wait wait = wait_new();"
    loop = "while (({call}) == MPI_SUCCESS && {unfinished})\n            wait_pause(&wait);"
    if f.twin is None:
        return None
    if f.role in ("send", "recv", "mrecv", "collective"):
        status = "status" if "status" in f.arguments else "MPI_STATUS_IGNORE"
        args = f.call(drop=("status",), add=("&request",))
        return [
            "MPI_Request request = MPI_REQUEST_NULL;",
            f"rc = next->{f.twin}({args});",
            "if (rc == MPI_SUCCESS)",
            f"    rc = wait_request(next, &request, {status});",
        ]
    if f.role in ("probe", "mprobe"):
        at = 3
        args = [*f.arguments[:at], "&flag", *f.arguments[at:]]
        call = f"rc = next->{f.twin}({', '.join(args)})"
        return [start, "int flag = 0;", loop.format(call=call, unfinished="!flag")]
    if f.role in ("wait", "waitall"):
        at = len(f.arguments) - 1
        args = [*f.arguments[:at], "&flag", *f.arguments[at:]]
        call = f"rc = next->{f.twin}({', '.join(args)})"
        return [start, "int flag = 0;", loop.format(call=call, unfinished="!flag")]
    if f.role == "waitany":
        args = [*f.arguments[:3], "&flag", *f.arguments[3:]]
        call = f"rc = next->{f.twin}({', '.join(args)})"
        return [start, "int flag = 0;", loop.format(call=call, unfinished="!flag")]
    if f.role == "waitsome":
        call = f"rc = next->{f.twin}({f.call()})"
        return [start, loop.format(call=call, unfinished="*outcount == 0")]
    return None


def wrapper(f, entry):
    prefix = ("MPI_", "PMPI_")[entry]
    yield f"static int entry_{prefix}{f.name}({f.parameters})"
    yield "{"
    yield f"    const struct mpi_next *next = &mpi_next[{entry}];"
    if f.role in ("init", "finalize"):
        call = ", ".join(["next", *f.arguments])
        yield f"    return core_inside() ? next->{f.name}({f.call()}) : lifecycle_{f.name}({call});"
        yield "}"
        return
    yield "    if (core_nested())"
    yield f"        return next->{f.name}({f.call()});"
    yield "    int rc;"
    if f.role == "recv":
        yield "    MPI_Status own_status;"
        yield "    if (status == MPI_STATUS_IGNORE)"
        yield "        status = &own_status;"
    blocking = "true" if f.role in BLOCKING else "false"
    yield f"    struct core_call call = core_enter({blocking});"
    if f.role in MESSAGES:
        yield "    stats_message();"
    if f.role in BEFORE:
        yield f"    {BEFORE[f.role]}"
    yield "    core_before_real(&call);"
    if f.role == "sendrecv":
        call = ", ".join(["next", *f.arguments])
        yield f"    rc = blocking_{f.name}({call});"
    else:
        body = polled(f)
        if body:
            test = "wait_polls_collectives()" if f.role == "collective" else "wait_polls()"
            yield f"    if ({test}) {{"
            for line in body:
                yield f"        {line}"
            yield "    } else {"
            yield f"        rc = next->{f.name}({f.call()});"
            yield "    }"
        else:
            yield f"    rc = next->{f.name}({f.call()});"
    yield "    core_after_real(&call);"
    if f.role in AFTER:
        yield "    if (rc == MPI_SUCCESS)"
        yield f"        {AFTER[f.role]}"
    yield "    core_leave(&call);"
    yield "    return rc;"
    yield "}"


def wrappers(functions):
    yield "// Generated: the entry points of this variant, one behaviour per role."
    yield '#include "pmpi/variant/blocking.h"'
    yield '#include "pmpi/variant/carrier.h"'
    yield '#include "pmpi/variant/core.h"'
    yield '#include "pmpi/variant/lifecycle.h"'
    yield '#include "pmpi/variant/peers.h"'
    yield '#include "pmpi/variant/stats.h"'
    yield '#include "pmpi/variant/wait.h"'
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
