"""What bash completes after coschedctl."""

import os
import subprocess
import tempfile
import unittest

COMPLETION = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "etc", "completion", "coschedctl")
# What coschedctl prints under policy gang where a clock was set: a sentence below the table.
CTL = """#!/bin/sh
if [ "$*" = "--json jobs" ]; then
    cat <<end
[
  {
    "job_id": "mpi-1",
    "uid": 0
  },
  {
    "job_id": "slurm-7.0",
    "uid": 0
  },
  {
    "job_id": "sequential",
    "uid": 0
  }
]
end
elif [ "$*" = "--config my.ini --json jobs" ]; then
    echo '    "job_id": "mpi-of-mine",'
elif [ "$*" = jobs ]; then
    cat <<end
JOB        USER
mpi-1      root
slurm-7.0  root
sequential -
job mpi-1 had agreed on slots before the node's clock was set by 5 s: it has no slots here
end
fi
"""


def completed(*words, files=()):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as here:
        for name in files:
            with open(os.path.join(here, name), "w", encoding="ascii"):
                pass
        program = os.path.join(folder, "coschedctl")
        with open(program, "w", encoding="ascii") as file:
            file.write(CTL)
        os.chmod(program, 0o755)
        script = '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _coschedctl; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, "bash", COMPLETION, "coschedctl", *words], text=True, check=True,
                              capture_output=True, timeout=60, cwd=here,
                              env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    return done.stdout.splitlines()


class Completion(unittest.TestCase):
    def test_jobs_are_jobs(self):
        for command in ("suspend", "resume", "kill"):
            self.assertEqual(completed(command, ""), ["mpi-1", "slurm-7.0"])
        self.assertEqual(completed("kill", "s"), ["slurm-7.0"])

    def test_jobs_are_those_of_the_configuration(self):
        self.assertEqual(completed("--config", "my.ini", "kill", ""), ["mpi-of-mine"])
        self.assertEqual(completed("kill", "--config", "=", "my.ini", ""), ["mpi-of-mine"])

    def test_the_first_word_that_is_no_options_is_the_command(self):
        self.assertEqual(completed("--config", "jobs", "tr"), ["trace"])
        self.assertEqual(completed("trace", "export", "svg", "kill", "o", files=["one", "two"]), ["one"])
        self.assertEqual(completed("kill", "--subtree", "1", "mpi"), ["mpi-1"])

    def test_commands_and_their_words(self):
        self.assertEqual(completed("re"), ["resume", "reload", "release"])
        self.assertEqual(completed("suspend", "--means", "s"), ["share", "signals"])

    def test_files_have_blanks_and_stars(self):
        self.assertEqual(completed("--config", "a", files=["a b", "b c"]), ["a b"])
        self.assertEqual(completed("--config", "=", "a", files=["a b", "b c"]), ["a b"])
        self.assertEqual(completed("--config", "=", files=["a b"]), ["a b"])
        self.assertEqual(completed("trace", "export", "svg", "*", files=["* one", "two"]), ["* one"])
        self.assertEqual(completed("trace", "export", ""), ["json", "svg"])
        self.assertEqual(completed("trace", "st"), ["start", "stop"])
        self.assertEqual(completed("trace", "coscheduled", "st", files=["still", "two"]), ["still"])


if __name__ == "__main__":
    unittest.main()
