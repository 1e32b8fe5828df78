"""What the suite says about its own tests: reads the `testlist` files of a built MPICH test/mpi."""

import os
import re
from dataclasses import dataclass, field

# In the order in which they are run; what the suite or its build lacks is left out. Not here: io,
# mpi_t, perf, ckpoint, ft and impls, which test a file system, tools, speed and fault tolerance.
FOLDERS = """
    pt2pt comm datatype errhan attr group info init topo rma part session coll
    errors/attr errors/basic errors/coll errors/comm errors/datatype errors/group errors/pt2pt
    errors/rma errors/spawn errors/topo errors/f77 errors/f90 errors/f08 errors/cxx
    threads/pt2pt threads/comm threads/init threads/coll threads/rma threads/part threads/spawn
    f77/pt2pt f77/coll f77/comm f77/datatype f77/attr f77/ext f77/info f77/init f77/profile f77/rma
    f77/topo f77/spawn
    f90/pt2pt f90/coll f90/comm f90/datatype f90/attr f90/ext f90/f90types f90/info f90/init
    f90/misc f90/profile f90/rma f90/timer f90/topo f90/spawn
    f08/pt2pt f08/coll f08/comm f08/datatype f08/attr f08/ext f08/info f08/init f08/misc f08/profile
    f08/rma f08/subarray f08/timer f08/topo f08/spawn
    cxx/pt2pt cxx/coll cxx/comm cxx/datatype cxx/attr cxx/errhan cxx/info cxx/init cxx/rma cxx/topo
    cxx/spawn
    spawn
""".split()

DEFAULT_RANKS = 2
DEFAULT_LIMIT_S = 180.0
MISSING = "not built"


@dataclass
class Test:
    folder: str
    program: str
    ranks: int = DEFAULT_RANKS
    arguments: list = field(default_factory=list)
    variables: list = field(default_factory=list)  # NAME=VALUE
    mpiexec_arguments: list = field(default_factory=list)
    limit_s: float = DEFAULT_LIMIT_S
    rule: str = ""  # how the suite judges it, "" being the usual way
    expected_to_fail: bool = False
    extends_mpi: bool = False  # tests what the MPI standard leaves open
    needs_gib: float = 0.0

    @property
    def name(self):
        words = [f"{self.folder}/{self.program}", str(self.ranks), *self.variables,
                 *self.mpiexec_arguments, *self.arguments]
        return " ".join(words)


def parse(line, folder):
    """One line of a testlist, or None when there is no test in it."""
    words = line.split("#", 1)[0].split()
    if not words or words[0].startswith("!") or words[0].startswith("@"):
        return None
    test = Test(folder, words[0])
    if len(words) > 1:
        test.ranks = int(words[1])
    for word in words[2:]:
        key, equals, value = word.partition("=")
        if not equals:
            continue  # the suite ignores such words, too
        if key == "arg":
            test.arguments.append(value)
        elif key == "env":
            test.variables.append(value)
        elif key == "mpiexecarg":
            test.mpiexec_arguments.append(value)
        elif key == "timeLimit" and value.isdigit():
            test.limit_s = float(value)
        elif key == "resultTest":
            test.rule = value
        elif key == "xfail":
            test.expected_to_fail = True
        elif key == "strict":
            test.extends_mpi = value.lower() == "false"
        elif key == "mem":
            test.needs_gib = float(value)
    return test


class Suite:
    """A built suite. `directory` is where its `configure` was run, in its source tree or beside."""

    def __init__(self, directory):
        self.directory = os.path.abspath(directory)
        script = os.path.join(self.directory, "runtests")
        try:
            with open(script, encoding="utf-8") as file:
                found = re.search(r'^\$testIsStrict\s*=\s*"(\w+)"', file.read(), re.MULTILINE)
        except FileNotFoundError as error:
            raise SystemExit(f"{script} is not there: --suite must name the directory in which the "
                             "suite was configured and built") from error
        self.strict = found is not None and found.group(1).lower() == "true"

    def _list_file(self, folder):
        built = os.path.join(self.directory, folder)
        try:
            with open(os.path.join(built, "Makefile"), encoding="utf-8") as file:
                source = re.search(r"^srcdir = (.*)$", file.read(), re.MULTILINE)
        except FileNotFoundError:
            return None  # not configured
        for place in (built, os.path.join(built, source.group(1)) if source else built):
            path = os.path.join(place, "testlist")
            if os.path.exists(path):
                return path
        return None

    def tests(self, folders):
        """All tests of the folders, each name once."""
        found = {}
        for folder in folders:
            path = self._list_file(folder)
            if path is None or not os.path.isdir(os.path.join(self.directory, folder)):
                continue
            with open(path, encoding="utf-8") as file:
                for line in file:
                    test = parse(line, folder)
                    if test and not os.path.isdir(self.program(test)):
                        found.setdefault(test.name, test)
        return list(found.values())

    def program(self, test):
        return os.path.join(self.directory, test.folder, test.program)

    def why_not(self, test, max_ranks, run_xfail):
        """The reason why the test is not run, or None."""
        if test.ranks > max_ranks:
            return "too many ranks"
        if test.extends_mpi and self.strict:
            return "extension of MPI, and the suite is configured as strict"
        if test.expected_to_fail and not self.strict and not run_xfail:
            return "expected to fail"
        if not os.access(self.program(test), os.X_OK):
            return MISSING
        return None
