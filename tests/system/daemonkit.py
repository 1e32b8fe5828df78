"""One node's classd, timerd and coschedctl for tests, in a runtime directory and a cgroup root of their own.

Node is the test case to derive from. The clients are processes of this file (see Client and
client_main): each speaks the packets of common/protocol.h by itself, so the C client is not needed to
test the C server.
"""

import errno
import json
import mmap
import os
import pwd
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = os.environ.get("COSCHED_BUILD_DIR", "")
CLASSD = os.path.join(BUILD, "classd", "classd")
TIMERD = os.path.join(BUILD, "timerd", "timerd")
CTL = os.path.join(BUILD, "ctl", "coschedctl")
ROOT = f"cosched-test-{os.getpid()}"
DEADLINE_S = 30  # for what should take milliseconds; a busy machine must not fail a test
SKIPPED = 77

MAGIC, VERSION = 0x64656863, 1
REGISTER, EXIT, SWITCH, SCHEDULE, SHUTDOWN, QUERY = range(1, 7)
HEADER = struct.Struct("=IHHIi")
NODE = struct.Struct("=QQQQQQQQIIIIII24s16s16s")
JOB = struct.Struct("=40sIIIIIIIIQQQQQ")
PART = 16
TURN = 0x4000  # said unasked
SCHEDULED, CONTENDED = 1, 2
NOBODY = pwd.getpwnam("nobody").pw_uid


def packet(command, body=b"", sequence=1, magic=MAGIC, version=VERSION):
    return HEADER.pack(magic, version, command, sequence, 0) + body.ljust(112, b"\0")


def register_body(job, width=1, rank=0, ranks=1):
    return job.encode().ljust(40, b"\0") + struct.pack("=IIII", width, rank, ranks, 0)


def realtime_allowed():
    """In the cgroup of this test, and so for the daemons that it starts there."""
    program = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"
    return subprocess.run([sys.executable, "-c", program], stderr=subprocess.DEVNULL, check=False).returncode == 0


# ---- the other side: a process that does what it is told on its standard input


