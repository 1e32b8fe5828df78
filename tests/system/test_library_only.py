"""The preloaded library alone, as who has no use for the daemons builds it.

Protects: it is built without any of the daemons' libraries, and runs; its package holds it.
"""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FAMILIES = [family for family in ("mpich", "openmpi") if shutil.which(f"mpicc.{family}")]
SKIPPED = 77


class LibraryOnly(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cosched-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_command(self, *command, **environment):
        run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout + run.stderr

    def configure(self, *options):
        # No package is found.
        return ["cmake", "-S", SOURCE, "-B", self.folder, "-G", "Ninja", "-DCOSCHED_DAEMONS=OFF", *options]

    def test_it_is_built_without_the_daemons_packages(self):
        self.run_command(*self.configure(), PKG_CONFIG_LIBDIR=self.folder)
        self.run_command("cmake", "--build", self.folder, "-j2")
        library = os.path.join(self.folder, "pmpi", "libcosched_pmpi.so")
        for family in FAMILIES:
            self.assertTrue(os.path.exists(library.replace(".so", f"_{family}.so")))
            program = os.path.join(self.folder, family)
            self.run_command(f"mpicc.{family}", "-o", program, os.path.join(SOURCE, "tests", "system", "mpi", "ring.c"))
            said = self.run_command(f"mpiexec.{family}", *(["--oversubscribe"] * (family == "openmpi")), "-n", "3",
                                    program, LD_PRELOAD=library, COSCHED_STATS="1", COSCHED_RUNTIME_DIR="/nonexistent",
                                    OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
            self.assertIn("cosched: job ", said)
        if shutil.which("dpkg-deb"):
            self.run_command("cmake", "--build", self.folder, "--target", "package")
            package, = glob.glob(os.path.join(self.folder, "libcosched-pmpi_*.deb"))
            held = self.run_command("dpkg-deb", "--contents", package)
            for name in ("libcosched_pmpi", *(f"libcosched_pmpi_{family}" for family in FAMILIES)):
                self.assertIn(f"/{name}.so\n", held)
            self.assertNotIn("classd", held)


if __name__ == "__main__":
    if not FAMILIES or not shutil.which("ninja"):
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
