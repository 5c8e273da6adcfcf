"""Run one simulator process in its own folder, under limits of time and memory."""

from __future__ import annotations

import contextlib
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
# Who asks a simulator to end, as a cluster does that cancels a job, asks us, too, but perhaps a moment later.
GRACE_S = 2.0
_ASKED_TO_END = (-signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP)
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
        Largest resident set seen, looked at every tenth of a second; 0 for a run that ended before the first look.
    """

    ended: Literal["exit", "timeout", "memory", "missing"]
    exit_code: int
    cpu_s: float
    wall_s: float
    memory_bytes: int


def _die_with_parent() -> None:
    # A simulator must not outlive the batch that would read its result.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _peak_bytes(pid: int) -> int:
    """Largest resident memory so far of a process and its descendants (each one's own peak, added up)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it ended meanwhile
        return 0
    own = next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")), "0")
    return int(own) * 1024 + sum(_peak_bytes(int(child)) for child in children)


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
        ended, peak_bytes = _watch(process.pid, start + time_s, memory_bytes)
    finally:
        # Also when we are interrupted: nothing of the group may stay behind.
        _kill_group(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if ended == "exit" and process.returncode in _ASKED_TO_END:
        # Interrupted here, we leave no record of a failure that was none.
        time.sleep(GRACE_S)
    return Outcome(
        ended,
        process.returncode,
        usage.ru_utime + usage.ru_stime,
        time.monotonic() - start,
        peak_bytes,
    )


def _watch(pid: int, deadline: float, memory_bytes: int) -> tuple[Literal["exit", "timeout", "memory"], int]:
    """Wait for the end of a process or of its allowance; give how it ended and its peak memory.

    The kernel's own peak (ru_maxrss) is of no use here: it counts our memory, which the process has before its exec.
    """
    peak_bytes = 0
    descriptor = os.pidfd_open(pid)
    try:
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        while not poller.poll(1000 * max(0.0, min(POLL_S, deadline - time.monotonic()))):
            peak_bytes = max(peak_bytes, _peak_bytes(pid))
            if time.monotonic() >= deadline:
                return "timeout", peak_bytes
            if peak_bytes > memory_bytes:
                return "memory", peak_bytes
        return "exit", peak_bytes
    finally:
        os.close(descriptor)


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
