"""A cluster of nodes made of namespaces on one machine. See README.md."""


class LabError(Exception):
    """Something that the user must know; only the command line prints it and ends."""
