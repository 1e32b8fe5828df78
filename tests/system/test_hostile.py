"""What a user who means harm can do to classd and to other users' jobs.

Protects: that others' pages, jobs and commands are out of reach, that no flood, rubbish or trick
stops classd or makes it forget a job, and that an honest job keeps its share meanwhile.

`--seconds N [ATTACK...]` measures shares for N seconds per attack, instead of a few for all of them
together, and prints what each attack costs; `none` and `all` are attacks, too. hostile.c has those that
are a matter of speed.
"""

import array
import errno
import fcntl
import mmap
import os
import resource
import socket
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import daemonkit
from daemonkit import (EXIT, REGISTER, SCHEDULE, SCHEDULED, SHUTDOWN, SWITCH, Client, Node, Speaker,
                          mount_points, packet, register_body)

RELOAD, TRACE = 7, 8
QUERY_TRACE, QUERY_TRACE_JOB = 3, 4

HOSTILE = os.path.join(daemonkit.BUILD, "tests", "hostile")
HONEST_UID, HOSTILE_UID = 12345, 54321
SHORT_S = 8     # of the shares while everything happens at once
STRIKE_S = 0.5  # of one attack, where only its harmlessness counts


# ---- the hostile client, as far as it is no matter of speed


def fault_of(action):
    """The errno of what it raises, 0 when it succeeds."""
    try:
        action()
        return 0
    except OSError as fault:
        return fault.errno


class HostileSpeaker(Speaker):
    def touch_runtime_dir(self):
        """Errors of everything that one might try with the files there; none of them may be 0."""
        folder = os.path.dirname(self.path)
        jobs, lock = os.path.join(folder, "jobs"), os.path.join(folder, "classd.lock")
        page = os.path.join(jobs, f"{HONEST_UID}-honest")
        tries = {
            "list the pages": lambda: os.listdir(jobs),
            "enter the pages' directory": lambda: os.chdir(jobs),
            "open a page": lambda: os.open(page, os.O_RDONLY),
            "see a page": lambda: os.stat(page),
            "remove a page": lambda: os.unlink(page),
            "link a page": lambda: os.link(page, "/tmp/cosched-test-page"),
            "make a page": lambda: os.open(page + "x", os.O_CREAT | os.O_WRONLY),
            "lock classd out": lambda: fcntl.flock(os.open(lock, os.O_RDONLY), fcntl.LOCK_EX),
            "remove the lock": lambda: os.unlink(lock),
            "remove the socket": lambda: os.unlink(self.path),
            "replace the socket": lambda: socket.socket(
                socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(self.path),
            "make a file": lambda: os.open(os.path.join(folder, "x"), os.O_CREAT | os.O_WRONLY),
            "move the directory away": lambda: os.rename(folder, folder + "x"),
            "open it to all": lambda: os.chmod(folder, 0o777),
            "change the node's id": lambda: os.open(os.path.join(folder, "node_id"), os.O_WRONLY),
        }
        return {name: fault_of(action) for name, action in tries.items()}

    def change_page(self):
        """The same for the page that classd has handed out, after REGISTER."""
        fd = self.page_fd
        again = f"/proc/self/fd/{fd}"
        tries = {
            "write": lambda: os.write(fd, b"x"),
            "map for writing": lambda: mmap.mmap(fd, 4096),
            "open again": lambda: os.open(again, os.O_RDWR),
            "cut": lambda: os.ftruncate(fd, 0),
            "cut by name": lambda: os.truncate(again, 0),
            "punch a hole": lambda: os.posix_fallocate(fd, 0, 1 << 20),
            "make it everybody's": lambda: os.fchmod(fd, 0o666),
            "own it": lambda: os.fchown(fd, HOSTILE_UID, -1),
            "rename it": lambda: os.rename(again, "/tmp/cosched-test-page"),
            "label it": lambda: os.setxattr(fd, "user.x", b"x"),
            "lease it": lambda: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK),
        }
        return {name: fault_of(action) for name, action in tries.items()}

    def pretend(self):
        """Errors of sending SHUTDOWN in root's name, and in that of process 1."""
        forged = {"root": struct.pack("iII", os.getpid(), 0, 0),
                  "process 1": struct.pack("iII", 1, os.getuid(), os.getgid())}
        return {name: fault_of(lambda c=credentials: self.socket.sendmsg(
            [packet(SHUTDOWN)], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, c)]))
            for name, credentials in forged.items()}

    def with_status(self, command, status):
        data = bytearray(packet(command))
        struct.pack_into("=i", data, 12, status)
        return self.transact(bytes(data))[0]

    def pass_descriptors(self, count):
        """0 when the packet went away, else why not."""
        fds = array.array("i", [0] * count)
        return fault_of(lambda: self.socket.sendmsg(
            [packet(SCHEDULE)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)]))

    def speak_for_the_dead(self, job):
        """REGISTER over a connection that a dead process has made: its child's, which lives on."""
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            self.connect()
            if os.fork() == 0:
                os.read(theirs.fileno(), 1)
                status = self.raw(packet(REGISTER, register_body(job)).hex())
                theirs.send(struct.pack("=i", -1 if status is None else status))
            os._exit(0)
        os.waitpid(child, 0)
        ours.send(b"x")
        return struct.unpack("=i", ours.recv(4))[0]


