"""Running a process under limits, with real processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fabricstudy.engine.run import run

GB = 10**9


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_exit_code_and_usage_are_kept(tmp_path: Path) -> None:
    burn = "import sys,time\nwhile time.process_time() < .3: pass\nprint('said'); sys.stderr.write('why'); sys.exit(7)"
    outcome = run(python(burn), tmp_path, 60, GB)
    assert (outcome.ended, outcome.exit_code) == ("exit", 7)
    assert (tmp_path / "stdout").read_text() == "said\n"
    assert (tmp_path / "stderr").read_text() == "why"
    assert 0.3 <= outcome.cpu_s < 5
    assert 5e6 < outcome.memory_bytes < GB


def test_a_hanging_run_and_its_children_are_killed(tmp_path: Path) -> None:
    start = time.monotonic()
    outcome = run(["sh", "-c", "sleep 60 & echo $! > child; wait"], tmp_path, 0.5, GB)
    assert outcome.ended == "timeout"
    assert time.monotonic() - start < 10
    assert gone(int((tmp_path / "child").read_text()))


def test_memory_over_the_limit_ends_the_run(tmp_path: Path) -> None:
    outcome = run(python("x = bytearray(400_000_000); import time; time.sleep(60)"), tmp_path, 60, 200_000_000)
    assert outcome.ended == "memory"
    assert outcome.wall_s < 30


def test_a_signal_is_a_negative_exit_code(tmp_path: Path) -> None:
    outcome = run(["sh", "-c", "kill -SEGV $$"], tmp_path, 60, GB)
    assert (outcome.ended, outcome.exit_code) == ("exit", -signal.SIGSEGV)


def test_a_program_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    outcome = run(["/nowhere/simulator"], tmp_path, 60, GB)
    assert outcome.ended == "missing"
    assert b"/nowhere/simulator" in (tmp_path / "stderr").read_bytes()


def test_the_simulator_dies_with_its_batch(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from fabricstudy.engine.run import run;"
        f"run(['sh', '-c', 'echo $$ > pid; exec sleep 60'], Path({str(tmp_path)!r}), 60, 10**9)"
    )
    batch = subprocess.Popen(python(code))
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.02)
    batch.kill()
    batch.wait()
    assert gone(int((tmp_path / "pid").read_text()))


def gone(pid: int) -> bool:
    """Whether a killed process ends; one that is not our child may take a moment, and nobody can wait for it."""
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:  # it ended between the two questions
        return False
    return state != "Z"


def test_a_simulator_that_is_asked_to_end_waits_for_our_own_end(tmp_path: Path) -> None:
    def stop(number: int, frame: object) -> None:
        raise SystemExit

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.8)
    try:
        with pytest.raises(SystemExit):
            run(["sh", "-c", "kill -TERM $$"], tmp_path, time_s=30, memory_bytes=10**9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
