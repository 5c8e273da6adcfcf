"""Run one simulator process in its own folder, under limits of time and memory."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

# How often memory is looked at; the end of the process itself is noticed at once.
POLL_S = 0.1
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


@dataclass(frozen=True)
class Outcome:
    """How a process ended and what it used.

    Parameters
    ----------
    ended : {"exit", "timeout", "memory", "missing"}
        By itself, killed at the time or memory limit, or not started because the program is not there.
    exit_code : int
        Negative for the signal that killed it.
    cpu_s, wall_s : float
        Processor time (user and system, waited-for children included) and elapsed time.
    memory_bytes : int
        Largest resident set.
    """

    ended: Literal["exit", "timeout", "memory", "missing"]
    exit_code: int
    cpu_s: float
    wall_s: float
    memory_bytes: int


def _die_with_parent() -> None:
    # A simulator must not outlive the batch that would read its result.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _resident_bytes(group: int) -> int:
    """Resident memory of all processes of a process group."""
    total = 0
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            if os.getpgid(int(entry.name)) == group:
                total += int(Path(entry.path, "statm").read_text().split()[1]) * _PAGE_BYTES
        except (OSError, IndexError):  # it ended meanwhile
            continue
    return total


def run(argv: list[str], folder: Path, time_s: float, memory_bytes: int) -> Outcome:
    """Run `argv` inside `folder`; its output goes to ``stdout`` and ``stderr`` there.

    The process gets a group of its own, which is killed as a whole when a limit is passed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run(["sh", "-c", "exit 3"], Path(folder), time_s=10, memory_bytes=10**9)
    >>> outcome.ended, outcome.exit_code
    ('exit', 3)
    """
    start = time.monotonic()
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        try:
            process = subprocess.Popen(
                argv,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        except OSError as error:
            err.write(f"{argv[0]}: {error.strerror}\n".encode())
            return Outcome("missing", 127, 0.0, 0.0, 0)
    try:
        ended = _watch(process.pid, start + time_s, memory_bytes)
    finally:
        # Also when we are interrupted: nothing of the group may stay behind.
        _kill_group(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Outcome(
        ended,
        process.returncode,
        usage.ru_utime + usage.ru_stime,
        time.monotonic() - start,
        usage.ru_maxrss * 1024,
    )


def _watch(pid: int, deadline: float, memory_bytes: int) -> Literal["exit", "timeout", "memory"]:
    descriptor = os.pidfd_open(pid)
    try:
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        while not poller.poll(1000 * max(0.0, min(POLL_S, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                return "timeout"
            if _resident_bytes(pid) > memory_bytes:
                return "memory"
        return "exit"
    finally:
        os.close(descriptor)


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