class Speaker:
    def __init__(self, runtime_dir):
        self.path = os.path.join(runtime_dir, "classd.socket")
        self.page = None
        self.turns_said = 0
        self.connect()

    def connect(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Only a blocking socket waits in line when others connect, too.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO,
                               struct.pack("ll", DEADLINE_S, 0))
        self.socket.connect(self.path)
        self.socket.settimeout(DEADLINE_S)

    def transact(self, data):
        self.socket.send(data)
        reply, fds = self.take()
        while HEADER.unpack(reply[:16])[2] == TURN:
            self.turns_said += 1
            reply, fds = self.take()
        return HEADER.unpack(reply[:16])[4], reply[16:], fds

    def take(self):
        reply, fds, _, _ = socket.recv_fds(self.socket, 512, 4)
        if not reply:
            raise ConnectionResetError("closed")
        return reply, fds

    def turns(self):
        """How many TURNs are in the socket, which is empty then."""
        self.query_node()
        turns, self.turns_said = self.turns_said, 0
        return turns

    def register(self, job, width=1, rank=0, ranks=1):
        status, body, fds = self.transact(packet(REGISTER, register_body(job, width, rank, ranks)))
        if fds:
            self.page_fd = fds[0]
            self.page = mmap.mmap(fds[0], 4096, mmap.MAP_SHARED, mmap.PROT_READ)
        if status != 0:
            return {"status": status, "text": body.rstrip(b"\0").decode()}
        return {"status": status, "node_id": struct.unpack_from("=Q", body)[0]}

    def page_writable(self):
        ways = [lambda: mmap.mmap(self.page_fd, 4096),
                lambda: os.open(f"/proc/self/fd/{self.page_fd}", os.O_RDWR)]
        for way in ways:
            try:
                way()
                return True
            except OSError:
                pass
        return False

    def simple(self, command):
        return self.transact(packet(command))[0]

    def schedule(self, times=1):
        for _ in range(times):
            self.socket.send(packet(SCHEDULE))
        self.query_node()  # an answer proves that classd has read them
        return 0

    def part(self):
        self.socket.send(packet(PART))
        self.query_node()
        return 0

    def query_node(self):
        status, body, _ = self.transact(packet(QUERY, struct.pack("=II", 1, 0)))
        names = ("node_id uptime time_slice gmet switches requests granted discarded idle_share "
                 "cpus jobs processes generation pid policy backend version").split()
        record = dict(zip(names, NODE.unpack(body[:NODE.size])))
        return {"status": status, **{k: v if isinstance(v, int) else v.rstrip(b"\0").decode()
                                     for k, v in record.items()}}

    def query(self, kind, index):
        return self.transact(packet(QUERY, struct.pack("=II", kind, index)))[0]

    def query_job(self, index):
        status, body, _ = self.transact(packet(QUERY, struct.pack("=II", 2, index)))
        names = ("job_id uid processes ranks width scheduled share limited suspended cpu_ns "
                 "registered_ns scheduled_ns switches requests").split()
        record = dict(zip(names, JOB.unpack(body[:JOB.size])))
        return {"status": status, **{k: v if isinstance(v, int) else v.rstrip(b"\0").decode()
                                     for k, v in record.items()}}

    def raw(self, data):
        """What follows rubbish: the status of a reply, or None when classd hangs up."""
        try:
            return self.transact(bytes.fromhex(data))[0]
        except (ConnectionResetError, BrokenPipeError):
            return None

    def flood(self):
        """Asks without ever reading an answer, until classd hangs up."""
        self.socket.settimeout(0.2)
        sent = 0
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            try:
                self.socket.send(packet(QUERY, struct.pack("=II", 1, 0)))
                sent += 1
            except (BrokenPipeError, ConnectionResetError):
                return sent
            except TimeoutError:
                pass
        return None

    def connections(self, count):
        """How many of `count` connections classd keeps."""
        kept = []
        for _ in range(count):
            other = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            other.settimeout(DEADLINE_S)
            try:
                other.connect(self.path)
                other.send(packet(QUERY, struct.pack("=II", 1, 0)))
                if other.recv(512):
                    kept.append(other)
            except (BrokenPipeError, ConnectionResetError):
                pass
        return len(kept)

    def give_up(self, job):
        """REGISTER, and away before the answer."""
        self.socket.send(packet(REGISTER, register_body(job)))
        self.socket.close()

    def give_up_untold(self, job):
        """REGISTER, and away when the answer is there, without a look at it."""
        self.socket.send(packet(REGISTER, register_body(job)))
        answered, _, _ = select.select([self.socket], [], [], DEADLINE_S)
        self.socket.close()
        return bool(answered)

    def register_deaf(self, job):
        """REGISTER behind a question whose answer is not read before classd has hung up. Returns whether there was
        one to REGISTER."""
        self.socket.send(packet(QUERY, struct.pack("=II", 1, 0)))
        self.socket.send(packet(REGISTER, register_body(job)))
        end = select.poll()
        end.register(self.socket, select.POLLRDHUP)
        if not end.poll(1000 * DEADLINE_S):
            return None
        self.take()
        try:
            return bool(self.take())
        except ConnectionResetError:
            return False

    def hang_up(self):
        self.socket.close()

    def hoard_pages(self, job, count):
        """How many of `count` unread replies to REGISTER there are when classd has hung up."""
        for _ in range(count):
            try:
                self.socket.send(packet(REGISTER, register_body(job)))
            except (BrokenPipeError, ConnectionResetError):
                break
        hung_up = select.poll()
        hung_up.register(self.socket, select.POLLHUP)
        if not hung_up.poll(DEADLINE_S * 1000):  # before anything is read
            raise AssertionError("classd does not hang up")
        pages = 0
        while True:
            try:
                pages += len(self.take()[1])
            except ConnectionResetError as end:
                if end.errno is None:  # nothing is left
                    return pages

    def read_page(self):
        word, = struct.unpack_from("=Q", self.page, 8)
        node_id, time_slice, gmet, cpus, degree, uid, ranks = struct.unpack_from("=QQQIIII",
                                                                                 self.page, 16)
        return {"generation": word >> 48, "flags": word >> 32 & 0xffff, "epoch": word & 0xffffffff,
                "node_id": node_id, "time_slice": time_slice, "gmet": gmet, "cpus": cpus,
                "degree": degree, "uid": uid, "ranks": ranks,
                "job_id": self.page[56:96].rstrip(b"\0").decode(),
                "piggyback": self.page[96], "wait": self.page[97]}

    def spawn_helper(self):
        pid = os.fork()
        if pid == 0:
            os.closerange(0, 3)
            self.socket.close()
            time.sleep(3600)
        return pid

    def spawn_hog(self):
        """A helper that computes, for as long as its client lives."""
        parent, pid = os.getpid(), os.fork()
        if pid == 0:
            os.closerange(0, 3)
            self.socket.close()
            while os.getppid() == parent:
                pass
            os._exit(0)
        return pid

    def end_helper(self, pid):
        os.kill(pid, signal.SIGKILL)
        return os.waitpid(pid, 0)[0]


