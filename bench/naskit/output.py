"""What a program says about its work, and what a launcher reports of a job. No system call in here."""

import re

# The line with which a program says how its work went: our kernels', or that of the official NPB.
DONE = r"^NPB kernel=.* verified=\w+|^\s*Verification\s+=\s+\w+"
VERIFIED = re.compile(r"^NPB kernel=.* verified=yes|^\s*Verification\s+=\s+SUCCESSFUL")


def verified(report, text, iterations):
    """Whether the job ended well and each of its iterations said that its numbers are right."""
    said = [line for line in text.splitlines() if re.search(DONE, line)]
    return (report["exit_status"] == 0 and not report["timed_out"] and len(said) >= iterations
            and all(VERIFIED.search(line) for line in said))
