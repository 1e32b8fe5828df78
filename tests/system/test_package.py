"""The package that admins install, as dpkg sees it; what it does to a node is vm/systemd's.

Protects: all that a node needs is in it and nothing else, the configuration is the admin's, no MPI comes along.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ.get("COSCHED_BUILD_DIR", "")
FAMILIES = [family for family in ("mpich", "openmpi") if shutil.which(f"mpicc.{family}")]
SKIPPED = 77
PROGRAMS = ("/usr/bin/coschedctl", "/usr/sbin/classd", "/usr/sbin/timerd")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.package = max(glob.glob(os.path.join(BUILD, "cosched_*.deb")), key=os.path.getmtime)

    def unpacked(self, how):
        folder = tempfile.TemporaryDirectory(prefix="cosched-test-")
        self.addCleanup(folder.cleanup)
        run("dpkg-deb", how, self.package, folder.name)
        return folder.name

    def field(self, name):
        return run("dpkg-deb", "--field", self.package, name).strip()

    def test_it_holds_what_a_node_needs(self):
        top = self.unpacked("--extract")
        paths = sorted(os.path.join(folder, name).removeprefix(top) for folder, _, names in os.walk(top) for name in names)
        wanted = [*PROGRAMS, "/etc/cosched.ini", "/usr/lib/systemd/system/cosched-classd.service",
                  "/usr/lib/systemd/system/cosched-timerd.service", "/usr/lib/tmpfiles.d/cosched.conf",
                  "/usr/share/bash-completion/completions/coschedctl", "/usr/share/doc/cosched/copyright"]
        library = [path for path in paths if os.path.basename(path) == "libcosched_pmpi.so"]
        self.assertEqual(len(library), 1, paths)
        wanted += library + [library[0].replace(".so", f"_{family}.so") for family in FAMILIES]
        self.assertEqual([path for path in paths if "/man/" not in path], sorted(wanted))
        if shutil.which("scdoc"):
            self.assertEqual(len(paths) - len(wanted), 5, "man pages")
        for program in PROGRAMS:
            self.assertRegex(run(top + program, "--version"), rf"\A{os.path.basename(program)} [0-9.]+(\+[0-9a-f]{{7}})?\n\Z")
        with open(top + "/usr/lib/systemd/system/cosched-classd.service", encoding="ascii") as file:
            self.assertIn("\nExecStart=/usr/sbin/classd\n", file.read())

    def test_the_configuration_is_the_admins(self):
        with open(os.path.join(self.unpacked("--control"), "conffiles"), encoding="ascii") as file:
            self.assertEqual(file.read(), "/etc/cosched.ini\n")

    def test_it_needs_no_mpi(self):
        needed = self.field("Depends")
        for other in ("libc6", "libcgroup2", "libsystemd0", "libinih1", "procps"):
            self.assertIn(other, needed)
        self.assertNotRegex(needed, "mpi")

    def test_a_later_commit_is_a_later_version(self):
        self.assertRegex(self.field("Version"), r"\A[0-9.]+(\+[0-9]{14}\+[0-9a-f]{7})?\Z")

    def test_its_scripts_are_scripts(self):
        control = self.unpacked("--control")
        for name in ("postinst", "prerm", "postrm"):
            path = os.path.join(control, name)
            self.assertTrue(os.access(path, os.X_OK))
            run("sh", "-n", path)
            with open(path, encoding="ascii") as file:
                self.assertTrue(re.search("^set -e$", file.read(), re.MULTILINE))


if __name__ == "__main__":
    if not shutil.which("dpkg-deb"):
        print("skipped: needs dpkg-deb", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
