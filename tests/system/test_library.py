"""The preloaded library without daemons: both MPIs, C and every Fortran binding, each way to wait.

The program sends a known number of messages, so the library's own count shows that each binding is
caught, and that no call is counted twice.
"""

import itertools
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import daemonkit

SOURCES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "mpi")
BUILD = os.environ.get("COSCHED_BUILD_DIR", "")
LIBRARY = os.path.join(BUILD, "pmpi", "libcosched_pmpi.so")
HOST = socket.gethostname()
FAMILIES = ("mpich", "openmpi")
RANKS = 2
MESSAGES = 20 * RANKS  # ten sends and ten immediate sends of each rank

PROGRAMS = {  # name: (compiler, source, flags)
    "c": ("mpicc", "ring.c", []),
    "c_pmpi": ("mpicc", "ring.c", ["-DPMPI"]),
    "mpifh": ("mpif90", "ring.F90", ["-DBINDING=1"]),
    "usempi": ("mpif90", "ring.F90", ["-DBINDING=2"]),
    "usempif08": ("mpif90", "ring.F90", ["-DBINDING=3"]),
}


# The C library's functions after which a program may have named its own; MPIs themselves need read() and its like.
PROGRAMS_OWN = {"accept", "bind", "clock", "connect", "fstat", "index", "link", "listen", "pause", "poll", "recv", "recvmsg", "select",
                "send", "sendmsg", "shutdown", "sleep", "socket", "stat", "time", "unlink", "wait"}


def mpiexec(family, arguments, prefix=(), **variables):
    launcher = [*prefix, "mpiexec." + family]
    if family == "openmpi":
        launcher += ["--oversubscribe"]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "COSCHED_RUNTIME_DIR": "/nonexistent", **variables}
    return subprocess.run(launcher + arguments, env=environment, capture_output=True, text=True,
                          timeout=120, stdin=subprocess.DEVNULL, check=False)


def openmpi_is_later():
    """Whether it is Open MPI 5 or later, with another launcher."""
    said = subprocess.run(["mpiexec.openmpi", "--version"], capture_output=True, text=True, check=True).stdout
    return int(re.search(r"\((?:Open MPI|OpenRTE)\) (\d+)", said).group(1)) >= 5


def families_of_several_programs():
    """Those whose mpiexec starts several programs by ":"; that of Open MPI 5.0.7 in Debian 13 crashes."""
    return [family for family in FAMILIES if family != "openmpi" or not openmpi_is_later()]


