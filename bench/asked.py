"""What is asked of a measurement is looked at before anything is measured: one line says what is wrong, and what to do."""

import argparse
import math
import os
import shutil


def at_least(least, kind=int):
    """For argparse: a number of that kind, no less than that; endless is none."""
    def number(text):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value < math.inf:
            raise argparse.ArgumentTypeError(f"{text}: must be a{' whole' * (kind is int)} number, at least {least:g}")
        return value
    return number


def new_file(text):
    """For argparse: the path of a file that can be written, whether it is there or not."""
    folder = os.path.dirname(os.path.abspath(text))
    if not os.path.isdir(folder):
        raise argparse.ArgumentTypeError(f"{text}: there is no folder {folder}: make it first, or name another file")
    if os.path.isdir(text) or not os.access(text if os.path.exists(text) else folder, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text}: cannot be written: name another file")
    return text


def refuse(parser, text):
    """Ends the program with status 2 and this line."""
    parser.exit(2, f"{parser.prog}: {text}\n")


def needs_root(parser, what="the virtual cluster"):
    if os.geteuid() != 0:
        refuse(parser, f"{what} needs root: run it as root")


def needs_mpi(parser, mpi):
    if shutil.which(f"mpiexec.{mpi}") is None:
        other = {"mpich": "openmpi", "openmpi": "mpich"}[mpi]
        refuse(parser, f"mpiexec.{mpi} is not there: install it (Debian: tests/install_packages.sh), link your launcher "
                       f"under that name in PATH, or say --mpi {other}")


def needs_program(parser, path, remedy="build first, or name a build with --build DIR"):
    """One without a slash is looked for as a shell does."""
    if shutil.which(path) is None:
        refuse(parser, f"{path}: there is no such program: {remedy}")


def kernel(options, name):
    """The path of one of our NAS kernels, of --build and --mpi."""
    return os.path.join(options.build, "bench", "npb", options.mpi, "bin", name)


def new_folder(parser, path):
    """Makes it, if it is not there."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        refuse(parser, f"{path}: cannot be made ({error.strerror}): name another folder")
    if not os.access(path, os.W_OK):
        refuse(parser, f"{path}: cannot be written: name another folder")
