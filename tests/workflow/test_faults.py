"""Real faults: killed processes, simulators that misbehave, a full disk."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from fabricstudy.core.store import checksummed_line, read_checksummed

from .conftest import BIN, ROOT, TINY, Workplace, processes_of, wait_until

pytestmark = pytest.mark.slow

# What the simulator does instead of its work, by the seed of the point; the status and reason of the row.
FAULTS = {
    2: ("kill -SEGV $$", "failed", "SIGSEGV"),
    3: ("kill -9 $$", "failed", "SIGKILL"),
    4: ("echo 'thread main panicked' >&2; exit 101", "failed", "thread main panicked"),
    5: ("sleep 100", "timeout", "5 s"),
    6: ("exec python3 -c 'x = bytearray(700_000_000); import time; time.sleep(100)'", "out-of-memory", "0.5 GB"),
    7: ("head -c 1000 /dev/urandom > result.json; exit 0", "failed", "result.json is not a result"),
    8: ("exit 0", "failed", "result.json is not a result"),
    9: ("exit 3", "failed", "3"),
}
ILL = (
    'case "$input" in '
    + " ".join(f'*"random_seed: {seed},"*) {do} ;;' for seed, (do, _, _) in FAULTS.items())
    + " esac"
)


def points(workplace: Workplace) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(workplace.table("points"))))


def all_done(workplace: Workplace, rows: int) -> bool:
    return [row["status"] for row in points(workplace)] == ["done"] * rows


def test_failed_points_fail_the_run_unless_the_study_allows_them(workplace: Workplace) -> None:
    workplace.stand_in(ILL)  # seed 2
    status = [str(BIN / "fabricstudy"), "status", "tiny.yaml", "--json"]
    for allowed in (False, True):
        workplace.write_study(f"allow_failed_points: {str(allowed).lower()}\n{TINY}")
        workplace.run("--until", "table", code=0 if allowed else 1)
        assert {row["seed"] for row in points(workplace) if row["status"] == "failed"} == {"2"}
        done = subprocess.run(status, cwd=workplace.folder, env=workplace.environment, capture_output=True, text=True)
        assert json.loads(done.stdout)["failed"] == 4, done.stdout
    run = [str(BIN / "fabricstudy"), "run", "tiny.yaml", "--cores", "1"]
    workplace.write_study()
    assert subprocess.run(run, cwd=workplace.folder, env=workplace.environment, capture_output=True).returncode == 1


def test_a_simulator_that_misbehaves_costs_its_own_points(workplace: Workplace) -> None:
    study = TINY.replace("seeds: 2", "seeds: 10\nallow_failed_points: true").replace("time: 20 s", "time: 5 s")
    # Without its claim, which compares both ratios.
    one_ratio = study.replace("values: {1: 1 GB/s, 2: 2 GB/s}", "values: {1: 1 GB/s}").partition("claims:")[0]
    workplace.write_study(one_ratio)
    workplace.stand_in(ILL)
    workplace.run("--until", "table")
    assert len(points(workplace)) == 20
    for row in points(workplace):
        _, status, reason = FAULTS.get(int(row["seed"]), ("", "done", ""))
        assert row["status"] == status and reason in row["reason"], row
    # The fault mended, only the failed points are simulated again.
    before = workplace.started
    workplace.stand_in()
    workplace.run("--until", "table", "--forcerun", "simulate")
    assert all_done(workplace, 20)
    assert workplace.started == before + 2 * len(FAULTS)


def records(workplace: Workplace) -> dict[str, float]:
    return {path.parent.name: path.stat().st_mtime for path in workplace.point_records()}


def test_nothing_finished_is_lost_when_snakemake_and_a_simulator_are_killed(after_run: Workplace) -> None:
    workplace = after_run
    shutil.rmtree(workplace.folder / "results/points")
    # Long enough for us to find a batch in the midst of a point, also on a machine that is busy.
    workplace.stand_in("sleep 2")
    shutil.rmtree(workplace.folder / "results/tiny/simulate")
    snakemake = workplace.start("--cores", "1", "--until", "table")
    wait_until(lambda: len(workplace.point_records()) >= 3)
    snakemake.send_signal(signal.SIGKILL)
    snakemake.wait()
    # The batch goes on by itself: kill it, and so its simulator, in mid-point.
    batches = processes_of("simulate", workplace.folder)
    assert batches
    for pid in batches:
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.3)
    kept = records(workplace)
    assert 3 <= len(kept) < 8
    for path in workplace.point_records():
        assert json.loads(path.read_text())["status"] == "done"
    started = workplace.started
    workplace.stand_in()
    # Nobody took the lock away; the profile for shared folders does not ask for it.
    assert "--unlock" in workplace.run("--until", "table", code=1)
    workplace.run("--until", "table", "--profile", str(ROOT / "profiles/shared"))
    assert {point: records(workplace)[point] for point in kept} == kept
    assert workplace.started == started + 8 - len(kept)
    assert all_done(workplace, 8)
    assert not list((workplace.folder / "results/points").glob("*/.p*"))


def test_a_batch_that_is_asked_to_end_while_it_forks_ends(after_run: Workplace) -> None:
    workplace = after_run
    shutil.rmtree(workplace.folder / "results/points")
    workplace.stand_in("sleep 20")
    # Whatever is raised in this hook, Python drops.
    code = """
import os, signal
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGTERM))
from fabricstudy.workflow.stages import _end_when_asked, main
_end_when_asked()
main()
"""
    made = "results/tiny"
    options = {"study": "tiny.yaml", "plan": made, "machines": f"{made}/machine/all", "name": "caminos-all",
               "structures": f"{made}/structure/all.jsonl", "workloads": f"{made}/workload/all.parquet",
               "results": "results", "links": "links.parquet", "out": "batch.jsonl"}  # fmt: skip
    command = [sys.executable, "-c", code, "simulate", *(f"--{name}={value}" for name, value in options.items())]
    assert subprocess.run(command, cwd=workplace.folder, env=workplace.environment, timeout=60).returncode == 143
    assert not (workplace.folder / "batch.jsonl").exists()
    assert not list((workplace.folder / "results/points").glob("*/*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system can be mounted by root only")
def test_a_full_disk_is_said_and_loses_nothing(workplace: Workplace) -> None:
    results = workplace.folder / "results"
    results.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80k", "tmpfs", str(results)]).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        said = workplace.run("--until", "table", code=1)
        assert "No space left on device" in said
        subprocess.run(["mount", "-o", "remount,size=100m", str(results)], check=True)
        workplace.run("--until", "table")
        assert all_done(workplace, 8)
    finally:
        subprocess.run(["umount", "-l", str(results)], check=True)


def test_results_of_other_code_that_lost_their_history_are_not_believed(after_run: Workplace) -> None:
    workplace = after_run
    shutil.rmtree(workplace.folder / ".snakemake")
    shutil.rmtree(workplace.folder / "results/tiny/tables")
    for shard in (workplace.folder / "results/tiny/simulate").glob("*.jsonl"):
        records = [record for _, record in read_checksummed(shard) if record is not None]
        older = [checksummed_line(record | {"fingerprint": f"0{record['fingerprint']}"}) for record in records]
        shard.write_text("\n".join(older) + "\n")
    assert "--forcerun simulate" in workplace.run("--until", "table", code=1)
    workplace.run("--until", "table", "--forcerun", "simulate")
    # The store has them as they are.
    assert workplace.started == 8 and workplace.table("points")
