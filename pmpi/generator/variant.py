"""What the variants are made from: the real functions' header, and the entry points."""

from .body import indent
from .entry import entry_lines, nested_lines
from .quick import ENTRY, NOINLINE, is_quick, quick_wrapper
from .roles import unpolled
from .table import checksum, wrapped


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


def wrapper(f, entry):
    prefix = ("MPI_", "PMPI_")[entry]
    quick = is_quick(f)
    kind = NOINLINE + "full_" if quick else ENTRY
    yield f"{kind}{prefix}{f.name}({f.parameters})"
    yield "{"
    yield f"    const struct mpi_next *next = &mpi_next[{entry}];"
    if f.role in ("init", "finalize"):
        call = ", ".join(["next", *f.arguments])
        yield f"    return lifecycle_{f.name}({call});"
        yield "}"
        return
    if unpolled(f):
        yield f"    {unpolled(f)} = true;"
    if f.name == "Comm_disconnect":
        yield "    orphans_settle(comm);"
    nested = nested_lines(f)
    yield "    if (core_nested())" + " {" * (len(nested) > 1)
    yield from indent(indent(nested))
    if len(nested) > 1:
        yield "    }"
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
    yield '#include "pmpi/variant/orphans.h"'
    yield '#include "pmpi/variant/outsiders.h"'
    yield '#include "pmpi/variant/peers.h"'
    yield '#include "pmpi/variant/quick.h"'
    yield '#include "pmpi/variant/stats.h"'
    yield '#include "pmpi/variant/strangers.h"'
    yield '#include "pmpi/variant/wait.h"'
    yield '#include "pmpi/variant/wire.h"'
    yield '#include "pmpi/variant/within.h"'
    for f in wrapped(functions):
        for entry in (0, 1):
            yield ""
            yield from wrapper(f, entry)
    yield ""
    yield "void *const core_entries[MPI_NEXT_WRAPPED * 2] = {"
    for f in wrapped(functions):
        yield f"    (void *)entry_MPI_{f.name}, (void *)entry_PMPI_{f.name},"
    yield "};"
