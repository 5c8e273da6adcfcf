"""Real faults: killed processes, simulators that misbehave, a full disk."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import TINY, Workplace

pytestmark = pytest.mark.slow

# Seed 2 of four: one of each pair of points meets the fault.
ILL = 'case "$input" in *"random_seed: 2,"*) {fault} ;; esac'


def statuses(workplace: Workplace) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for row in csv.DictReader(io.StringIO(workplace.table("points"))):
        counts[row["seed"], row["status"]] = counts.get((row["seed"], row["status"]), 0) + 1
    return counts


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        ("kill -SEGV $$", "failed", "SIGSEGV"),
        ("exit 101", "failed", "101"),
        ("sleep 100", "timeout", "1 s"),
        ("exec python3 -c 'x = bytearray(700_000_000); import time; time.sleep(100)'", "memory", "0.5 GB"),
        ("for f in result.json; do head -c 1000 /dev/urandom > $f; done; exit 0", "failed", "result"),
        ("exit 0", "failed", "result"),
        ("exit 3", "failed", "3"),
    ],
    ids=["crash", "panic", "hang", "memory", "garbage", "exit-0-without-result", "unfinished"],
)
def test_a_simulator_that_misbehaves_costs_its_own_point(
    workplace: Workplace, fault: str, status: str, reason: str
) -> None:
    workplace.stand_in(ILL.format(fault=fault))
    if status == "timeout":
        workplace.write_study(TINY.replace("time: 20 s", "time: 1 s"))
    workplace.run()
    assert statuses(workplace) == {("1", "done"): 4, ("2", status): 4}
    reasons = {row["reason"] for row in csv.DictReader(io.StringIO(workplace.table("points"))) if row["seed"] == "2"}
    assert len(reasons) == 1 and reason in reasons.pop()
    page = (workplace.folder / "reports/tiny/index.html").read_text()
    assert status in page
    # The fault mended, only the failed points are simulated again.
    before = workplace.started
    workplace.stand_in()
    workplace.run("--forcerun", "simulate")
    assert statuses(workplace) == {("1", "done"): 4, ("2", "done"): 4}
    assert workplace.started == before + 4


def wait_until(condition: object, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def records(workplace: Workplace) -> dict[str, float]:
    return {path.parent.name: path.stat().st_mtime for path in workplace.point_records()}


def test_nothing_finished_is_lost_when_snakemake_and_a_simulator_are_killed(workplace: Workplace) -> None:
    workplace.stand_in("sleep 0.5; echo $$ > pid")
    snakemake = workplace.start("--cores", "1")
    wait_until(lambda: len(workplace.point_records()) >= 3)
    snakemake.send_signal(signal.SIGKILL)
    snakemake.wait()
    # The batch goes on by itself: kill it, and so its simulator, in mid-point.
    batches = batches_in(workplace.folder)
    assert batches
    for pid in batches:
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.3)
    kept = records(workplace)
    assert 3 <= len(kept) < 8
    for path in workplace.point_records():
        assert json.loads(path.read_text())["status"] == "done"
    started = workplace.started
    workplace.run()
    assert {point: records(workplace)[point] for point in kept} == kept
    assert workplace.started == started + 8 - len(kept)
    assert statuses(workplace) == {("1", "done"): 4, ("2", "done"): 4}
    assert not list((workplace.folder / "results/points").glob("*/.p*"))


def batches_in(folder: Path) -> list[int]:
    """Our processes that simulate in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command, place = (process / "cmdline").read_bytes(), (process / "cwd").resolve()
        except OSError:
            continue
        if b"fabricstudy.jobs" in command and place == folder.resolve():
            found.append(int(process.name))
    return found


def test_a_killed_simulator_is_a_row_and_the_others_go_on(workplace: Workplace) -> None:
    workplace.stand_in(ILL.format(fault="kill -9 $$"))
    workplace.run()
    assert statuses(workplace) == {("1", "done"): 4, ("2", "failed"): 4}


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system can be mounted by root only")
def test_a_full_disk_is_said_and_loses_nothing(workplace: Workplace) -> None:
    results = workplace.folder / "results"
    results.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(results)]).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        said = workplace.run(code=1)
        assert "No space left on device" in said
        subprocess.run(["mount", "-o", "remount,size=100m", str(results)], check=True)
        workplace.run()
        assert statuses(workplace) == {("1", "done"): 4, ("2", "done"): 4}
    finally:
        subprocess.run(["umount", "-l", str(results)], check=True)
