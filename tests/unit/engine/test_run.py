"""Running a process under limits, with real processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import fabricstudy.engine.process as running
from fabricstudy.engine.process import run_process

GB = 10**9


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_exit_code_and_usage_are_kept(tmp_path: Path) -> None:
    burn = "import sys,time\nwhile time.process_time() < .3: pass\nprint('said'); sys.stderr.write('why'); sys.exit(7)"
    outcome = run_process(python(burn), tmp_path, 60, GB)
    assert (outcome.ended, outcome.exit_code) == ("exit", 7)
    assert (tmp_path / "stdout").read_text() == "said\n"
    assert (tmp_path / "stderr").read_text() == "why"
    assert 0.3 <= outcome.cpu_s < 5
    assert outcome.memory_bytes is not None and 5e6 < outcome.memory_bytes < GB


def test_memory_of_a_short_run_is_seen(tmp_path: Path) -> None:
    outcome = run_process(["sleep", "0.05"], tmp_path, 60, GB)
    assert outcome.wall_s < 5 and outcome.memory_bytes is not None and 1e5 < outcome.memory_bytes < 2e7


def test_memory_that_nobody_saw_is_missing_and_not_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "FIRST_POLL_S", 60.0)
    # The kernel's own figure is ours here, from before the program started.
    assert run_process(["true"], tmp_path, 60, GB).memory_bytes is None


def test_memory_beyond_our_own_is_known_from_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "FIRST_POLL_S", 60.0)
    size = running._our_peak_bytes() + 200_000_000
    outcome = run_process(python(f"bytearray({size})[::4096].count(0)"), tmp_path, 60, 100 * GB)
    assert outcome.ended == "exit"
    assert outcome.memory_bytes is not None and size < outcome.memory_bytes < size + 100_000_000


def test_a_limit_holds_for_what_is_known_after_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "FIRST_POLL_S", 60.0)
    size = running._our_peak_bytes() + 200_000_000
    outcome = run_process(python(f"bytearray({size})[::4096].count(0)"), tmp_path, 60, size // 2)
    assert outcome.ended == "out-of-memory" and outcome.exit_code == 0


class TestWithoutTheCallsOfLinux:
    """EL8's kernel has no pidfd_open; macOS has no prctl either."""

    @pytest.fixture(autouse=True)
    def older(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        def missing(pid: int) -> int:
            raise OSError(38, "Function not implemented")

        if request.param == "EL8":
            monkeypatch.setattr(os, "pidfd_open", missing)
        else:
            monkeypatch.delattr(os, "pidfd_open")
            monkeypatch.setattr(running, "_prctl", None)

    pytestmark = pytest.mark.parametrize("older", ["EL8", "macOS"], indirect=True)

    def test_a_run_ends(self, tmp_path: Path) -> None:
        outcome = run_process(["sh", "-c", "sleep 0.1; exit 3"], tmp_path, 60, GB)
        assert (outcome.ended, outcome.exit_code) == ("exit", 3)
        assert 0.1 <= outcome.wall_s < 10

    def test_usage_is_known(self, tmp_path: Path) -> None:
        outcome = run_process(python("import time\nwhile time.process_time() < .3: pass"), tmp_path, 60, GB)
        assert 0.3 <= outcome.cpu_s < 5

    def test_limits_hold(self, tmp_path: Path) -> None:
        start = time.monotonic()
        outcome = run_process(["sh", "-c", "sleep 60 & echo $! > child; wait"], tmp_path, 0.5, GB)
        assert outcome.ended == "timeout" and time.monotonic() - start < 10
        assert gone(int((tmp_path / "child").read_text()))
        big = run_process(python("x = bytearray(400_000_000); import time; time.sleep(60)"), tmp_path, 60, 200_000_000)
        assert big.ended == "out-of-memory"

    def test_a_signal_is_a_negative_exit_code(self, tmp_path: Path) -> None:
        assert run_process(["sh", "-c", "kill -SEGV $$"], tmp_path, 60, GB).exit_code == -signal.SIGSEGV


@pytest.fixture
def without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take /proc away, as on macOS."""
    whole = Path.read_text

    def read_text(self: Path, *rest: Any, **more: Any) -> str:
        if self.is_relative_to("/proc"):
            raise FileNotFoundError(2, "No such file or directory", str(self))
        return whole(self, *rest, **more)

    monkeypatch.setattr(Path, "read_text", read_text)


@pytest.mark.usefixtures("without_proc")
def test_without_proc_memory_is_what_the_kernel_tells_at_the_end(tmp_path: Path) -> None:
    assert run_process(["sleep", "0.05"], tmp_path, 60, GB).memory_bytes is None
    size = running._our_peak_bytes() + 200_000_000
    outcome = run_process(python(f"bytearray({size})[::4096].count(0)"), tmp_path, 60, size // 2)
    assert outcome.ended == "out-of-memory" and outcome.memory_bytes is not None and outcome.memory_bytes > size


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives us the children of a process that is killed")
@pytest.mark.parametrize(("last", "ended"), [("time.sleep(60)", "timeout"), ("os._exit(3)", "exit")])
def test_what_has_a_session_of_its_own_is_killed_and_its_time_counts(tmp_path: Path, last: str, ended: str) -> None:
    """As mpirun's processes have; it ends here with nobody but us to wait for them."""
    child = "os.setsid(); open('child', 'w').write(str(os.getpid()))\n while True: pass"
    code = f"import os, time\nif not os.fork():\n {child}\ntime.sleep(1); {last}"
    outcome = run_process(python(code), tmp_path, 2.5, GB)
    assert outcome.ended == ended and outcome.cpu_s > 0.1
    assert gone(int((tmp_path / "child").read_text()))


def test_a_hanging_run_and_its_children_are_killed(tmp_path: Path) -> None:
    start = time.monotonic()
    outcome = run_process(["sh", "-c", "sleep 60 & echo $! > child; wait"], tmp_path, 0.5, GB)
    assert outcome.ended == "timeout"
    assert time.monotonic() - start < 10
    assert gone(int((tmp_path / "child").read_text()))


def test_memory_over_the_limit_ends_the_run(tmp_path: Path) -> None:
    outcome = run_process(python("x = bytearray(400_000_000); import time; time.sleep(60)"), tmp_path, 60, 200_000_000)
    assert outcome.ended == "out-of-memory"
    assert outcome.wall_s < 30


def test_a_signal_is_a_negative_exit_code(tmp_path: Path) -> None:
    outcome = run_process(["sh", "-c", "kill -SEGV $$"], tmp_path, 60, GB)
    assert (outcome.ended, outcome.exit_code) == ("exit", -signal.SIGSEGV)


def test_a_program_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    outcome = run_process(["/nowhere/simulator"], tmp_path, 60, GB)
    assert outcome.ended == "missing"
    assert b"/nowhere/simulator" in (tmp_path / "stderr").read_bytes()


def test_the_simulator_dies_with_its_batch(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from fabricstudy.engine.process import run_process;"
        f"run_process(['sh', '-c', 'echo $$ > pid; exec sleep 60'], Path({str(tmp_path)!r}), 60, 10**9)"
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
            run_process(["sh", "-c", "kill -TERM $$"], tmp_path, time_s=30, memory_bytes=10**9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
