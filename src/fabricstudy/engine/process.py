"""Run one simulator process in its own folder, under limits of time and memory."""

import contextlib
import os
import resource
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fabricstudy.engine.lifetime import adopt_orphans, end_with_parent

# When memory is looked at: soon, since runs may be short, then less and less often.
FIRST_POLL_S, MAX_POLL_INTERVAL_S = 0.001, 0.1
# How often an end is asked for where the system cannot tell it by itself.
ASK_S = 0.005
# On cancellation the simulator may get the signal before we do; wait, so that it is not recorded as a failure.
GRACE_S = 2.0
_ASKED_TO_END = (-signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP)
_BYTES_OF_MAXRSS = 1 if sys.platform == "darwin" else 1024
# The kernel's figure for a child counts only above this many times the memory of our process.
_MORE_THAN_OURS = 1.1


@dataclass(frozen=True)
class ProcessOutcome:
    """How a process ended and what it used.

    Parameters
    ----------
    ended : {"exit", "timeout", "out-of-memory", "missing"}
        By itself, killed at the time or memory limit, or not started because the program is not there.
    exit_code : int
        Negative for the signal that killed it.
    cpu_s, wall_s : float
        Processor time (user and system, waited-for children included) and elapsed time.
    memory_bytes : int or None
        Largest resident set; None if unknown, as for a run that ended before the first look.
    """

    ended: Literal["exit", "timeout", "out-of-memory", "missing"]
    exit_code: int
    cpu_s: float
    wall_s: float
    memory_bytes: int | None


class _Child:
    """A child of ours whose end can be waited for, but not longer than allowed."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._ended: tuple[int, resource.struct_rusage] | None = None
        try:
            self._descriptor: int | None = os.pidfd_open(pid)
        except (AttributeError, OSError):  # not on macOS, nor before Linux 5.3
            self._descriptor = None

    def has_ended(self, within_s: float) -> bool:
        """Wait for the end, at most `within_s`; return whether it has come."""
        if self._descriptor is not None:
            poller = select.poll()
            poller.register(self._descriptor, select.POLLIN)
            return bool(poller.poll(1000 * max(0.0, within_s)))
        latest = time.monotonic() + within_s
        while not self._ask(os.WNOHANG):
            left_s = latest - time.monotonic()
            if left_s <= 0:
                return False
            time.sleep(min(left_s, ASK_S))
        return True

    def usage(self) -> tuple[int, resource.struct_rusage]:
        """Wait for the end, however long; give the wait status and what was used, children included."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._ask(0)
        assert self._ended is not None
        return self._ended

    def _ask(self, options: int) -> bool:
        if self._ended is None:
            pid, status, used = os.wait4(self.pid, options)
            self._ended = (status, used) if pid else None
        return self._ended is not None


def _tree(pid: int, stop: bool = False) -> list[int]:
    """Return a process and its descendants, parents first; `stop` stops them, so that none starts others."""
    with contextlib.suppress(OSError):  # it ended meanwhile
        if stop:
            os.kill(pid, signal.SIGSTOP)
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *(one for child in children for one in _tree(int(child), stop))]
    return [pid]


def _peak_bytes(pid: int) -> int:
    """Largest resident memory of a process so far."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:  # it ended meanwhile
        return 0
    return 1024 * int(next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")), "0"))


def _ended_s(orphan: int) -> float:
    """End an orphan that became our child, and give its processor time; 0 if it is no child of ours.

    ``mpirun`` starts new sessions for its processes, which the signal to the group does not reach.
    """
    try:
        pid, _, usage = os.wait4(orphan, os.WNOHANG)
        if not pid:
            _kill(orphan)
            usage = os.wait4(orphan, 0)[2]
    except ChildProcessError:
        return 0.0
    return usage.ru_utime + usage.ru_stime


def run_process(argv: list[str], folder: Path, time_s: float, memory_bytes: int) -> ProcessOutcome:
    """Run `argv` inside `folder`; its output goes to ``stdout`` and ``stderr`` there.

    When a limit is passed, the process is killed with all that it started, in whatever group or session that is.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run_process(["sh", "-c", "exit 3"], Path(folder), time_s=10, memory_bytes=10**9)
    >>> outcome.ended, outcome.exit_code
    ('exit', 3)
    """
    adopt_orphans()  # descendants of a killed process become our children: their processor time counts, too
    start, our_bytes = time.monotonic(), _our_peak_bytes()
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        try:
            process = subprocess.Popen(
                argv,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=end_with_parent,  # it must not outlive the batch that would read its result
            )
        except OSError as error:
            err.write(f"{argv[0]}: {error.strerror}\n".encode())
            return ProcessOutcome("missing", 127, 0.0, 0.0, None)
    child, seen = _Child(process.pid), dict[int, None]()
    try:
        ended, seen_bytes = _watch(child, start + time_s, memory_bytes, seen)
    finally:
        # Also when we are interrupted: nothing may stay behind.
        if not child.has_ended(0):
            running = _tree(process.pid, stop=True)
            seen.update(dict.fromkeys(running))
            for pid in running:
                _kill(pid)
        _kill_group(process.pid)
        status, usage = child.usage()
        orphans_s = sum(_ended_s(pid) for pid in seen if pid != process.pid)
    process.returncode = os.waitstatus_to_exitcode(status)
    if ended == "exit" and process.returncode in _ASKED_TO_END:
        # Interrupted here, we leave no record of a failure that was none.
        time.sleep(GRACE_S)
    peak_bytes = max(seen_bytes, _kernel_peak_bytes(usage, our_bytes))
    return ProcessOutcome(
        "out-of-memory" if ended == "exit" and peak_bytes > memory_bytes else ended,
        process.returncode,
        usage.ru_utime + usage.ru_stime + orphans_s,
        time.monotonic() - start,
        peak_bytes or None,
    )


def _watch(
    child: _Child, deadline: float, memory_bytes: int, seen: dict[int, None]
) -> tuple[Literal["exit", "timeout", "out-of-memory"], int]:
    """Wait for the end of a process or of its allowance; give how it ended and the most memory seen.

    Each process's own peak counts, added up. All that were seen are added to `seen`, each after its parent.
    """
    peak_bytes, pause_s = 0, FIRST_POLL_S
    while not child.has_ended(min(pause_s, deadline - time.monotonic())):
        processes = _tree(child.pid)
        seen.update(dict.fromkeys(processes))
        peak_bytes = max(peak_bytes, sum(map(_peak_bytes, processes)))
        if time.monotonic() >= deadline:
            return "timeout", peak_bytes
        if peak_bytes > memory_bytes:
            return "out-of-memory", peak_bytes
        pause_s = min(2 * pause_s, MAX_POLL_INTERVAL_S)
    return "exit", peak_bytes


def _our_peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _BYTES_OF_MAXRSS


def _kernel_peak_bytes(usage: resource.struct_rusage, our_bytes: int) -> int:
    """Largest resident set of one process by the kernel's count, or 0 where that may be our memory.

    A child has our memory until it becomes the program, and the kernel counts that, too.
    """
    peak_bytes = usage.ru_maxrss * _BYTES_OF_MAXRSS
    return peak_bytes if peak_bytes > _MORE_THAN_OURS * our_bytes else 0


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
