"""What stands in for large-count functions that an MPI lacks: pmpi/front/narrow.h."""

from .table import wrapped


def int_form(functions, f):
    """The function of which `f` is the _c form, or None."""
    return next((g for g in functions if f.suffix and g.name + f.suffix == f.name), None)


def narrowed(f, form):
    """The parameters that are wider than in the int form: name, and how it stands in the declaration."""
    for wide, narrow, name in zip(f.parameters.split(","), form.parameters.split(","), f.arguments):
        if wide != narrow:
            yield name, "out" if "*" in wide else "array" if "[]" in wide else "count"


def condition(f, name):
    """When a count or an array of counts means anything, or None: always."""
    if f.role not in ("collective", "icollective") or name == "count":
        return None
    kind = f.name.lower()
    sends = name.startswith("s") or name == "displs" and "scatterv" in kind
    rooted = "root" in f.arguments
    if rooted and ("scatter" if sends else "gather") in kind:
        return "narrow_at_root(&narrowing, root)"
    return "!narrow_in_place(sendbuf)" if sends else "!narrow_in_place(recvbuf)" if rooted else None


def length(f, name):
    if "eighbor" in f.name:
        return "NARROW_DESTINATIONS" if name.startswith("s") else "NARROW_SOURCES"
    return "NARROW_GROUP" if "educe_scatter" in f.name else "NARROW_PEERS"


def use(f):
    if "_init" in f.name:
        return "NARROW_PERSISTENT"
    return "NARROW_REQUEST" if "request" in f.arguments else "NARROW_CALL"


def stand_in(f, form, prefix, slot):
    """`slot` is that of the int form, so that the call is wrapped as any other."""
    words = ", ".join("narrow_word " + a for a in f.arguments)
    outs = []
    yield f"static int {prefix}{f.name}({words})"
    yield "{"
    yield f"    typedef int function({', '.join(['narrow_word'] * len(f.arguments))});"
    comm = ", .comm = comm" if "comm" in f.arguments else ""
    yield f'    struct narrowing narrowing = {{.name = "{prefix}{f.name}"{comm}}};'
    for name, kind in narrowed(f, form):
        if kind == "out":
            outs.append(name)
            yield f"    int narrow_{name} = 0;"
            continue
        when = condition(f, name)
        if when:
            yield f"    if ({when})"
        yield "    " * (2 if when else 1) + {"count": f"narrow_count(&narrowing, {name});",
                                             "array": f"narrow_array(&narrowing, &{name}, {length(f, name)});"}[kind]
    call = f.call({name: f"(narrow_word)(uintptr_t)&narrow_{name}" for name in outs})
    yield "    if (narrowing.rc == 0)"
    yield f"        narrowing.rc = ((function *)atomic_load_explicit(&front_slots[{slot}], memory_order_acquire))("
    yield f"            {call});"
    for name in outs:
        yield "    if (narrowing.rc == 0)"
        yield f"        *(int64_t *)(uintptr_t){name} = narrow_{name};"
    yield f"    return narrow_end(&narrowing, {use(f)});"
    yield "}"
    yield ""


def stand_ins(functions):
    known = wrapped(functions)
    entries = []
    yield "// Generated: stand-ins for the large-count functions that an MPI lacks."
    yield '#include "pmpi/front/narrow.h"'
    yield '#include "pmpi/front/real.h"'
    yield ""
    for f in known:
        form = int_form(known, f)
        for entry, prefix in enumerate(("MPI_", "PMPI_")):
            entries.append(f"(void *){prefix}{f.name}" if form else "0")
            if form:
                yield from stand_in(f, form, prefix, known.index(form) * 2 + entry)
    yield "void *const narrow_entries[] = {"
    for entry in entries:
        yield f"    {entry},"
    yield "};"
