"""The short way through an entry point, for calls between which nothing has changed."""

from .roles import unpolled

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
    **dict.fromkeys(["sendrecv", "isendrecv", "probe", "mprobe", "rma_sync", "imrecv", "start",
                     "get_status", "request_free"], "false"),
    **dict.fromkeys(["mrecv", "wait", "waitall", "waitany", "waitsome", "iprobe", "improbe", "test",
                     "testone", "testall", "testany", "testsome", "look"], "quick_look(word)"),
}
QUICK_AFTER = {"recv", "sendrecv", "collective", "mrecv", "probe", "mprobe", "wait", "waitall", "waitany", "waitsome",
               "rma_sync"}

ENTRY = "static int entry_"
NOINLINE = "static __attribute__((noinline)) int "


def is_quick(f):
    """Whether there is a short way: not to what makes persistent requests, or generalized ones."""
    return f.role in QUICK_BEFORE and unpolled(f) is None


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
