"""Pictures and text from a results folder of bench/run_nas.sh. See README.md."""


class ReportError(Exception):
    """Something that the user must know, in one line; only the command line prints it and ends."""
