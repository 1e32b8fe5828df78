"""Trials of the kernels of bench/npb: that they verify, and how fast they are. See README.md."""


class TrialError(Exception):
    """Something that the user must know; only the command line prints it and ends."""
