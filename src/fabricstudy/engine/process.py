"""Run one simulator process in its own folder, under the limits of its study.

`ranks` of CODES imports this, too, and needs neither settings nor records.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .failures import EngineFailure

if TYPE_CHECKING:
    from fabricstudy.core.store import Record

    from .settings import Limits

# Intervals of the memory samples: short at first, since runs may be short, then doubled.
FIRST_POLL_S, MAX_POLL_INTERVAL_S = 0.001, 0.1
# Interval of polling for the end on systems without pidfd_open.
ASK_S = 0.005
# On cancellation the simulator may receive the signal before this process; wait, to record no failure.
GRACE_S = 2.0
_ASKED_TO_END = (-signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP)
_BYTES_OF_MAXRSS = 1 if sys.platform == "darwin" else 1024
# The kernel's figure for a child is valid only above this many times the memory of this process.
_MIN_RATIO_TO_PARENT = 1.1
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_prctl = getattr(ctypes.CDLL(None), "prctl", None)  # macOS has none


Ended = Literal["exit", "timeout", "out-of-memory", "disk", "missing"]


@dataclass(frozen=True)
class ProcessOutcome:
    """How a process ended and what it used.

    Parameters
    ----------
    ended : {"exit", "timeout", "out-of-memory", "disk", "missing"}
        By itself, killed at the limit of time, memory or files, or not started because the program is missing.
    exit_code : int
        Negative for the signal that killed it.
    cpu_s, wall_s : float
        Processor time (user and system, waited-for children included) and elapsed time.
    memory_bytes : int or None
        Largest resident set; None if unknown, as for a run that ended before the first sample.
    """

    ended: Ended
    exit_code: int
    cpu_s: float
    wall_s: float
    memory_bytes: int | None


def end_with_parent() -> None:
    """Have the kernel kill this process when its parent ends."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class _Child:
    """A child process whose end can be waited for with a timeout."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._ended: tuple[int, resource.struct_rusage] | None = None
        try:
            self._descriptor: int | None = os.pidfd_open(pid)
        except (AttributeError, OSError):  # not on macOS, nor before Linux 5.3
            self._descriptor = None

    def has_ended(self, within_s: float) -> bool:
        """Wait for the end, at most `within_s`; return whether the child has ended."""
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
        """Wait for the end; return the wait status and the resources used, children included."""
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
        return [pid, *(process for child in children for process in _tree(int(child), stop))]
    return [pid]


def _peak_bytes(pid: int) -> int:
    """Return the largest resident memory of a process so far."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:  # it ended meanwhile
        return 0
    return 1024 * int(next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")), "0"))


def _ended_s(orphan: int) -> float:
    """End an orphan that became a child, and return its processor time; 0 if it is no child.

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


def run_process(
    argv: list[str], folder: Path, time_s: float, memory_bytes: int, disk_bytes: int = 2**62
) -> ProcessOutcome:
    """Run `argv` inside `folder`; its output goes to ``stdout`` and ``stderr`` there.

    At a limit the process is killed with all its descendants, in whatever group or session these are. `disk_bytes` is
    the limit of what it writes to `folder`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run_process(["sh", "-c", "exit 3"], Path(folder), time_s=10, memory_bytes=10**9)
    >>> outcome.ended, outcome.exit_code
    ('exit', 3)
    """
    if _prctl is not None:
        # Descendants of a killed process become children here: their processor time counts, too.
        _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    start, our_bytes, input_bytes = time.monotonic(), _our_peak_bytes(), _size_bytes(folder)
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        try:
            process = subprocess.Popen(
                argv,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        except OSError as error:
            err.write(f"{argv[0]}: {error.strerror}\n".encode())
            return ProcessOutcome("missing", 127, 0.0, 0.0, None)
    child, seen = _Child(process.pid), dict[int, None]()
    try:
        # With the input.
        ended, seen_bytes = _watch(child, start + time_s, memory_bytes, folder, disk_bytes + input_bytes, seen)
    finally:
        # Also after an interrupt.
        if not child.has_ended(0):
            running = _tree(process.pid, stop=True)
            seen.update(dict.fromkeys(running))
            for pid in running:
                _kill(pid)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        status, usage = child.usage()
        orphans_s = sum(_ended_s(pid) for pid in seen if pid != process.pid)
    process.returncode = os.waitstatus_to_exitcode(status)
    if ended == "exit" and process.returncode in _ASKED_TO_END:
        time.sleep(GRACE_S)
    # Until it calls exec, a child has the memory of its parent, and the kernel counts that, too.
    kernel_bytes = usage.ru_maxrss * _BYTES_OF_MAXRSS
    peak_bytes = max(seen_bytes, kernel_bytes if kernel_bytes > _MIN_RATIO_TO_PARENT * our_bytes else 0)
    return ProcessOutcome(
        "out-of-memory" if ended == "exit" and peak_bytes > memory_bytes else ended,
        process.returncode,
        usage.ru_utime + usage.ru_stime + orphans_s,
        time.monotonic() - start,
        peak_bytes or None,
    )


def _watch(
    child: _Child, deadline: float, memory_bytes: int, folder: Path, disk_bytes: int, seen: dict[int, None]
) -> tuple[Ended, int]:
    """Wait for the end of a process or a limit; return how it ended and the largest memory seen.

    Peaks of all processes are added up. All processes seen are added to `seen`, each after its parent.
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
        if pause_s == MAX_POLL_INTERVAL_S and _size_bytes(folder) > disk_bytes:
            return "disk", peak_bytes
        pause_s = min(2 * pause_s, MAX_POLL_INTERVAL_S)
    return "exit", peak_bytes


def _size_bytes(folder: Path) -> int:
    """Return the bytes that the files below a folder occupy."""
    size_bytes = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:  # files may vanish meanwhile
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                size_bytes += _size_bytes(Path(entry.path))
            else:
                size_bytes += 512 * entry.stat(follow_symlinks=False).st_blocks
    return size_bytes


def _our_peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _BYTES_OF_MAXRSS


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class NotDone(Exception):
    """A point without result for a reason other than a failure of its engine: status and reason of its row."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def check_memory(needed_bytes: float, limits: Limits) -> None:
    """Raise `NotDone` if a point is predicted to need more memory than its limit, or than the computer has."""
    installed_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit_bytes, source, remedy in (
        (limits.memory_bytes, "limits.memory is", "raise it in the study"),
        (installed_bytes, "this computer has", "use a larger one, or another engine"),
    ):
        if needed_bytes > limit_bytes:
            needed, limit = f"{needed_bytes / 1e9:.2g} GB", f"{limit_bytes / 1e9:.2g} GB"
            raise NotDone("out-of-memory", f"not started: it would need about {needed}, and {source} {limit}; {remedy}")


def run_program(command: list[str], folder: Path, limits: Limits, record: Record) -> int:
    """Run the simulator within the limits, add time and memory to `record`, and return the exit code.

    Raises `NotDone` if a limit was reached, and `EngineFailure` if it could not be started, or was killed.
    """
    outcome = run_process(command, folder, limits.time_s, limits.memory_bytes, limits.disk_bytes)
    # With those of earlier runs of the same point.
    memory_bytes = [size for size in (record.get("memory_bytes"), outcome.memory_bytes) if size is not None]
    record |= {
        "command": command,
        "exit_code": outcome.exit_code,
        "cpu_s": outcome.cpu_s + record.get("cpu_s", 0.0),
        "wall_s": outcome.wall_s + record.get("wall_s", 0.0),
        "memory_bytes": max(memory_bytes, default=None),
    }
    if outcome.ended == "timeout":
        raise NotDone("timeout", f"not finished within {limits.time_s:g} s; raise limits.time in the study")
    if outcome.ended == "out-of-memory":
        limit = f"{limits.memory_bytes / 1e9:g} GB"
        raise NotDone("out-of-memory", f"needed more than {limit}; raise limits.memory in the study")
    if outcome.ended == "disk":
        limit = f"{limits.disk_bytes / 1e9:g} GB"
        raise EngineFailure(f"the simulator wrote more than {limit} to its folder; raise limits.disk in the study")
    if outcome.ended == "missing":
        reason = (folder / "stderr").read_text(errors="replace").strip()
        remedy = "install it, or correct the first word of the command"
        if shutil.which(command[0], path=f"{folder}{os.pathsep}{os.environ.get('PATH', '')}", mode=os.F_OK):
            remedy = "make it executable, or begin the command with its interpreter"
        raise EngineFailure(f"the simulator could not be started: {reason}; {remedy}")
    if outcome.exit_code < 0:
        raise EngineFailure(f"the simulator was killed by {signal.Signals(-outcome.exit_code).name}")
    return outcome.exit_code
