"""The comparison that bench/run_nas.sh makes. See README.md."""


class NasError(Exception):
    """Something that the user must know; only the command line prints it and ends."""