def client_main(runtime_dir, uid, speaker=Speaker):
    if uid != 0:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    speaker = speaker(runtime_dir)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            answer = getattr(speaker, name)(*arguments)
        except OSError as fault:
            answer = {"fault": fault.errno or str(fault)}
        print(json.dumps(answer), flush=True)


class Client:
    """A process that may register with classd. Its methods are those of Speaker."""

    script = __file__

    def __init__(self, runtime_dir, uid=0):
        self.process = subprocess.Popen([sys.executable, "-BS", self.script, "client", runtime_dir,
                                         str(uid)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def __getattr__(self, name):
        def ask(*arguments):
            self.process.stdin.write(json.dumps([name, *arguments]) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        return ask

    def flags(self):
        return self.read_page()["flags"]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


# ---- classes as the kernel has them


def mount_points(kind, controller=None):
    with open("/proc/mounts", encoding="ascii") as mounts:
        for line in mounts:
            _, place, form, options = line.split()[:4]
            if form == kind and (controller is None or controller in options.split(",")):
                yield place


V1_CPU = next(mount_points("cgroup", "cpu"), None)
BACKEND = "v1" if V1_CPU else "v2"
CPU_ROOT = os.path.join(V1_CPU or next(mount_points("cgroup2"), "/sys/fs/cgroup"), ROOT)


def classes():
    if not os.path.isdir(CPU_ROOT):
        return []
    return sorted(e.name for e in os.scandir(CPU_ROOT) if e.is_dir() and e.name.startswith("job-"))


def quota(job, uid=0):
    """In µs; -1 for none, None when there is no such class."""
    group = os.path.join(CPU_ROOT, f"job-{uid}-{job}")
    try:
        if V1_CPU:
            with open(os.path.join(group, "cpu.cfs_quota_us"), encoding="ascii") as file:
                return int(file.read())
        with open(os.path.join(group, "cpu.max"), encoding="ascii") as file:
            word = file.read().split()[0]
            return -1 if word == "max" else int(word)
    except OSError as fault:
        if fault.errno not in (errno.ENOENT, errno.ENODEV):  # the second if it goes while it is read
            raise
        return None


def limit_by_hand(job, quota_us, uid=0):
    """As whoever writes into the class's group does."""
    group = os.path.join(CPU_ROOT, f"job-{uid}-{job}")
    with open(os.path.join(group, "cpu.cfs_quota_us" if V1_CPU else "cpu.max"), "w", encoding="ascii") as file:
        file.write(str(quota_us))


def period(job, uid=0):
    """Of the limit, in µs."""
    group = os.path.join(CPU_ROOT, f"job-{uid}-{job}")
    with open(os.path.join(group, "cpu.cfs_period_us" if V1_CPU else "cpu.max"), encoding="ascii") as file:
        return int(file.read().split()[-1])


def members(job, uid=0):
    path = os.path.join(CPU_ROOT, f"job-{uid}-{job}", "cgroup.procs")
    with open(path, encoding="ascii") as file:
        return [int(line) for line in file]


def remove_groups(root=ROOT):
    for place in [*mount_points("cgroup"), *mount_points("cgroup2")]:
        for folder, _, _ in os.walk(os.path.join(place, root), topdown=False):
            try:
                os.rmdir(folder)
            except OSError as fault:
                print(f"left behind: {folder}: {fault}", file=sys.stderr)


class Node(unittest.TestCase):
    """One classd, and timerd where a test wants it."""

    settings = {}

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cosched-test-")
        os.chmod(self.folder, 0o755)
        self.runtime_dir = os.path.join(self.folder, "run")
        self.config = os.path.join(self.folder, "cosched.ini")
        self.log = open(os.path.join(self.folder, "log"), "w+", encoding="utf-8")
        self.daemons = []
        self.clients = []
        self.configure()
        self.classd = self.start_classd()

    def configure(self, **settings):
        # Clients sleep.
        keys = {"scheduler": {"time_slice": "1h", "gmet": "1h", "cpus": 1, "strict": "yes", "skip_dormant": "no"},
                "cgroup": {"backend": BACKEND, "root": ROOT},
                "sequential": {},
                "daemon": {"runtime_dir": self.runtime_dir, "log_level": "debug"},
                # Not aligned: near the full hour the clock would choose who is next.
                "timer": {"align": "no"}, "client": {}}
        for key, value in {**self.settings, **settings}.items():
            section, name = key.split("__")
            keys[section][name] = value
        with open(self.config, "w", encoding="ascii") as file:
            for section, values in keys.items():
                file.write(f"[{section}]\n")
                file.writelines(f"{name} = {value}\n" for name, value in values.items())

    def tearDown(self):
        for client in self.clients:
            client.kill()
        for daemon in self.daemons:
            if daemon.poll() is None:
                daemon.send_signal(signal.SIGCONT)
                daemon.terminate()
                try:
                    daemon.wait(DEADLINE_S)
                except subprocess.TimeoutExpired:
                    daemon.kill()
                    daemon.wait()
                    self.fail("a daemon did not end on SIGTERM")
        if classes():
            # What a test left on purpose goes as it would on a node: the next classd removes it.
            self.daemons = []
            self.start_classd()
            self.ctl("shutdown")
            self.daemons[0].wait(DEADLINE_S)
        self.log.seek(0)
        text = self.log.read()
        self.log.close()
        shutil.rmtree(self.folder)
        self.assertNotIn("Sanitizer", text)
        self.assertEqual(classes(), [])

    def start(self, program):
        daemon = subprocess.Popen([program, "--config", self.config], stdin=subprocess.DEVNULL,
                                  stderr=self.log)
        self.daemons.append(daemon)
        return daemon

    def start_classd(self):
        classd = self.start(CLASSD)
        self.eventually(lambda: self.ctl("status").returncode == 0, "classd serves")
        return classd

    def client(self, uid=0, kind=Client):
        client = kind(self.runtime_dir, uid)
        self.clients.append(client)
        return client

    def job(self, name, width=1, uid=0):
        client = self.client(uid)
        self.assertEqual(client.register(name, width)["status"], 0)
        return client

    def ctl(self, *arguments):
        return subprocess.run([CTL, "--config", self.config, *arguments], capture_output=True,
                              text=True, timeout=DEADLINE_S, check=False)

    def ctl_json(self, *arguments):
        run = self.ctl("--json", *arguments)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def eventually(self, condition, what):
        end = time.monotonic() + DEADLINE_S
        while not condition():
            if time.monotonic() > end:
                self.log.flush()
                with open(self.log.name, encoding="utf-8") as log:
                    self.fail(f"never: {what}\n{log.read()}")
            time.sleep(0.01)

    def log_text(self):
        with open(self.log.name, encoding="utf-8") as log:
            return log.read()

    def kill_classd(self):
        self.classd.kill()
        self.classd.wait()

    def assert_shares(self, scheduled, idle):
        self.assertEqual((quota(scheduled), quota(idle)), (99000, 1000))


def main():
    if os.geteuid() != 0:
        print("skipped: needs root", file=sys.stderr)
        sys.exit(SKIPPED)
    missing = [program for program in (CLASSD, TIMERD, CTL) if not os.access(program, os.X_OK)]
    if missing:
        sys.exit(f"not built: {', '.join(missing)}; set COSCHED_BUILD_DIR")
    try:
        unittest.main()
    finally:
        remove_groups()


if __name__ == "__main__":  # "client": the process of a Client
    client_main(sys.argv[2], int(sys.argv[3]))