class HostileClient(Client):
    script = os.path.abspath(__file__)


# ---- attacks


class Attacks:
    """Attackers at work, and what classd and an honest user feel of it."""

    def __init__(self, node, names, job="evil"):
        self.node = node
        self.begin = time.monotonic()
        self.programs = [subprocess.Popen([HOSTILE, node.runtime_dir, str(HOSTILE_UID), job, name],
                                          stdout=subprocess.PIPE, text=True) for name in names]
        node.programs += self.programs
        for program in self.programs:
            node.assertEqual(program.stdout.readline(), "ready\n")

    def last(self, seconds):
        probe = self.node.client(HONEST_UID)
        requests = probe.query_node()["requests"]  # once answered, it is through the flood
        before = self.cpu_s()
        begin = now = time.monotonic()
        self.worst_s = 0
        while now < begin + seconds:
            asked = now
            self.node.assertEqual(probe.query_node()["status"], 0)
            now = time.monotonic()
            self.worst_s = max(self.worst_s, now - asked)
            time.sleep(0.02)
            now = time.monotonic()
        self.seconds = now - begin
        self.busy = (self.cpu_s() - before) / self.seconds
        self.requests = (probe.query_node()["requests"] - requests) / self.seconds
        probe.kill()

    def cpu_s(self):
        with open(f"/proc/{self.node.classd.pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9

    def end(self):
        for program in self.programs:
            program.terminate()
        self.strikes = 0
        for program in self.programs:
            self.strikes += int(program.communicate(timeout=daemonkit.DEADLINE_S)[0])
        self.strike_rate = self.strikes / (time.monotonic() - self.begin)

    def figures(self, name):
        return (f"{name:12} {self.strike_rate:10.0f} {self.requests:10.0f} "
                f"{100 * self.busy:8.1f} {1000 * self.worst_s:8.1f}")

    HEADLINE = (f"{'attack':12} {'strikes/s':>10} {'requests/s':>10} {'classd %':>8} "
                f"{'worst ms':>8}")


def say(line):
    print(line, file=sys.stderr)


class HostileNode(Node):
    def setUp(self):
        self.programs = []
        super().setUp()

    def tearDown(self):
        for program in self.programs:
            program.kill()
            program.communicate()
        super().tearDown()

    def hostile(self):
        return self.client(HOSTILE_UID, HostileClient)

    def classd_descriptors(self):
        return len(os.listdir(f"/proc/{self.classd.pid}/fd"))

    def assert_unharmed(self, honest):
        """classd is the same one and serves, and the honest job is where it was."""
        self.assertIsNone(self.classd.poll())
        self.assertEqual(self.ctl("status").returncode, 0)
        self.assertIn("honest", [job["job_id"] for job in self.ctl_json("jobs")])
        self.assertIn(honest.pid, daemonkit.members("honest", HONEST_UID))
        self.assertEqual(honest.read_page()["generation"], honest.query_node()["generation"])

    def honest_job(self):
        return self.job("honest", uid=HONEST_UID)


class OutOfReach(HostileNode):
    def test_files_of_the_runtime_directory(self):
        honest = self.honest_job()
        tried = self.hostile().touch_runtime_dir()
        # Who is told that there is no such thing was not refused it: the test would look in the wrong place.
        self.assertEqual({name: code for name, code in tried.items() if code in (0, errno.ENOENT, errno.ENOTDIR)}, {})
        self.assert_unharmed(honest)

    def test_the_page_that_was_handed_out(self):
        hostile = self.hostile()
        self.assertEqual(hostile.register("evil")["status"], 0)
        before = hostile.read_page()
        allowed = {name for name, code in hostile.change_page().items() if code == 0}
        self.assertEqual(allowed, set())
        self.assertEqual(hostile.read_page(), before)

    def test_a_job_of_the_same_name(self):
        honest = self.honest_job()
        hostile = self.hostile()
        self.assertEqual(hostile.register("honest")["status"], 0)
        self.assertEqual(daemonkit.members("honest", HOSTILE_UID), [hostile.pid])
        self.assertEqual(daemonkit.members("honest", HONEST_UID), [honest.pid])
        self.assertEqual(hostile.read_page()["uid"], HOSTILE_UID)
        self.assertEqual(hostile.simple(EXIT), 0)
        self.assertEqual(honest.flags(), SCHEDULED)
        self.assert_unharmed(honest)

    def test_jobs_of_others(self):
        self.honest_job()
        hostile = self.hostile()
        self.assertEqual({hostile.query_job(index)["status"] for index in (0, 1, 2**32 - 1)},
                         {errno.ENOENT})
        self.assertEqual(hostile.query_job(0)["job_id"], "")

    def test_commands_of_the_privileged(self):
        honest = self.honest_job()
        hostile = self.hostile()
        self.assertEqual(hostile.register("evil")["status"], 0)
        switches = honest.query_node()["switches"]
        for status in (0, 1, -1, 2**31 - 1):
            for command in (SWITCH, SHUTDOWN, RELOAD, TRACE):
                self.assertEqual(hostile.with_status(command, status), errno.EPERM if status == 0 else errno.EOPNOTSUPP)
        for index in (0, 1, 2**32 - 1):
            for kind in (QUERY_TRACE, QUERY_TRACE_JOB):
                self.assertEqual(hostile.query(kind, index), errno.EPERM)
        self.assertEqual(hostile.pretend(), {"root": errno.EPERM, "process 1": errno.EPERM})
        self.assertEqual(honest.query_node()["switches"], switches)
        self.assert_unharmed(honest)

    def test_signals_to_the_daemon(self):
        hostile = self.hostile()
        kill = subprocess.run(["setpriv", f"--reuid={HOSTILE_UID}", "--clear-groups", "kill",
                               str(self.classd.pid)], capture_output=True, check=False)
        self.assertNotEqual(kill.returncode, 0)
        self.assertEqual(hostile.query_node()["status"], 0)

    def test_the_name_of_a_dead_process(self):
        hostile = self.hostile()
        self.assertEqual(hostile.speak_for_the_dead("evil"), errno.ESRCH)
        self.assertEqual(daemonkit.classes(), [])


class Descriptors(HostileNode):
    def test_none_is_kept(self):
        honest = self.honest_job()
        self.ctl("status")
        before = self.classd_descriptors()
        for count in (1, 253):
            hostile = self.hostile()
            hostile.pass_descriptors(count)
            hostile.kill()
        self.eventually(lambda: self.classd_descriptors() == before, "descriptors are let go")
        self.assert_unharmed(honest)

    def test_none_makes_classd_wait(self):
        honest = self.honest_job()
        attacks = Attacks(self, ["linger"], job="-")
        attacks.last(STRIKE_S)
        self.assert_unharmed(honest)
        attacks.end()


class Hoards(HostileNode):
    settings = {"daemon__max_connections_per_user": 100}

    def test_hoarded_replies_keep_nobody_from_registering(self):
        # The kernel lets classd have as many descriptors on their way as it may have open.
        resource.prlimit(self.classd.pid, resource.RLIMIT_NOFILE, (300, 300))
        honest = self.honest_job()
        attacks = Attacks(self, ["in_flight"])
        for _ in range(5):
            attacks.last(STRIKE_S / 5)
            self.assertEqual(self.client(HONEST_UID).register("honest")["status"], 0)
        attacks.end()
        self.assertGreater(attacks.strikes, 300)
        self.assert_unharmed(honest)


class Jobs(HostileNode):
    settings = {"daemon__max_jobs": 4}

    def test_random_names_end_at_the_limit(self):
        honest = self.honest_job()
        clients = [self.hostile() for _ in range(6)]
        answers = [client.register(f"r{os.urandom(8).hex()}")["status"] for client in clients]
        taken = answers.count(0)
        self.assertLessEqual(taken, 3)
        self.assertEqual(set(answers) - {0, errno.ENOSPC}, set())
        self.assertEqual(len(daemonkit.classes()), 1 + taken)
        for client in clients:
            client.kill()
        self.eventually(lambda: daemonkit.classes() == [f"job-{HONEST_UID}-honest"],
                        "the jobs of the dead are removed")
        self.assertEqual(honest.flags(), SCHEDULED)
        self.assert_unharmed(honest)


class JobsOfOneUser(HostileNode):
    settings = {"daemon__max_jobs_per_user": 2}

    def test_one_user_leaves_room_for_others(self):
        clients = [self.hostile() for _ in range(4)]
        answers = [client.register(f"r{os.urandom(8).hex()}")["status"] for client in clients]
        self.assertEqual(answers, [0, 0, errno.ENOSPC, errno.ENOSPC])
        self.assert_unharmed(self.honest_job())
        clients[0].kill()
        self.eventually(lambda: clients[2].register("next")["status"] == 0,
                        "an ended job makes room for the next one")


class RequestsOfOneUser(HostileNode):
    """However many connections it has, a user is heard so often a second."""

    LIMIT = 100
    settings = {"daemon__max_requests_per_second": LIMIT}

    def test_a_flood_of_registrations_waits(self):
        honest = self.honest_job()
        begin = time.monotonic()
        attacks = Attacks(self, ["registrations"] * 3)
        attacks.last(STRIKE_S)
        attacks.end()
        seconds = time.monotonic() - begin
        self.assertGreater(attacks.strikes, 0)
        self.assertLessEqual(attacks.strikes, self.LIMIT * (seconds + 4))  # four seconds' worth at once
        self.assert_unharmed(honest)


class Crowd(HostileNode):
    """Many connections of one user that never fall silent."""

    settings = {"daemon__max_requests_per_second": 200, "daemon__log_level": "info"}

    def cost(self, name, most=0):
        """The part of a CPU; the last of several looks when it is not below `most` at once."""
        attacks = Attacks(self, [name], job="-")
        time.sleep(4 * STRIKE_S)  # until all are connected, and have sent what may be sent at once
        for _ in range(10):  # a slow machine takes longer for that
            attacks.last(2 * STRIKE_S)
            if most == 0 or attacks.busy < most:
                break
        attacks.end()
        return attacks.busy

    MOST = 10  # unbounded it was a hundred times as much

    def test_it_costs_hardly_more_than_one_connection(self):
        honest = self.honest_job()
        one = self.cost("schedule")
        many = self.cost("crowd", self.MOST * one)
        say(f"classd: {100 * one:.1f} % of a CPU for one flooding connection, {100 * many:.1f} % for a crowd")
        self.assertLess(many, self.MOST * one)
        self.assert_unharmed(honest)


class Floods(HostileNode):
    # Wide enough that nobody is limited, the attackers neither.
    settings = {"daemon__log_level": "info", "scheduler__cpus": 4}

    def strike(self, name):
        honest = self.honest_job()
        attacks = Attacks(self, [name])
        attacks.last(STRIKE_S)
        newcomer = self.client(HONEST_UID)
        self.assertEqual(newcomer.register("honest")["status"], 0)
        attacks.end()
        self.assertGreater(attacks.strikes, 0)
        self.eventually(lambda: daemonkit.classes() == [f"job-{HONEST_UID}-honest"],
                        "nothing of the attackers' is left")
        self.eventually(lambda: honest.flags() == SCHEDULED, "the honest job is free")
        self.assert_unharmed(honest)
        say(attacks.figures(name))


def add_floods():
    for name in ("schedule", "unread", "again", "come_and_go", "connections", "hold", "garbage",
                 "crowd", "in_flight", "registrations", "children", "fork_storm"):
        setattr(Floods, f"test_{name}", lambda self, name=name: self.strike(name))


add_floods()


# ---- shares


def usage_s(job, uid):
    """CPU time that a class has consumed."""
    group = f"job-{uid}-{job}"
    if daemonkit.V1_CPU:
        accounts = next(mount_points("cgroup", "cpuacct"))
        with open(os.path.join(accounts, daemonkit.ROOT, group, "cpuacct.usage"),
                  encoding="ascii") as file:
            return int(file.read()) / 1e9
    with open(os.path.join(daemonkit.CPU_ROOT, group, "cpu.stat"), encoding="ascii") as file:
        return int(file.read().split()[1]) / 1e6


class Shares(HostileNode):
    """A node of one CPU, which the daemons share with an honest and a hostile job."""

    settings = {"scheduler__time_slice": "100ms", "scheduler__gmet": "50ms",
                "scheduler__strict": "no", "daemon__log_level": "info"}
    seconds = SHORT_S
    ALL = ("schedule", "unread", "again", "come_and_go", "connections", "hold", "crowd", "garbage",
           "in_flight", "registrations", "descriptors", "linger", "fork_storm")
    chosen = ("all",)

    def setUp(self):
        self.affinity = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {max(self.affinity)})  # children inherit it
        super().setUp()
        self.start(daemonkit.TIMERD)
        self.spin(HONEST_UID, "honest")
        self.spin(HOSTILE_UID, "evil")
        os.sched_setaffinity(0, self.affinity)

    def spin(self, uid, job):
        spinner = subprocess.Popen([HOSTILE, self.runtime_dir, str(uid), job, "spin"],
                                   stdout=subprocess.PIPE, text=True)
        self.programs.append(spinner)
        self.assertEqual(spinner.stdout.readline(), "ready\n")

    def measure(self, names, seconds, job="evil"):
        """The honest job's share of what both jobs got, and of the node."""
        os.sched_setaffinity(0, {max(self.affinity)})
        attacks = Attacks(self, names, job)
        os.sched_setaffinity(0, self.affinity)
        before = usage_s("honest", HONEST_UID), usage_s("evil", HOSTILE_UID), time.monotonic()
        attacks.last(seconds)
        after = usage_s("honest", HONEST_UID), usage_s("evil", HOSTILE_UID), time.monotonic()
        attacks.end()
        honest, evil, elapsed = (b - a for a, b in zip(before, after))
        self.assertEqual(self.ctl("status").returncode, 0)
        label = names[0] if len(names) == 1 else "all" if names else "none"
        say(f"{attacks.figures(label)} {100 * honest / (honest + evil):8.2f} "
            f"{100 * honest / elapsed:8.2f}")
        return honest / (honest + evil)

    def test_an_honest_job_keeps_its_share(self):
        say(f"{Attacks.HEADLINE} {'share %':>8} {'node %':>8}")
        for name in self.chosen:
            names = {"none": (), "all": self.ALL}.get(name, (name,))
            with self.subTest(names=names):
                share = self.measure(names, self.seconds)
                self.assertGreaterEqual(share, 0.49)

    def test_many_jobs_of_one_user(self):
        """Turns are per job, so a user with more jobs has more of them; told for what it is."""
        for i in range(3):
            self.spin(HOSTILE_UID, f"evil{i}")
        root = self.client()
        before = self.scheduled_ns(root)
        time.sleep(self.seconds)
        turns = {job: ns - before[job] for job, ns in self.scheduled_ns(root).items()}
        share = turns["honest"] / sum(turns.values())
        say(f"one honest job beside {len(turns) - 1} of one user: {100 * share:.1f} % of the time")
        self.assertAlmostEqual(share, 1 / len(turns), delta=0.05)

    def scheduled_ns(self, client):
        jobs = [client.query_job(index) for index in range(5)]
        return {job["job_id"]: job["scheduled_ns"] for job in jobs}


def main():
    if os.geteuid() != 0:
        print("skipped: needs root", file=sys.stderr)
        sys.exit(daemonkit.SKIPPED)
    if not os.access(HOSTILE, os.X_OK):
        sys.exit(f"not built: {HOSTILE}; set COSCHED_BUILD_DIR")
    if "--seconds" in sys.argv:
        at = sys.argv.index("--seconds")
        Shares.seconds = float(sys.argv[at + 1])
        Shares.chosen = tuple(sys.argv[at + 2:]) or ("none", *Shares.ALL, "all")
        sys.argv[at:] = ["Shares.test_an_honest_job_keeps_its_share"]
    try:
        unittest.main()
    finally:
        daemonkit.remove_groups()


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        daemonkit.client_main(sys.argv[2], int(sys.argv[3]), HostileSpeaker)
    else:
        main()