class Library(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="cosched-test-")
        cls.programs = {}
        for family in FAMILIES:
            for name, (compiler, source, flags) in PROGRAMS.items():
                program = os.path.join(cls.folder, f"{name}.{family}")
                subprocess.run([f"{compiler}.{family}", "-O1", "-w", *flags, "-o", program,
                                os.path.join(SOURCES, source)], check=True, cwd=cls.folder)
                cls.programs[family, name] = program
            for name in ("pingpong", "sums"):
                cls.programs[family, name] = os.path.join(cls.folder, f"{name}.{family}")
                subprocess.run([f"mpicc.{family}", "-O1", "-o", cls.programs[family, name],
                                os.path.join(SOURCES, name + ".c")], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def each(self):
        for family in FAMILIES:
            for name in PROGRAMS:
                with self.subTest(mpi=family, binding=name):
                    yield family, self.programs[family, name]

    def test_every_binding_is_caught_once(self):
        for family, program in self.each():
            plain = mpiexec(family, ["-n", str(RANKS), program])
            for wait in ("spin", "yield", "block"):
                done = mpiexec(family, ["-n", str(RANKS), program], LD_PRELOAD=LIBRARY,
                               COSCHED_STATS="1", COSCHED_WAIT=wait)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout, plain.stdout)
                stats = re.search(r"cosched: job \S+ ranks (\d+) carrier (\w+) wait (\w+): "
                                  r"messages (\d+) notices (\d+) .* scheduler (\w+)\n", done.stderr)
                self.assertTrue(stats, done.stderr)
                self.assertEqual(stats.groups(),
                                 (str(RANKS), "off", wait, str(MESSAGES), "0", "no"), done.stderr)

    def waits(self, family, arguments, prefix=(), **variables):
        """How the ranks of a job waited, by its own account, and what else it said on standard error."""
        done = mpiexec(family, arguments, prefix, LD_PRELOAD=LIBRARY, COSCHED_STATS="1", **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        stats = re.search(r"cosched: job .* wait (\w+): .*\n", done.stderr)
        self.assertTrue(stats, done.stderr)
        return stats.group(1), done.stderr.replace(stats.group(0), "")

    def test_auto_yields_where_ranks_share_cpus_and_only_there(self):
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            self.skipTest("needs two CPUs")
        for family in families_of_several_programs():
            program = self.programs[family, "c"]
            for places, wait in (((0, 1), "spin"), ((0, 0), "yield"), ((1, 0, 0), "yield")):
                arguments = ["--bind-to", "none"] if family == "openmpi" else []
                for place in places:
                    arguments += ["-n", "1", "taskset", "-c", str(cpus[place]), program, ":"]
                for variables in ({}, {"COSCHED_WAIT": "auto"}):
                    with self.subTest(mpi=family, places=places, variables=variables):
                        self.assertEqual(self.waits(family, arguments[:-1], **variables)[0], wait)

    def compute_on(self, cpu):
        """Somebody else, until the test ends."""
        hog = subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", "while True: pass"])
        self.addCleanup(hog.wait)
        self.addCleanup(hog.kill)

    def test_auto_sleeps_beside_somebody_who_computes(self):
        cpu = max(os.sched_getaffinity(0))
        self.compute_on(cpu)
        for family, name in itertools.product(FAMILIES, ("pingpong", "sums")):
            with self.subTest(mpi=family, program=name):
                unbound = ["--bind-to", "none"] if family == "openmpi" else []
                said = mpiexec(family, [*unbound, "-n", "2", self.programs[family, name], "1.5"],
                               prefix=["taskset", "-c", str(cpu)], LD_PRELOAD=LIBRARY, COSCHED_STATS="1").stderr
                stats = re.search(r"wait yield: .* yields (\d+) sleeps (\d+) ", said)
                self.assertTrue(stats, said)
                self.assertGreater(int(stats.group(1)), 0, said)
                self.assertGreater(int(stats.group(2)), 0, said)

    def test_auto_gives_way_to_others_who_compute_where_each_rank_has_a_cpu(self):
        cpus = sorted(os.sched_getaffinity(0))[:2]
        if len(cpus) < 2:
            self.skipTest("needs two CPUs")
        for cpu in cpus:
            self.compute_on(cpu)
        for family, name in itertools.product(FAMILIES, ("pingpong", "sums")):
            with self.subTest(mpi=family, program=name):
                unbound = ["--bind-to", "none"] if family == "openmpi" else []
                done = mpiexec(family, [*unbound, "-n", "2", self.programs[family, name], "2"],
                               prefix=["taskset", "-c", ",".join(map(str, cpus))], LD_PRELOAD=LIBRARY, COSCHED_STATS="1")
                self.assertEqual(done.returncode, 0, done.stderr)
                stats = re.search(r"wait spin: .* yields (\d+) sleeps (\d+) ", done.stderr)
                self.assertTrue(stats, done.stderr)
                self.assertGreater(int(stats.group(1)) + int(stats.group(2)), 0, done.stderr)

    def test_auto_takes_the_limit_of_a_container_for_its_cpus(self):
        group = os.path.join(os.path.dirname(daemonkit.CPU_ROOT), f"cosched-test-limit-{os.getpid()}")
        files = {"cpu.cfs_quota_us": "100000", "cpu.cfs_period_us": "100000"} if daemonkit.V1_CPU \
            else {"cpu.max": "100000 100000"}
        try:
            os.mkdir(group)
        except OSError as fault:
            self.skipTest(f"needs a cgroup: {fault}")
        self.addCleanup(os.rmdir, group)
        if not all(os.path.exists(os.path.join(group, name)) for name in files):
            self.skipTest("the cpu controller is not passed on")
        for name, text in files.items():
            with open(os.path.join(group, name), "w", encoding="ascii") as file:
                file.write(text)
        enter = ["sh", "-c", 'echo $$ >"$0" && exec "$@"', os.path.join(group, "cgroup.procs")]
        for family in FAMILIES:
            with self.subTest(mpi=family):
                unbound = ["--bind-to", "none"] if family == "openmpi" else []
                self.assertEqual(self.waits(family, [*unbound, "-n", "2", self.programs[family, "c"]],
                                            prefix=enter)[0], "yield")

    def test_ranks_that_wait_in_different_ways_spin_and_are_told(self):
        for family in families_of_several_programs():
            with self.subTest(mpi=family):
                program = self.programs[family, "c"]
                wait, said = self.waits(family, ["-n", "1", "env", "COSCHED_WAIT=yield", program, ":",
                                                 "-n", "1", "env", "COSCHED_WAIT=auto", program])
                self.assertEqual(wait, "spin")
                self.assertEqual(said.count("1 of 2 ranks have COSCHED_WAIT=yield, 1 auto"), 1, said)

    def test_silent_without_daemons(self):
        for family, program in self.each():
            done = mpiexec(family, ["-n", "2", program], LD_PRELOAD=LIBRARY)
            self.assertEqual((done.returncode, done.stdout), (0, "token 0 total 1\n"), done.stderr)
            self.assertNotIn("cosched", done.stderr)

    def test_bad_setting_is_named_and_survived(self):
        for family in FAMILIES:
            with self.subTest(mpi=family):
                done = mpiexec(family, ["-n", "2", self.programs[family, "c"]], LD_PRELOAD=LIBRARY,
                               COSCHED_WAIT="nap")
                self.assertEqual(done.returncode, 0)
                self.assertEqual(done.stderr.count("COSCHED_WAIT=nap is not one of: auto, spin, yield, block"), 1)

    def test_half_wrapped_job_is_ended_with_the_remedy(self):
        for family in families_of_several_programs():
            with self.subTest(mpi=family):
                program = self.programs[family, "c"]
                wrapped = ["env", "LD_PRELOAD=" + LIBRARY, program]
                done = mpiexec(family, ["-n", "1", *wrapped, ":", "-n", "1", program, ":",
                                        "-n", "1", *wrapped], COSCHED_INIT_TIMEOUT="2s")
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(done.stderr.count("cosched:"), 1)
                self.assertIn(f"of this job's 3 ranks, 0 ({HOST}), 2 ({HOST}) have loaded "
                              "libcosched_pmpi.so and 1 have not", done.stderr)
                self.assertIn({"mpich": "mpiexec without -genvlist and -genvnone",
                               "openmpi": "mpirun -x LD_PRELOAD"}[family], done.stderr)
                self.assertNotIn("token", done.stdout)

    def test_ranks_with_libraries_of_different_versions_run_without_and_are_told(self):
        later = os.path.join(self.folder, "later")
        os.mkdir(later)
        for library in (LIBRARY, *(os.path.join(BUILD, "pmpi", "later", f"libcosched_pmpi_{family}.so") for family in FAMILIES)):
            shutil.copy(library, later)
        for family in families_of_several_programs():
            with self.subTest(mpi=family):
                program = self.programs[family, "c"]
                before, after = (["-n", "1", "env", f"LD_PRELOAD={os.path.join(folder, os.path.basename(LIBRARY))}", program]
                                 for folder in (os.path.dirname(LIBRARY), later))
                done = mpiexec(family, [*before, ":", *after], COSCHED_STATS="1")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stderr.count("cosched:"), 1, done.stderr)
                self.assertIn("libraries of different versions (their exchanges are of version 3 to 1000), so the job runs "
                              "without a scheduler; install the same cosched on all its nodes", done.stderr)
                done = mpiexec(family, [*after, ":", *after], COSCHED_STATS="1")
                self.assertNotIn("versions", done.stderr)

    def elsewhere(self, *arguments, **variables):
        """What a program sees of the environment on a node that got nothing of it but by Open MPI's launcher."""
        agent = os.path.join(self.folder, "agent.sh")
        with open(agent, "w", encoding="ascii") as file:
            file.write('#!/bin/sh\nshift\nexec env -i PATH="$PATH" HOME=/ OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 '
                       'PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 sh -c "$*"\n')
        os.chmod(agent, 0o755)
        done = mpiexec("openmpi", ["--mca", "plm_rsh_agent", agent, "--host", "elsewhere:1", *arguments, "-n", "1", "env"],
                       **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)

    def test_open_mpis_launcher_hands_the_library_on(self):
        self.assertNotIn("FOO", self.elsewhere(FOO="1"))
        listed = ["--mca", "mca_base_env_list", "FOO=1;BAR"]
        for arguments, users in (([], {}), (["-x", "FOO"], {"FOO": "2"}), (listed, {"FOO": "1", "BAR": "3"})):
            with self.subTest(arguments=arguments):
                seen = self.elsewhere(*arguments, LD_PRELOAD=LIBRARY, COSCHED_WAIT="yield", FOO="2", BAR="3")
                self.assertEqual(seen.get("LD_PRELOAD"), LIBRARY)
                self.assertEqual(seen.get("COSCHED_WAIT"), "yield")
                self.assertEqual({name: seen.get(name) for name in users}, users)

    def test_the_users_list_of_variables_in_mpirun_is_kept(self):
        if openmpi_is_later():
            self.skipTest("Open MPI 5 reads no such list in files")
        listed = ["--mca", "mca_base_env_list", "FOO=1"]
        for line, arguments, handed_on in (("", listed, True), ("mca_base_env_list = FOO=1", [], False),
                                           ("-x FOO=1", [], False), ("btl_tcp_foo = -x", [], True)):
            with self.subTest(file=line, arguments=arguments):
                os.makedirs(os.path.join(self.folder, ".openmpi"), exist_ok=True)
                with open(os.path.join(self.folder, ".openmpi", "mca-params.conf"), "w", encoding="utf-8") as file:
                    file.write(line + "\n")
                done = mpiexec("openmpi", [*arguments, "-n", "2", "env"], LD_PRELOAD=LIBRARY, HOME=self.folder)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout.count("\nFOO=1\n"), 0 if line.startswith("btl") else 2, done.stdout)
                lists = re.findall(r"^OMPI_MCA_mca_base_env_list\w*=(.*)", done.stdout, re.M)
                self.assertEqual(any("LD_PRELOAD" in names.split(";") for names in lists), handed_on, done.stdout)

    def test_inert_in_other_programs(self):
        done = subprocess.run(["sh", "-c", "echo a | cat"], env={**os.environ, "LD_PRELOAD": LIBRARY},
                              capture_output=True, text=True, check=True)
        self.assertEqual((done.stdout, done.stderr), ("a\n", ""))

    def test_links_to_no_mpi(self):
        done = subprocess.run(["ldd", LIBRARY], capture_output=True, text=True, check=True)
        self.assertNotIn("mpi", done.stdout.replace("libcosched_pmpi", ""))

    # Where the MPI was opened for a plugin only, they would not be found.
    def test_variants_need_no_functions_of_an_mpi(self):
        for family in FAMILIES:
            with self.subTest(mpi=family):
                variant = LIBRARY.replace(".so", f"_{family}.so")
                done = subprocess.run(["nm", "-D", "--undefined-only", variant], capture_output=True, text=True, check=True)
                self.assertEqual(re.findall(r"\bP?MPI_\w+", done.stdout), [])

    def test_needs_no_function_that_a_program_may_have_itself(self):
        for library in (LIBRARY, *(LIBRARY.replace(".so", f"_{family}.so") for family in FAMILIES)):
            with self.subTest(library=os.path.basename(library)):
                done = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True)
                self.assertEqual(PROGRAMS_OWN & set(re.findall(r"\bU (\w+)", done.stdout)), set())


