"""One run of a simulator within the limits of its study."""

import os
import shutil
import signal
from pathlib import Path

from fabricstudy.core.store import Record

from .failures import EngineFailure
from .process import run_process
from .settings import Limits


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
