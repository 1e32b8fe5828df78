"""Two jobs that share a virtual cluster of two nodes for as long as a measurement takes."""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time

import asked
from guard import putting_away

BENCH = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
NODES = ("node0", "node1")
REGISTERED_S = 20
SEQUENTIAL = "sequential"  # the class's name among the jobs
MANY = "1000000"  # repetitions: the jobs outlast the measurement


class Failed(Exception):
    """The text is for the user."""


def printed(*command):
    """What a command of this build prints."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command[:3])} failed:\n{done.stdout.strip()}")
    return done.stdout


class Lab:
    def __init__(self, name):
        self.name = f"cosched-lab-{name}"
        self.command = [os.path.join(BENCH, "lab"), "--name", self.name]

    def run(self, *arguments):
        """What it prints."""
        done = subprocess.run([*self.command, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"lab {' '.join(arguments)} failed:\n{done.stdout.strip()}")
        return done.stdout

    @contextlib.contextmanager
    def up(self, options, *settings):
        """While this lasts; another session's, by which `up` is refused, is left alone."""
        owner = ["--owner", str(os.getpid())]
        try:
            self.run("up", "--build", options.build, "--users", *owner, *(f"--set={setting}" for setting in settings))
            yield
        finally:
            with putting_away():
                self.run("down", *owner)


def add_options(parser):
    parser.add_argument("--build", default=os.path.join(os.path.dirname(BENCH), "build", "release"))
    parser.add_argument("--mpi", choices=["mpich", "openmpi"], default="mpich")
    parser.add_argument("--slice", default="1s")
    parser.add_argument("--gmet", help="default: classd's, a fifteenth of the slice")
    parser.add_argument("--class", dest="npb_class", default="A")
    parser.add_argument("--warm-up", type=asked.at_least(0, float), default=3, metavar="S")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="of the two jobs; default: cg cg")


def check_options(parser, options):
    options.build = os.path.abspath(options.build)
    options.kernels = options.kernels or ["cg", "cg"]
    if len(options.kernels) != 2:
        parser.error("two kernels, one for each job")
    check_place(parser, options, *(asked.kernel(options, name) for name in options.kernels))


def check_place(parser, options, *programs):
    """Whether the machine has what such a measurement needs."""
    asked.needs_root(parser)
    asked.needs_mpi(parser, options.mpi)
    for program in programs:
        asked.needs_program(parser, program)


def title(options):
    return (f"{options.mpi} {' + '.join(options.kernels)}, class {options.npb_class}, slice {options.slice}, "
            f"gmet {options.gmet or 'by default'}")


def _said(output):
    size = os.fstat(output.fileno()).st_size
    return os.pread(output.fileno(), size, max(0, size - 500)).decode(errors="replace").strip() or "nothing"


def _start_job(lab, kernel, nodes, options, output):
    program = asked.kernel(options, kernel)
    return subprocess.Popen([*lab.command, "mpiexec", "--mpi", options.mpi, "-n", str(len(nodes)), "--on", ",".join(nodes),
                             "--preload", program, options.npb_class, "--repeat", MANY], stdin=subprocess.DEVNULL,
                            stdout=output, stderr=subprocess.STDOUT, start_new_session=True)


def _placed(kernels, apart):
    """Each job's kernel and nodes, a rank on each."""
    first, *others = kernels
    if apart:
        return [(first, NODES), *((kernel, (node,)) for kernel in others for node, count in zip(NODES, apart)
                                  for _ in range(count))]
    return [(kernel, NODES) for kernel in kernels]


@contextlib.contextmanager
def lab_up(lab, options, *settings):
    gmet = [f"scheduler.gmet={options.gmet}"] if options.gmet else []
    with lab.up(options, f"scheduler.time_slice={options.slice}", *gmet, *settings):
        yield


def missing(status, placed):
    """What is wrong where not all daemons know all jobs, which are (kernel, nodes), by what the lab says; None: nothing."""
    for node in json.loads(status)["nodes"]:
        if node["jobs"] is None:
            return f"classd of {node['name']} does not answer"
        wanted = sum(node["name"] in nodes for _, nodes in placed)
        known = sum(job["job_id"] != SEQUENTIAL for job in node["jobs"])
        if known < wanted:
            return (f"classd of {node['name']} knows {known} of {wanted} jobs: the others run without the library, or it has turned "
                    "itself off")
    return None


def wait_for_all(lab, placed, check):
    """Raises Failed when not all jobs are registered within REGISTERED_S: what is not coscheduled is not measured as if it were.
    `check()` raises it when they do not even run."""
    end = time.monotonic() + REGISTERED_S
    while (problem := missing(lab.run("status", "--json"), placed)) is not None:
        check()
        if time.monotonic() > end:
            raise Failed(problem)
        time.sleep(0.2)


@contextlib.contextmanager
def sharing(lab, options, apart=None):
    """The jobs run; they must still do so at the end. `apart`: of all but the first so many of one rank on each
    node."""
    jobs, placed = [], _placed(options.kernels, apart)
    with tempfile.TemporaryFile() as output:
        def check():
            if any(job.poll() is not None for job in jobs):
                raise Failed(f"a job ended too early; what the jobs said ends with:\n{_said(output)}")

        try:
            for kernel, nodes in placed:
                jobs.append(_start_job(lab, kernel, nodes, options, output))
            wait_for_all(lab, placed, check)
            time.sleep(options.warm_up)
            yield
            check()
            wait_for_all(lab, placed, check)
        finally:
            for job in jobs:
                if job.poll() is None:
                    job.send_signal(signal.SIGTERM)
                job.wait()