class Front(unittest.TestCase):
    """How the front finds the program's MPI, and what it does where that lacks functions."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cosched-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def compile(self, compiler, source, *flags):
        """The path of the program, or of the library with its suffix .so, made of that source."""
        made = os.path.join(self.folder, f"{len(os.listdir(self.folder))}.so")
        subprocess.run([compiler, "-O1", "-w", "-o", made, os.path.join(SOURCES, source), *flags], check=True)
        return made

    def test_functions_that_an_mpi_lacks_do_what_they_say_or_fail(self):
        host = self.compile("cc", "host.c", "-ldl")
        for family in FAMILIES:
            linked = self.compile(f"mpicc.{family}", "newer.c")
            plugin = self.compile(f"mpicc.{family}", "newer.c", "-DPLUGIN", "-fPIC", "-shared")
            for way, program in (("linked", [linked]), ("opened", [host, plugin])):
                with self.subTest(mpi=family, way=way):
                    done = mpiexec(family, ["-n", "2", *program], LD_PRELOAD=LIBRARY, COSCHED_STATS="1")
                    self.assertEqual((done.returncode, done.stdout),
                                     (0, "got 1 exchanged 0 1 unsupported 1\n"), done.stderr)
                    self.assertIn(": messages 2 ", done.stderr)

    def plugin(self, mpi, *flags, name="libmpi_other.so", linked=True):
        """A plugin that starts an MPI of the test's own, made with these flags."""
        made = os.path.join(self.folder, name)
        subprocess.run(["cc", "-w", "-shared", "-fPIC", "-Wl,-soname," + name, *flags, "-o", made,
                        os.path.join(SOURCES, mpi)], check=True)
        return self.compile("cc", "starts.c", "-shared", "-fPIC",
                            *([made, "-Wl,-rpath," + self.folder] if linked else []))

    def start(self, *plugins, **environment):
        """Each plugin is opened for itself; the last one starts its MPI."""
        return subprocess.run([self.compile("cc", "host.c", "-ldl"), *plugins], capture_output=True, text=True,
                              timeout=60, env={**os.environ, "LD_PRELOAD": LIBRARY, **environment}, check=False)

    def test_an_mpi_that_was_opened_for_a_plugin_is_shown_to_nobody_else(self):
        for version, unsupported in (("MPICH", 44), ("Open MPI", 52)):
            with self.subTest(version=version):
                done = self.start(self.plugin("other.c", f'-DVERSION="{version}"'), HOST_LOOKS_FOR="PMPI_Get_library_version")
                self.assertEqual(done.stdout, f"reached\n0 {unsupported}\nPMPI_Get_library_version is not shown\n", done.stderr)
                self.assertIn("the MPI has not all functions of MPI-3", done.stderr)

    def test_an_mpi_of_the_standard_abi_is_left_alone(self):
        done = self.start(self.plugin("other.c", '-DVERSION="MPICH"', name="libmpi_abi.so.0"))
        self.assertEqual(done.stdout, "reached\n0 16\n", done.stderr)

    def test_who_asks_is_told_of_an_mpi_that_is_not_known(self):
        plugin = self.plugin("other.c", '-DVERSION="some MPI"')
        said = "cosched: this MPI is none that is known (some MPI); the program runs without cosched\n"
        self.assertIn(said, self.start(plugin, COSCHED_STATS="1").stderr)
        self.assertIn(said, self.start(plugin, COSCHED_STATS="1", PMI_RANK="0").stderr)
        self.assertNotIn(said, self.start(plugin, COSCHED_STATS="1", PMI_RANK="1").stderr)
        self.assertNotIn(said, self.start(plugin).stderr)

    def test_an_mpi_of_any_name_that_was_opened_for_a_plugin_is_reached(self):
        missing = "cosched: no MPI in this process has MPI_Finalize: calls of it return an error\n"
        for flags in ([], ['-DVERSION="some MPI"']):
            with self.subTest(flags=flags):
                done = self.start(self.plugin("other.c", *flags))
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "reached\n0 16\n", missing))

    def test_of_two_mpis_the_one_of_the_caller_is_reached(self):
        for versions in itertools.product((False, True), repeat=2):
            with self.subTest(versions=versions):
                plugins = [self.plugin("other.c", f'-DSAYS="{name}"', *(['-DVERSION="some MPI"'] if version else []),
                                       name=f"libmpi_{name}.so") for name, version in zip(("first", "second"), versions)]
                self.assertEqual(self.start(*plugins).stdout, "second\n0 16\n")
                self.assertEqual(self.start(*reversed(plugins)).stdout, "first\n0 16\n")

    def test_of_two_mpis_each_caller_reaches_its_own(self):
        order = ("one", "other") * 2
        for versions in itertools.product((False, True), repeat=2):
            plugins = {name: self.plugin("other.c", "-DENDS", f'-DSAYS="{name}"', *(['-DVERSION="some MPI"'] if version else []),
                                         name=f"libmpi_{name}.so") for name, version in zip(order, versions)}
            for scope in ("--all", "--global"):
                with self.subTest(versions=versions, scope=scope):
                    done = self.start(scope, *(plugins[name] for name in order))
                    self.assertEqual(done.stdout, "".join(f"{name}\n{name} ends\n0 0\n" for name in order))
                    self.assertEqual(done.stderr, "")

    def test_a_call_without_any_mpi_is_told(self):
        done = self.start(self.plugin("host.c", linked=False))
        self.assertEqual((done.returncode, done.stdout), (0, "16 16\n"))
        self.assertEqual(done.stderr, "cosched: no MPI in this process has MPI_Init: calls of it return an error\n")

    def test_a_relative_name_holds_though_the_program_changes_its_directory(self):
        folder, name = os.path.split(LIBRARY)
        for family in FAMILIES:
            with self.subTest(mpi=family):
                program = self.compile(f"mpicc.{family}", "moves.c")
                done = subprocess.run([program], cwd=folder, capture_output=True, text=True, timeout=60, check=False,
                                      env={**os.environ, "LD_PRELOAD": "./" + name, "COSCHED_STATS": "1",
                                           "COSCHED_RUNTIME_DIR": "/nonexistent"})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stderr, r"cosched: job \S+ ranks 1 ")

    def answer_with_rubbish(self):
        """In the place of classd, until the test ends."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(os.path.join(self.folder, "classd.socket"))
        listener.listen(8)

        def answer():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(4096)
                    connection.send(b"rubbish")
        thread = threading.Thread(target=answer)
        thread.start()
        self.addCleanup(listener.close)
        self.addCleanup(thread.join)
        self.addCleanup(listener.shutdown, socket.SHUT_RDWR)

    def test_functions_of_the_program_are_not_taken_for_the_c_librarys(self):
        self.answer_with_rubbish()
        for family in FAMILIES:
            program = self.compile(f"mpicc.{family}", "ring.c", os.path.join(SOURCES, "names.c"), "-rdynamic", "-ldl")
            for directory in ("/nonexistent", self.folder):
                with self.subTest(mpi=family, directory=directory):
                    done = mpiexec(family, ["-n", "2", program], LD_PRELOAD=LIBRARY, COSCHED_WAIT="block",
                                   COSCHED_RUNTIME_DIR=directory)
                    self.assertEqual((done.returncode, done.stdout), (0, "token 0 total 1\n"), done.stderr)
                    self.assertEqual("no scheduler takes this job" in done.stderr, directory == self.folder, done.stderr)

    def test_errno_is_as_it_was_when_main_begins(self):
        launcher = os.path.join(self.folder, "mpirun")
        os.rename(self.compile("cc", "fault.c", "-rdynamic"), launcher)
        done = subprocess.run([launcher], env={**os.environ, "LD_PRELOAD": LIBRARY, "HOME": self.folder}, check=False)
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    if not os.path.exists(LIBRARY):
        sys.exit(f"{LIBRARY} is not there: set COSCHED_BUILD_DIR to a build directory")
    unittest.main()
