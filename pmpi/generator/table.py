"""The functions of mpi_functions.table."""

import re
import sys
import zlib

ROLES = (
    "init finalize send isend send_init start recv mrecv irecv recv_init imrecv sendrecv isendrecv probe "
    "mprobe iprobe improbe test wait waitall waitany waitsome testone testall testany testsome get_status "
    "request_free buffer part look collective icollective creation dup idup comm_free window rma_sync "
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
    functions = [Function(role, name, since, twin, parameters)]
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
    return functions


def read(path):
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
