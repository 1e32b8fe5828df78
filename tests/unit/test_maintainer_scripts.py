"""What dpkg's scripts ask of the programs, which are played here; with systemd and the real ones it is vm/systemd's.

Protects: who removes the package leaves nobody limited, whether classd serves, was killed or has a broken configuration;
who upgrades it disturbs nobody.
"""
import os
import subprocess
import tempfile
import unittest

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "etc", "debian")
# coschedctl writes down what it is asked, and fails where FAILING names the first word of that.
PROGRAMS = {
    "coschedctl": 'echo "$*" >> "$ASKED"; case " $FAILING " in *" $1 "*) exit 1 ;; esac',
    "classd": "exit 0",
    "systemctl": "exit 1",  # on a machine with systemd, too, no service is there
    "systemd-tmpfiles": "exit 0",
}


class MaintainerScripts(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name
        for name, program in PROGRAMS.items():
            path = os.path.join(self.folder, name)
            with open(path, "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\n{program}\n")
            os.chmod(path, 0o755)

    def asked(self, script, *arguments, failing=""):
        """(what coschedctl was asked, what was said); the script must succeed, or the package could not be removed."""
        log = os.path.join(self.folder, "asked")
        with open(log, "w", encoding="ascii"):
            pass
        done = subprocess.run(["sh", os.path.join(SCRIPTS, script), *arguments], capture_output=True, text=True, check=False,
                              env={"PATH": self.folder + ":/usr/bin:/bin", "ASKED": log, "FAILING": failing})
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(log, encoding="ascii") as file:
            return [line.split() for line in file], done.stderr

    def test_a_classd_that_serves_is_shut_down(self):
        for action in ("remove", "deconfigure"):
            self.assertEqual(self.asked("prerm", action), ([["status"], ["shutdown"], ["release"]], ""))

    def test_what_a_killed_classd_has_left_is_lifted(self):
        asked, said = self.asked("prerm", "remove", failing="status shutdown --config")
        self.assertNotIn(["shutdown"], asked)
        self.assertEqual((asked[-1], said), (["release"], ""))

    def test_a_broken_configuration_keeps_nobody_from_it(self):
        asked, said = self.asked("prerm", "remove", failing="status shutdown release")
        self.assertEqual(asked[1::2], [["--config", "/dev/null", word] for word in ("status", "shutdown", "release")])
        self.assertEqual(said, "")

    def test_limits_that_cannot_be_lifted_are_told_of(self):
        _, said = self.asked("prerm", "remove", failing="status shutdown release --config")
        self.assertRegex(said, r"\Acosched: limits cannot be lifted.*\n\Z")

    def test_an_upgrade_ends_nothing(self):
        for arguments in (("prerm", "upgrade", "2.0"), ("prerm", "failed-upgrade", "2.0"), ("postinst", "configure", "1.0"),
                          ("postrm", "upgrade", "2.0")):
            self.assertEqual(self.asked(*arguments)[0], [], arguments)


if __name__ == "__main__":
    unittest.main()
