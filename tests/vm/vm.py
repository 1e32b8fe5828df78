#!/usr/bin/env python3
"""A small virtual machine whose root is a throw-away view of this machine's.

Linux with cgroup v2, under qemu's software emulation (no /dev/kvm): 30 to 60 times slower than native.
The guest sees this machine's files through virtiofs, with a tmpfs laid over them: whatever it writes is
gone at the end, and nothing of the host is ever changed.

usage: vm.py [--cpus N] [--memory MIB] [--systemd] COMMAND...
"""
import argparse
import codecs
import glob
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

VIRTIOFSD = "/usr/lib/qemu/virtiofsd"
MODULES = ("virtio_pci", "virtiofs", "overlay", "virtio_net")
BUSYBOX = "/bin/busybox"
# Nothing here is about security modules, audit, wiped memory, random stacks or a kernel that watches itself, which take
# time when they are emulated.
KERNEL_ARGUMENTS = ("console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable lsm=capability audit=0 init_on_alloc=0"
                    " randomize_kstack_offset=off nowatchdog ")

# The guest's first process. Serial lines: 0 the console, 1 what the command prints, 2 its exit status.
INIT = """#!/bin/busybox sh
b=/bin/busybox
$b mkdir -p /dev /proc /sys /lower /upper /new
$b mount -t proc p /proc
$b mount -t sysfs s /sys
$b mount -t devtmpfs d /dev
for m in {modules}; do $b insmod $m; done
$b mount -t virtiofs root /lower -o ro
$b mount -t tmpfs t /upper
$b mkdir -p /upper/data /upper/work
$b mount -t overlay o /new -o lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work
for d in dev proc sys; do $b mount --move /$d /new/$d; done
$b mount -t tmpfs t /new/run
$b mkdir -p /new/dev/shm /new/dev/pts /new/run/vm
$b cp /command /new/run/vm/command
{start}
"""

PLAIN = """$b mount -t tmpfs t /new/dev/shm
$b mount -t devpts p /new/dev/pts
$b mount -t cgroup2 c /new/sys/fs/cgroup
$b ip link set lo up
$b hostname {name}
{network}
exec $b switch_root /new /bin/sh -c '
    stty -F /dev/ttyS1 raw -echo
    sh /run/vm/command < /dev/null > /dev/ttyS1 2>&1
    echo $? > /dev/ttyS2
    sync
    echo o > /proc/sysrq-trigger
    sleep 60'
"""

# Nothing may clean up /tmp, where a build can be, or walk through all files: virtiofsd holds a
# descriptor for each file that the guest has ever looked at. No device is looked for, which takes a third of the boot.
SYSTEMD_ARGUMENTS = ("systemd.unified_cgroup_hierarchy=1 fstab=no systemd.mask=systemd-tmpfiles-setup.service"
                     " systemd.mask=systemd-tmpfiles-clean.timer systemd.mask=systemd-udevd.service systemd.mask=systemd-udev-trigger.service"
                     " systemd.mask=systemd-timesyncd.service systemd.mask=systemd-journal-flush.service")

# systemd mounts the rest itself; the command is the last unit of the boot. A machine that is a container
# says so in a file, and a systemd that believes it would not read the kernel's command line.
SYSTEMD = """$b rm -f /new/.dockerenv
$b hostname {name}
{network}
$b mkdir -p /new/run/systemd/system
$b cat > /new/run/systemd/system/vm.target <<'U'
[Unit]
Requires=basic.target vm-command.service
After=basic.target
AllowIsolate=yes
U
$b cat > /new/run/systemd/system/vm-command.service <<'U'
[Unit]
After=basic.target
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
TimeoutStopSec=5s
ExecStart=/bin/sh -c 'stty -F /dev/ttyS1 raw -echo; sh /run/vm/command < /dev/null > /dev/ttyS1 2>&1; echo $$? > /dev/ttyS2'
U
exec $b switch_root /new /lib/systemd/systemd --unit=vm.target --show-status=no
"""


