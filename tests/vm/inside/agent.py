#!/usr/bin/env python3
"""A remote shell between guests, for launchers: `agent.py HOST COMMAND...` runs the command there, with
the environment that `agent.py --serve` was started with, and ends with its exit status.

What comes back is the output and, at the end, a line of its own with the status."""

import shlex
import socket
import subprocess
import sys
import threading

PORT = 1023
UNREACHABLE = 255


def answer(connection):
    with connection, connection.makefile("r", encoding="utf-8") as request:
        run = subprocess.run(["sh", "-c", request.readline()], stdin=subprocess.DEVNULL,
                             stdout=connection, stderr=connection, check=False)
        connection.sendall(b"\n%d\n" % run.returncode)


def serve():
    with socket.create_server(("", PORT)) as server:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=answer, args=[connection], daemon=True).start()


def ask(host, command):
    with socket.create_connection((host, PORT)) as connection:
        connection.sendall(command.encode() + b"\n")
        last = b""
        with connection.makefile("rb") as reply:
            for line in reply:
                sys.stdout.buffer.write(last)
                sys.stdout.buffer.flush()
                last = line
    return int(last) if last.strip().isdigit() else UNREACHABLE


def main():
    arguments = sys.argv[1:]
    if arguments == ["--serve"]:
        serve()
    while arguments[0].startswith("-"):  # options of ssh mean nothing here
        arguments.pop(0)
    try:
        sys.exit(ask(arguments[0], " ".join(arguments[1:])))
    except OSError as fault:
        print(f"agent: {arguments[0]}: {fault}", file=sys.stderr)
        sys.exit(UNREACHABLE)


if __name__ == "__main__":
    main()
