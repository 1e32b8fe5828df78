"""What belongs to a rank and is moved with it: wrappers and helpers, in real jobs and in pid namespaces.

Protects: nothing of a job escapes, in whatever pid namespace it lives, and nobody else's process is taken along.
"""

import os
import shutil
import signal
import subprocess
import sys

import daemonkit
import groupkit
import placekit
from daemonkit import EXIT, ROOT, classes, members, quota
from groupkit import NONE, enter, limit, make, read, write
from placekit import SCOPE, STEP, Placed, children_of, parent_of


class Families(Placed):
    def check_family(self, client, taken):
        """Whether the wrapper and its helpers, past and to come, are in the class."""
        wrapper = parent_of(client.pid)
        early, = set(children_of(wrapper)) - {client.pid}
        self.assertEqual(client.register("a")["status"], 0)
        self.assertEqual({wrapper, early} <= set(members("a")), taken)
        os.kill(wrapper, signal.SIGUSR1)
        self.eventually(lambda: len(children_of(wrapper)) == 3, "a later helper")
        self.assertEqual(set(children_of(wrapper)) <= set(members("a")), taken)
        self.assertIn(client.pid, members("a"))
        return wrapper

    def test_wrappers_below_a_launcher(self):
        client = self.started(self.launcher(), "wrapper")
        wrapper = self.check_family(client, True)
        launcher = parent_of(wrapper)
        self.assertNotIn(launcher, members("a"))
        self.assertEqual(client.simple(EXIT), 0)
        self.eventually(lambda: not classes(), "its class is gone")
        for pid in (wrapper, *children_of(wrapper)):
            self.assertEqual(read(f"/proc/{pid}/cgroup"), read(f"/proc/{launcher}/cgroup"))

    def test_nobody_above_a_process_without_a_launcher(self):
        self.check_family(self.started([], "wrapper"), False)

    def orphan(self, way):
        """A client whose wrapper has had a helper that its parent left behind, and that one's pid."""
        path = os.path.join(self.folder, "orphan")
        client = self.started(["env", f"DAEMON={path}", *way], "wrapper")
        pid = int(read(path))
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        self.assertNotIn(pid, children_of(parent_of(client.pid)))
        self.assertEqual(client.register("a")["status"], 0)
        return client, pid

    def test_an_orphan_is_of_the_family(self):
        client, orphan = self.orphan(self.launcher())
        self.assertIn(orphan, members("a"))
        self.assertEqual(len(members("a")), 4)
        self.assertEqual(client.simple(EXIT), 0)
        self.assertEqual(read(f"/proc/{orphan}/cgroup"), read(f"/proc/{client.process.pid}/cgroup"))

    def test_a_pipeline_is_no_family(self):
        client, orphan = self.orphan([])
        self.assertEqual(members("a"), [client.pid])
        self.assertNotIn(orphan, members("a"))

    def test_each_rank_brings_its_own(self):
        for rank in range(2):
            client = self.started(self.launcher(), "wrapper")
            self.assertEqual(client.register("a", 1, rank, 2)["status"], 0)
        self.assertEqual(len(members("a")), 6)

    def test_a_wrapper_of_two_jobs_stays_with_the_first(self):
        script = '"$@" <&3 & exec "$@"'
        client = self.started([*self.launcher(), "sh", "-c", f"exec 3</dev/null; {script}", "sh"], "wrapper")
        self.assertEqual(client.register("a")["status"], 0)
        other = self.started(self.launcher(), "wrapper")
        self.assertEqual(other.register("b")["status"], 0)
        self.assertIn(client.pid, members("a"))
        self.assertEqual(len(members("b")), 3)


WAITS = """
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    while (access(argv[1], F_OK) != 0)
        usleep(10000);
    MPI_Finalize();
    return 0;
}
"""


