"""Passed or failed: the rules of the suite's own `runtests`, on the output and status of a run."""

import re

PASSED, HUNG, FAILED, TIMEOUT = "passed", "hung", "failed", "timeout"
VERDICTS = (PASSED, HUNG, FAILED, TIMEOUT)
GOOD = (PASSED, HUNG)  # "hung": it said that all is well, and then did not end

DONE = r"^\s*No [Ee]rrors\s*$"
_PASSES_IN_SILENCE = re.compile(r"FORTRAN STOP|^\s*Test Passed\s*$|" + DONE)

NEEDS_FAILURE = ("TestStatus", "TestErrFatal")  # any output, but a status that is not 0
NEEDS_BOTH = "TestStatusNoErrors"  # " No Errors", and a status that is not 0


def awaits_done(rule):
    """True when the program has nothing more to show after it printed " No Errors"."""
    return rule == ""


def judge(rule, output, report):
    """(verdict, reason). `report` is what `lab mpiexec --report` wrote."""
    if report["timed_out"]:
        # Little CPU time tells a test that was starved, or that sleeps, from one that spins.
        return TIMEOUT, f"time limit, {report['cpu_s']:.1f} s CPU used"
    status = report["exit_status"]
    if rule in NEEDS_FAILURE:
        return (PASSED, "") if status != 0 else (FAILED, "exit status 0, where it must not be")
    lines = output.splitlines()
    done = [number for number, line in enumerate(lines) if re.match(DONE, line)]
    if not done:
        return FAILED, f'exit status {status}, no " No Errors"'
    if report["hung_in_finalize"]:
        lines = lines[:done[-1] + 1]  # the rest is the launcher's lament at being ended
    unexpected = [line for line in lines if not _PASSES_IN_SILENCE.search(line)]
    if unexpected:
        return FAILED, "unexpected output: " + unexpected[0]
    if rule == NEEDS_BOTH:
        return (PASSED, "") if status != 0 else (FAILED, "exit status 0, where it must not be")
    if status != 0:
        return FAILED, f"exit status {status}"
    return (HUNG, "in MPI_Finalize") if report["hung_in_finalize"] else (PASSED, "")
