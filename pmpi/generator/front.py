"""What the front is made from: the names, and the exported jumps."""

from .table import checksum, wrapped


def names(functions):
    known = wrapped(functions)
    yield f"#define FRONT_FUNCTIONS {len(known)}"
    yield f"#define FRONT_TABLE {checksum(functions)}"
    yield "#define FRONT_NAMES \\"
    for f in known:
        yield f'    "{f.name}", \\'
    yield ""


# A slot holds where an entry point jumps to. At first that is a piece of code that names the slot
# and asks front_resolve() for the real target, with all argument registers saved: MPI's functions
# take integers and pointers only. It also tells it where the call comes from.
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
    mov 48(%rsp), %rsi
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
    mov x1, x30
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
#error "the front has no jumps for this processor yet; add them in pmpi/generator/front.py"
#endif
"""


def jumps(functions):
    yield JUMPS
    entries = [prefix + f.name for f in wrapped(functions) for prefix in ("MPI_", "PMPI_")]
    for slot, name in enumerate(entries):
        yield f"    entry {name}, {slot}"
    yield "    .data"
    yield "    .p2align 3"
    yield "    .globl front_slots"
    yield "    .hidden front_slots"
    yield "    .type front_slots, @object"
    yield "front_slots:"
    for slot in range(len(entries)):
        yield f"    .quad first{slot}"
    yield "    .size front_slots, .-front_slots"
    yield '    .section .note.GNU-stack,"",%progbits'