class RealJobs(Placed):
    """mpiexec sh -c 'helper & ./prog', of both MPIs, with the library."""

    def setUp(self):
        super().setUp()
        self.go = os.path.join(self.folder, "go")
        self.preloaded = os.path.join(daemonkit.BUILD, "pmpi", "libcosched_pmpi.so")
        if not os.path.exists(self.preloaded):
            self.skipTest("the library is not built")

    def launch(self, family, *way):
        if shutil.which(f"mpicc.{family}") is None:
            self.skipTest(f"no mpicc.{family}")
        program = os.path.join(self.folder, "waits")
        write(WAITS, f"{program}.c")
        subprocess.run([f"mpicc.{family}", "-w", "-o", program, f"{program}.c"], check=True)
        script = f"sleep 3600 & {program} {self.go}; status=$?; kill $!; exit $status"
        job = subprocess.Popen(
            [*way, f"mpiexec.{family}", *(["--oversubscribe"] if family == "openmpi" else []),
             "-n", "2", "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            env={**os.environ, "LD_PRELOAD": self.preloaded, "COSCHED_RUNTIME_DIR": self.runtime_dir,
                 "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        self.others.append(job)
        self.eventually(lambda: self.processes() == 2, "both ranks have registered")
        return job

    def processes(self):
        return self.ctl_json("status")["processes"]

    def end(self, left=0):
        write("", self.go)
        self.eventually(lambda: self.processes() == left, "both ranks have left")

    def check_moved(self, family):
        job = self.launch(family)
        name, = classes()
        pids = [int(pid) for pid in read(daemonkit.CPU_ROOT, name, "cgroup.procs").split()]
        names = sorted(read(f"/proc/{pid}/comm").strip() for pid in pids)
        self.assertEqual(names, ["sh", "sh", "sleep", "sleep", "waits", "waits"])
        self.assertNotIn(job.pid, pids)
        self.end()
        self.eventually(lambda: not classes(), "its class is gone")

    def check_in_place(self, family):
        make(SCOPE)
        self.launch(family, sys.executable, "-BS", placekit.__file__, "enter", SCOPE, ROOT)
        self.assertEqual((len(self.records()), classes()), (1, []))
        self.job("b")
        self.switch()
        self.assertIn("1000", {limit(SCOPE)[0], str(quota("b"))})
        self.end(left=1)
        self.assertEqual((self.records(), limit(SCOPE)), ([], NONE))

    def test_mpich_moved(self):
        self.check_moved("mpich")

    def test_openmpi_moved(self):
        self.check_moved("openmpi")

    def test_mpich_in_place(self):
        self.check_in_place("mpich")

    def test_openmpi_in_place(self):
        self.check_in_place("openmpi")


class Namespaces(Placed):
    def test_a_client_in_a_pid_namespace(self):
        client = self.started(["unshare", "--pid", "--fork"])
        outer = client.process.pid
        self.eventually(lambda: children_of(outer), "the inner process")
        inner, = children_of(outer)
        self.assertEqual(client.register("a")["status"], 0)
        self.assertEqual(members("a"), [inner])
        helper = client.spawn_helper()
        self.assertLess(helper, 1000)
        self.eventually(lambda: len(members("a")) == 2, "its helper is in the class")
        self.job("b")
        self.switch()
        self.assertEqual(quota("a"), 1000)
        os.kill(inner, signal.SIGKILL)
        self.eventually(lambda: classes() == ["job-0-b"], "its death is noticed")

    def test_one_in_place(self):
        make(STEP)
        client = self.started(["unshare", "--pid", "--fork"])
        self.eventually(lambda: children_of(client.process.pid), "the inner process")
        inner, = children_of(client.process.pid)
        enter(STEP, inner)
        self.assertEqual(client.register("a")["status"], 0)
        self.assert_in_place()
        self.job("b")
        self.switch()
        self.assertEqual(limit(STEP)[0], "1000")

    def test_the_namespace_of_a_launched_rank(self):
        """The wrapper that made the namespace is outside of it."""
        client = self.started([*self.launcher(), "unshare", "--pid", "--fork"])
        self.assertEqual(client.register("a")["status"], 0)
        unshare, = children_of(client.process.pid)
        self.assertEqual(sorted(members("a")), sorted([unshare, *children_of(unshare)]))


if __name__ == "__main__":
    groupkit.main()
