"""Debian packages for a guest alone: fetched and unpacked, not installed on this machine."""

import glob
import os
import shutil
import subprocess


class Unavailable(Exception):
    """They cannot be fetched."""


def unpacked(folder, *names):
    """The tree, below the folder, of these packages and of what they need and this machine does not have. It is kept for
    the next time."""
    tree, archives, made = (os.path.join(folder, name) for name in ("tree", "archives", "made"))
    if os.path.exists(made):
        return tree
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(archives, "partial"))
    os.makedirs(tree)
    if shutil.which("apt-get") is None:
        raise Unavailable("no apt-get")
    fetch = subprocess.run(["apt-get", "install", "--yes", "--no-install-recommends", "--download-only", "--reinstall",
                            "-o", f"Dir::Cache::Archives={archives}", "-o", "Debug::NoLocking=true", *names],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if fetch.returncode != 0:
        raise Unavailable(f"{' '.join(names)} cannot be fetched: {fetch.stderr.strip()[-300:]}")
    for package in glob.glob(os.path.join(archives, "*.deb")):
        subprocess.run(["dpkg-deb", "--extract", package, tree], check=True)
    with open(made, "x", encoding="ascii"):
        return tree
