"""How long a job takes to get from the CPUs of one node to those of all its nodes.

Two jobs share a virtual cluster of two nodes and run kernels again and again. The daemons record what they
schedule; for each time that a job was idle on both nodes and got one of them, the delay until it had both is
what `coschedctl trace delays` prints. Nodes' timers tick together (align = yes), or at different moments (align =
no): then a job gets its second node only because that node notices its messages.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time

BENCH = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
LAB = [os.path.join(BENCH, "lab"), "--name", "cosched-lab-noticing"]
NODES = ("node0", "node1")
SHIFT_S = 0.4
MANY = "1000000"  # repetitions: the jobs outlast the measurement


class Failed(Exception):
    """The text is for the user."""


def lab(*arguments):
    done = subprocess.run([*LAB, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"lab {' '.join(arguments)} failed:\n{done.stdout.strip()}")
    return done.stdout


def start_job(kernel, letter, options, folder):
    program = os.path.join(options.build, "bench", "npb", options.mpi, "bin", kernel)
    with open(os.path.join(folder, f"job-{letter}"), "wb") as output:
        return subprocess.Popen([*LAB, "mpiexec", "--mpi", options.mpi, "-n", str(len(NODES)), "--preload", program,
                                 options.npb_class, "--repeat", MANY], stdin=subprocess.DEVNULL, stdout=output,
                                stderr=subprocess.STDOUT, start_new_session=True)


def shift_timer():
    """Without alignment node1's time-slices begin at other moments than node0's."""
    lab("daemons", "kill", "--only", "timerd", "--node", NODES[1])
    time.sleep(SHIFT_S)
    lab("daemons", "start")


def record(align, options):
    """What `coschedctl trace delays` and `coscheduled` say of one lab's life."""
    control = os.path.join(options.build, "ctl", "coschedctl")
    lab("up", "--build", options.build, "--owner", str(os.getpid()),
        "--set", f"scheduler.time_slice={options.slice}", "--set", f"scheduler.gmet={options.gmet}",
        "--set", f"timer.align={align}")
    if align == "no":
        shift_timer()
    jobs = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for letter, kernel in zip("ab", options.kernels):
                jobs.append(start_job(kernel, letter, options, folder))
            time.sleep(options.warm_up)
            for node in NODES:
                lab("exec", node, control, "trace", "start")
            time.sleep(options.seconds)
            dumps = []
            for node in NODES:
                dumps.append(os.path.join(folder, node))
                with open(dumps[-1], "w", encoding="utf-8") as file:
                    file.write(lab("exec", node, control, "trace", "dump", node))
            for job in jobs:
                if job.poll() is not None:
                    raise Failed("a job ended too early")
            return "".join(subprocess.run([control, "trace", what, *dumps], check=True, text=True,
                                          stdout=subprocess.PIPE).stdout for what in ("delays", "coscheduled"))
        finally:
            for job in jobs:
                if job.poll() is None:
                    job.send_signal(signal.SIGTERM)
                job.wait()
            lab("down")


def main():
    parser = argparse.ArgumentParser(prog="run_noticing.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(os.path.dirname(BENCH), "build", "release"))
    parser.add_argument("--mpi", choices=["mpich", "openmpi"], default="mpich")
    parser.add_argument("--align", choices=["yes", "no", "both"], default="both")
    parser.add_argument("--slice", default="1s")
    parser.add_argument("--gmet", default="250ms")
    parser.add_argument("--seconds", type=float, default=60, metavar="S", help="of recording, for each alignment")
    parser.add_argument("--warm-up", type=float, default=3, metavar="S")
    parser.add_argument("--class", dest="npb_class", default="A")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="of the two jobs; default: cg cg")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.kernels = options.kernels or ["cg", "cg"]
    if len(options.kernels) != 2:
        parser.error("two kernels, one for each job")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        for align in ("yes", "no") if options.align == "both" else (options.align,):
            print(f"{options.mpi} {' + '.join(options.kernels)}, class {options.npb_class}, slice {options.slice}, "
                  f"gmet {options.gmet}, align = {align}, {options.seconds:.0f} s", flush=True)
            print(record(align, options), flush=True)
    except Failed as error:
        sys.exit(f"run_noticing: {error}")


if __name__ == "__main__":
    main()
