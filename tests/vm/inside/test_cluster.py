"""One job over two nodes, each a guest of its own. node0 launches it; node1 looks on."""

import os
import socket
import subprocess
import sys
import time
import unittest

import node

AGENT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "agent.py")
NODES = ("node0", "node1")
END = "/run/end"
REPEAT = 5
LOOK_S = 1  # each look takes some of the one CPU that the rank needs


def start_node():
    node.configure(scheduler={"time_slice": "4s", "gmet": "1s", "cpus": 1})
    node.start_daemons()


def note(jobs, seen):
    """Prints each job of a node once: whoever runs the guests compares."""
    for job in jobs or []:
        if job["job_id"] not in seen and job["processes"] == 1:
            seen.add(job["job_id"])
            print(f"job {job['job_id']} of {job['ranks']} ranks", flush=True)


class Cluster(unittest.TestCase):
    @unittest.skipUnless(socket.gethostname() == "node0", "node0 launches")
    def test_a_job_over_both_nodes_verifies(self):
        start_node()
        node.eventually(lambda: self.on_node1("true") == 0, "node1 is there")
        job = node.Job(2, ("--repeat", REPEAT), "-launcher", "rsh", "-launcher-exec", AGENT, "-hosts", "node0:1,node1:1",
                       UCX_TLS="tcp,self", UCX_NET_DEVICES="eth0")
        seen = set()
        while job.runs():
            note(node.control("jobs"), seen)
            time.sleep(LOOK_S)
        text = job.finish()
        self.assertIn("verified=yes", text)
        self.assertIn("carrier notice", text)
        self.assertEqual(len(seen), 1)
        node.eventually(lambda: not node.classes(), "the class of the ended job is gone")
        self.assertEqual(self.on_node1("touch", END), 0)

    def on_node1(self, *command):
        return subprocess.run([sys.executable, AGENT, "node1", *command], check=False).returncode

    @unittest.skipUnless(socket.gethostname() == "node1", "node1 looks on")
    def test_the_job_is_seen(self):
        start_node()
        subprocess.Popen([sys.executable, AGENT, "--serve"], stdin=subprocess.DEVNULL)
        seen = set()
        while not os.path.exists(END):
            note(node.control("jobs"), seen)
            time.sleep(LOOK_S)
        self.assertEqual(len(seen), 1)
        node.eventually(lambda: not node.classes(), "the class of the ended job is gone")


if __name__ == "__main__":
    with open("/etc/hosts", "w", encoding="ascii") as hosts:
        hosts.write("127.0.0.1 localhost\n")
        hosts.writelines(f"10.98.0.{i + 1} {name}\n" for i, name in enumerate(NODES))
    unittest.main()
