"""What programs call their version: cmake/CoschedVersion.cmake."""
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SCRIPT = os.path.join(ROOT, "cmake", "CoschedVersion.cmake")
GIT = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C"]


class Version(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = os.path.join(holder.name, "sources")
        self.file = os.path.join(holder.name, "version.c")
        os.mkdir(self.folder)

    def version(self, folder=None):
        # Of a clone around the test's own folder nothing is to be seen.
        subprocess.run(["cmake", f"-DROOT={folder or self.folder}", "-DVERSION=1.2.3", f"-DOUT={self.file}", "-P", SCRIPT],
                       check=True, env={**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(self.folder)})
        with open(self.file, encoding="utf-8") as file:
            return file.read().split('"')[3]

    def commit(self):
        subprocess.run([*GIT, self.folder, "commit", "-q", "--allow-empty", "-m", "c"], check=True)
        return subprocess.run([*GIT, self.folder, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout[:7]

    def test_a_clone_names_its_commit(self):
        subprocess.run([*GIT, self.folder, "init", "-q"], check=True)
        for _ in range(2):
            commit = self.commit()
            self.assertEqual(self.version(), f"1.2.3+{commit}")

    def test_what_is_no_clone_names_none(self):
        self.assertEqual(self.version(), "1.2.3")

    def test_sources_within_another_clone_do_not_name_its_commit(self):
        subprocess.run([*GIT, self.folder, "init", "-q"], check=True)
        self.commit()
        below = os.path.join(self.folder, "below")
        os.mkdir(below)
        self.assertEqual(self.version(below), "1.2.3")

    def test_the_same_version_is_not_written_anew(self):
        self.version()
        os.utime(self.file, (1, 1))
        self.version()
        self.assertEqual(os.stat(self.file).st_mtime, 1)


if __name__ == "__main__":
    unittest.main()
