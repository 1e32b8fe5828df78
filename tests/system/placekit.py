"""Jobs that somebody else has started or grouped, as classd places them, for tests: Placed is the test case.

The groups are made here, in the form of Slurm's and systemd's (groupkit.py); daemons as in daemonkit.py. Started
runs this file once more, as a client or as a wrapper of one.
"""

import errno
import os
import signal
import subprocess
import sys
import time

import daemonkit
import groupkit
from daemonkit import CLASSD, NOBODY, Client, Speaker, classes, client_main, members
from groupkit import NONE, Grouped, enter, limit, live_in, make, read, write

STEP = "slurm/uid_0/job_3/step_0"
BATCH = "slurm/uid_0/job_3/step_batch"
SCOPE = "system.slice/run-r12.scope"


# ---- the job's side


class Talker(Speaker):
    def own_pid(self):
        """As the outermost pid namespace has it."""
        return int(os.readlink("/proc/self"))


def wrapper_main(arguments):
    """A wrapper: a helper at once, the client as a child, one more helper at SIGUSR1.

    In an own process group, as launchers make it; where DAEMON names a file, with a helper that has
    no parent any more, and whose pid is in the file.
    """
    helpers = []

    def have_helper(*_):
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGUSR1, signal.SIG_DFL)
            os.closerange(0, 3)
            time.sleep(3600)
        helpers.append(pid)

    os.setpgid(0, 0)
    have_helper()
    if "DAEMON" in os.environ:
        if os.fork() == 0:
            if (pid := os.fork()) == 0:
                os.closerange(0, 3)
                time.sleep(3600)
            write(str(pid), os.environ["DAEMON"])
            os._exit(0)
        os.wait()
    signal.signal(signal.SIGUSR1, have_helper)
    subprocess.run([sys.executable, "-BS", __file__, "client", *arguments], check=False)
    for pid in helpers:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


class Started(Client):
    """A client that was started by way of other programs: `way` comes before its command."""

    script = __file__

    def __init__(self, way, runtime_dir, mode="client", uid=0):  # pylint: disable=super-init-not-called
        self.process = subprocess.Popen([*way, sys.executable, "-BS", __file__, mode, runtime_dir, str(uid)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.own_pid()

    def kill(self):
        # Killed, not asked to end: that would take long with an idle job's share. With it goes the limit of
        # those above it, who end by themselves.
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.stdin.close()
        self.process.wait(daemonkit.DEADLINE_S)
        self.process.stdout.close()


def children_of(pid):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if int(read("/proc", entry, "stat").rpartition(")")[2].split()[1]) == pid:
                    found.append(int(entry))
            except (FileNotFoundError, ProcessLookupError):
                pass
    return found


def parent_of(pid):
    return int(read(f"/proc/{pid}/stat").rpartition(")")[2].split()[1])


class Placed(Grouped):
    def inhabit(self, group, job="a", uid=0, status=0):
        """A job's process that lives in the group already when it registers."""
        make(group)
        client = self.client(uid)
        enter(group, client.pid)
        self.assertEqual(client.register(job)["status"], status)
        return client

    def started(self, way, mode="client"):
        client = Started(way, self.runtime_dir, mode)
        self.clients.append(client)
        return client

    def launched(self, group, *way, job="a"):
        """A job's process; the whole of `way`, by which it was started, lives in the group."""
        make(group)
        client = self.started([sys.executable, "-BS", __file__, "enter", group, daemonkit.ROOT, *way])
        self.assertEqual(client.register(job)["status"], 0)
        return client

    def launcher(self, name="hydra_pmi_proxy"):
        """A program of this name that runs what it is given, as a child."""
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            os.symlink(sys.executable, path)
        return [path, "-BS", "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])"]

    def stranger(self, group, uid=NOBODY):
        """Somebody who is not of the job comes to live in the group."""
        process = subprocess.Popen(["sleep", "3600"], user=uid, group=uid)
        self.others.append(process)
        enter(group, process.pid)
        return process

    def release(self):
        subprocess.run([CLASSD, "--config", self.config, "--release"], check=True)

    def assert_in_place(self, group=STEP, job="job-0-a"):
        self.assertEqual(self.records(), [job])
        self.assertNotIn(job, classes())
        self.assertIn("classed in place", self.log_text())
        self.assertNotEqual(live_in(group), [])

    def assert_kept(self, client, group, job="a", uid=0):
        """Where its manager wants it, unmanaged. The client hears no more than that."""
        self.assertEqual(client.register(job),
                         {"status": errno.EXDEV, "text": "this job cannot be limited in its step of Slurm, which nobody is moved "
                                                         "out of; classd's log has why"})
        self.assertNotIn(f"job-{uid}-{job}", self.records() + classes())
        self.assertIn(client.pid, live_in(group))
        self.assertEqual(limit(group), NONE)
        self.assertIn("as Slurm must find it in its step", self.log_text())

    def assert_moved(self, client, group, job="a", uid=0):
        self.assertEqual(self.records(), [])
        self.assertIn(client.pid, members(job, uid))
        self.assertNotIn(client.pid, live_in(group))
        self.assertEqual(limit(group), NONE)


if __name__ == "__main__":
    if sys.argv[1] == "client":
        client_main(sys.argv[2], int(sys.argv[3]), Talker)
    elif sys.argv[1] == "wrapper":
        wrapper_main(sys.argv[2:])
    elif sys.argv[1] == "enter":
        groupkit.TOP = f"{sys.argv[3]}-manager"
        enter(sys.argv[2], os.getpid())
        os.execvp(sys.argv[4], sys.argv[4:])
