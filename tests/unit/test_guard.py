"""Programs of bench/ that are ended from outside put away what they have made; those whose reader has gone without a word."""

import os
import signal
import subprocess
import sys
import time
import unittest

BENCH = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench"))
sys.path.insert(0, BENCH)

from guard import STATUS  # noqa: E402

HEAD = f"""
import sys
sys.path.insert(0, {BENCH!r})
from guard import guarded
"""


def ended(command, closed=("stdout",), environment=None):
    """(status, standard output, standard error) of a command of whose streams these have no reader from the beginning."""
    streams = {}
    for name in closed:
        reading, streams[name] = os.pipe()
        os.close(reading)
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, text=True, check=False, timeout=60,
                              env={**os.environ, **(environment or {})},
                              **{name: streams.get(name, subprocess.PIPE) for name in ("stdout", "stderr")})
    finally:
        for descriptor in streams.values():
            os.close(descriptor)
    return done.returncode, done.stdout, done.stderr


def heeding():
    """As a program that nobody has started in the background or under nohup."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def program(text):
    return [sys.executable, "-B", "-c", HEAD + text]


class Guarded(unittest.TestCase):
    def test_ends_quietly_whether_it_says_little_or_much(self):
        for words in ("'a word'", "'x' * 1000000", "'flushed', flush=True"):
            with self.subTest(words=words):
                status, _, said = ended(program(f"sys.exit(guarded(lambda: print({words})))"))
                self.assertEqual((status, said), (STATUS, ""))

    def test_so_it_does_when_only_its_progress_has_no_reader(self):
        status, said, _ = ended(program("print('before')\nsys.exit(guarded(lambda: print('x', file=sys.stderr)))"), ("stderr",))
        self.assertEqual((status, said), (STATUS, "before\n"))

    def test_a_signal_has_what_was_made_put_away(self):
        text = """
import signal, time
def main():
    try:
        print('made', flush=True)
        time.sleep(60)
    finally:
        signal.raise_signal(signal.SIGTERM)
        print('put away')
sys.exit(guarded(main))"""
        for number, status in ((signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGHUP, 128 + signal.SIGHUP),
                               (signal.SIGINT, -signal.SIGINT)):
            for again in (number, signal.SIGTERM):
                with self.subTest(signal=number, again=again), subprocess.Popen(
                        program(text.replace("signal.SIGTERM", str(int(again)))), stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL, text=True, preexec_fn=heeding) as begun:
                    self.assertEqual(begun.stdout.readline(), "made\n")
                    begun.send_signal(number)
                    self.assertEqual(begun.stdout.read(), "put away\n")
                    self.assertEqual(begun.wait(timeout=60), status)

    def test_a_signal_waits_until_all_is_put_away(self):
        """Also in a program that is started for that, and where another thread takes it."""
        text = """
import os, signal, subprocess, sys, threading, time
from guard import putting_away
threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
def main():
    try:
        with putting_away():
            print('putting away', flush=True)
            subprocess.run([sys.executable, '-c', "import sys; sys.stdin.readline(); print('all of it', flush=True)"])
        print('not told')
    finally:
        print('put away')
sys.exit(guarded(main))"""
        for number, status in ((signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGINT, -signal.SIGINT)):
            with self.subTest(signal=number), subprocess.Popen(
                    program(text), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                    start_new_session=True, preexec_fn=heeding) as begun:
                self.assertEqual(begun.stdout.readline(), "putting away\n")
                time.sleep(0.2)
                os.killpg(begun.pid, number)
                time.sleep(0.2)
                self.assertIsNone(begun.poll())
                said = begun.communicate("\n", timeout=60)[0]
                self.assertEqual((said, begun.returncode), ("all of it\nput away\n", status))

    def test_what_nohup_ignores_stays_ignored(self):
        ways = {"guarded": "sys.exit(guarded(main))",
                "naskit": "from naskit import ending\nsys.exit(guarded(lambda: ending.guarded('x', main)))"}
        for name, way in ways.items():
            text = f"""
import signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
def main():
    signal.raise_signal(signal.SIGHUP)
    print('went on')
{way}"""
            with self.subTest(name):
                self.assertEqual(ended(program(text), ()), (0, "went on\n", ""))

    def test_what_was_made_is_put_away(self):
        status, _, said = ended(program("""
def main():
    try:
        print('a word', flush=True)
    finally:
        print('put away', file=sys.stderr)
sys.exit(guarded(main))"""))
        self.assertEqual((status, said), (STATUS, "put away\n"))

    def test_another_pipe_is_another_matter(self):
        status, said, complaint = ended(program("""
def main():
    print('a word')
    raise BrokenPipeError('a process that died')
sys.exit(guarded(main))"""), ())
        self.assertEqual((status, said), (1, "a word\n"))
        self.assertIn("a process that died", complaint)

    def test_with_a_reader_it_is_the_program_itself(self):
        self.assertEqual(ended(program("print('a word'); sys.exit(guarded(lambda: 3))"), ()), (3, "a word\n", ""))
        self.assertEqual(ended(program("guarded(sys.exit, 'no'); print('never')"), ()), (1, "", "no\n"))


class Commands(unittest.TestCase):
    def test_end_quietly(self):
        for command in (["run_nas.sh", "all", "--dry-run"], ["run_dcs.sh", "--dry-run", "--figure", "3"],
                        ["verify_npb.sh", "--build", "/", "--summary"], ["run_npb_speed.sh", "--build", "/", "--table"],
                        ["lab", "--name", "cosched-lab-nobodys", "status"]):
            with self.subTest(command=command):
                status, _, said = ended([os.path.join(BENCH, command[0]), *command[1:]])
                self.assertEqual((status, said), (STATUS, ""))

    def test_so_does_the_report(self):
        status, _, said = ended(program("""
import runpy
from report import cli
cli.run = lambda path: None
sys.argv = ["report", "folder"]
runpy.run_module("report", run_name="__main__")"""))
        self.assertEqual((status, said), (STATUS, ""))


if __name__ == "__main__":
    unittest.main()