class Unavailable(Exception):
    """What a virtual machine needs is not installed."""


def kernel():
    """The newest small kernel of Debian: path and release."""
    found = sorted(glob.glob("/boot/vmlinuz-*-cloud-amd64"), key=os.path.getmtime)
    if not found:
        raise Unavailable("no kernel /boot/vmlinuz-*-cloud-amd64; apt-get install linux-image-cloud-amd64")
    return found[-1], os.path.basename(found[-1])[len("vmlinuz-"):]


def require():
    kernel()
    for program, package in ((VIRTIOFSD, "qemu-system-common"), (BUSYBOX, "busybox-static"),
                             ("/usr/bin/qemu-system-x86_64", "qemu-system-x86"), ("/usr/bin/cpio", "cpio"),
                             ("/sbin/modprobe", "kmod")):
        if not os.path.exists(program):
            raise Unavailable(f"no {program}; apt-get install {package}")


def module_files(release):
    files = []
    for module in MODULES:
        out = subprocess.run(["modprobe", "-S", release, "-D", module], check=True, capture_output=True,
                             text=True).stdout
        for line in out.splitlines():
            word = line.split()
            if word[0] == "insmod" and word[1] not in files:
                files.append(word[1])
    return files


class Machine:
    """One guest. Use as a context manager; wait() gives the command's exit status. Its CPUs take
    turns on one of the host's: two guests at once keep a machine of two busy, and end sooner than with CPUs in parallel,
    which froze now and then."""

    def __init__(self, command, *, name="vm", cpus=2, memory=1024, systemd=False, network=None,
                 address=None, output=None):
        require()
        self.directory = tempfile.mkdtemp(prefix="cosched-vm-")
        self.name = name
        self.output = output
        self.text = ""
        self.heard_s = time.monotonic()
        self.processes = []
        self.reader = None
        try:
            self._boot(command, cpus, memory, systemd, network, address)
        except BaseException:
            self.close()
            raise

    def _boot(self, command, cpus, memory, systemd, network, address):
        image, release = kernel()
        initrd = self._initramfs(release, command, systemd, address)
        files = self._path("fs")
        self._start([VIRTIOFSD, f"--socket-path={files}", "-o", "source=/", "-o", "cache=always",
                     "-o", "sandbox=chroot"], "virtiofsd.log")
        wait_for(lambda: os.path.exists(files), "virtiofsd")
        self.qemu = self._start(
            ["qemu-system-x86_64", "-nodefaults", "-display", "none", "-no-reboot", "-M", "pc",
             "-accel", "tcg,thread=single", "-cpu", "max", "-smp", str(cpus), "-m", str(memory),
             "-object", f"memory-backend-memfd,id=mem,size={memory}M,share=on", "-numa", "node,memdev=mem",
             "-chardev", f"socket,id=fs,path={files}", "-device", "vhost-user-fs-pci,chardev=fs,tag=root",
             "-kernel", image, "-initrd", initrd,
             "-append", KERNEL_ARGUMENTS + SYSTEMD_ARGUMENTS * systemd,
             "-monitor", f"unix:{self._path('monitor')},server,nowait",
             "-serial", f"file:{self._path('console')}", "-serial", "stdio",
             "-serial", f"file:{self._path('status')}", *self._network(network, address)],
            "qemu.log", stdout=subprocess.PIPE)
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _path(self, name):
        return os.path.join(self.directory, name)

    def _start(self, argv, log, stdout=None):
        with open(self._path(log), "wb") as file:
            process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *argv], stdin=subprocess.DEVNULL,
                                       stdout=stdout or file, stderr=file)
        self.processes.append(process)
        return process

    def _network(self, network, address):
        if network is None:
            return []
        number = int(address.split("/")[0].rsplit(".", 1)[1])
        return ["-netdev", network + ",id=n0", "-device",
                f"virtio-net-pci,netdev=n0,romfile=,mac=52:54:00:00:00:{number:02x}"]

    def _initramfs(self, release, command, systemd, address):
        root = self._path("root")
        os.makedirs(os.path.join(root, "bin"))
        shutil.copy(BUSYBOX, os.path.join(root, "bin/busybox"))
        modules = module_files(release)
        for module in modules:
            os.makedirs(root + os.path.dirname(module), exist_ok=True)
            shutil.copy(module, root + module)
        network = f"$b ip addr add {address} dev eth0; $b ip link set eth0 up" if address else ""
        start = (SYSTEMD if systemd else PLAIN).format(name=self.name, network=network)
        with open(os.path.join(root, "init"), "w", encoding="utf-8") as init:
            init.write(INIT.format(modules=" ".join(modules), start=start))
        os.chmod(os.path.join(root, "init"), 0o755)
        with open(os.path.join(root, "command"), "w", encoding="utf-8") as script:
            script.write("export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root\n")
            script.write(command + "\n")
        with open(self._path("initrd"), "wb") as out:
            subprocess.run("find . | cpio -o -H newc --quiet -R 0:0", shell=True, check=True, cwd=root,
                           stdout=out)
        return self._path("initrd")

    def _read(self):
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        begun = ""
        while data := self.qemu.stdout.read1():
            self.heard_s = time.monotonic()
            text = decoder.decode(data).replace("\r", "")
            self.text += text
            *lines, begun = (begun + text).split("\n")
            self._show("".join(f"{self.name}: {line}\n" for line in lines))
        if begun:
            self._show(f"{self.name}: {begun}\n")

    def _show(self, text):
        if self.output:
            self.output.write(text)
            self.output.flush()

    def wait(self, silence_s):
        """The exit status of the command; None when the guest printed nothing for so long, or did not come to
        its end: how fast an emulated machine is depends on what else this one does."""
        while True:
            left_s = self.heard_s + silence_s - time.monotonic()
            try:
                self.qemu.wait(max(left_s, 0))
                break
            except subprocess.TimeoutExpired:
                if time.monotonic() - self.heard_s >= silence_s:
                    return None
        self.reader.join()
        try:
            with open(self._path("status"), encoding="ascii", errors="replace") as status:
                return int(status.read().strip())
        except (OSError, ValueError):
            return None

    def frozen(self):
        """It is still there after wait() gave up."""
        return self.qemu.poll() is None

    def whereabouts(self):
        """Where the guest's CPUs are, at three moments: lines of qemu's own register dump."""
        text = ""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(2)
            try:
                monitor.connect(self._path("monitor"))
                for _ in range(3):
                    monitor.send(b"info registers -a\n")
                    time.sleep(0.5)
                    text += monitor.recv(1 << 16).decode(errors="replace")
            except OSError as error:
                text += f"the monitor does not answer: {error}"
        return "\n".join(re.findall(r"^(?:RIP=|CR3=|the ).*", text.replace("\r", ""), re.MULTILINE))

    def console(self):
        """What the kernel and qemu said."""
        text = ""
        for name in ("console", "qemu.log", "virtiofsd.log"):
            with open(self._path(name), encoding="utf-8", errors="replace") as file:
                text += file.read()
        return text

    def close(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
        if self.reader:
            self.reader.join()
            self.qemu.stdout.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def wait_for(condition, what, timeout=20):
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.02)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--memory", type=int, default=1024, help="MiB")
    parser.add_argument("--timeout", type=float, default=300, metavar="S", help="without a word from the guest")
    parser.add_argument("--systemd", action="store_true", help="boot with systemd")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    try:
        with Machine(shlex.join(options.command), cpus=options.cpus, memory=options.memory,
                     systemd=options.systemd) as machine:
            status = machine.wait(options.timeout)
            sys.stdout.write(machine.text)
            if status is None:
                sys.stderr.write(machine.console()[-3000:])
                sys.exit("vm.py: the guest did not come to its end")
            sys.exit(status)
    except Unavailable as missing:
        sys.exit(f"vm.py: {missing}")


if __name__ == "__main__":
    main()
