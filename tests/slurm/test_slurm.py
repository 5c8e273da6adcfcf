"""Studies on a real Slurm: what is killed, drained or restarted costs no finished simulation."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fabricstudy.workflow.pipeline import load_pipelines

from ..workflow.conftest import ROOT, TINY, Workplace, caminos, rules_run  # noqa: F401 (a fixture)
from .cluster import Cluster, missing, running

pytestmark = pytest.mark.slow

# This cluster has no accounting, and can be asked more often.
PROFILE = (
    *("--profile", str(ROOT / "profiles/slurm"), "--slurm-status-command", "squeue"),
    *("--slurm-init-seconds-before-status-checks", "1", "--max-status-checks-per-second", "1"),
)
POINTS = 12
STUDY = TINY.replace("seeds: 2", "seeds: 3")
# Each simulation says which it is.
COUNT = 'echo "${PWD##*/}" >> "$COUNTED/each"'
SLOW = f"{COUNT}; sleep 4"
"""Long enough to be killed in the middle."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with running() as found, pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - set(found.environment):
            patch.delenv(name)
        patch.setenv("PATH", found.environment["PATH"])
        yield found


class ClusterWorkplace(Workplace):
    """A folder from which studies are submitted."""

    @property
    def environment(self) -> dict[str, str]:
        """Environment of the commands."""
        return super().environment | {"COUNTED": str(self.folder), "STATUS_EVERY_S": "1"}

    def arguments(self, *more: str, study: str = "tiny.yaml") -> list[str]:
        """Arguments with the profile, in batches of a few points, and asking Slurm more often."""
        local = super().arguments(study=study)
        at = local.index("--cores")
        return [
            *local[:at],
            *PROFILE,
            *more,
            *local[at + 2 :],
            f"batch_cpu_s={self.batch_cpu_s()}",
        ]

    def batch_cpu_s(self) -> float:
        """Two thirds of what the study is predicted to take: three batches of two to six points."""
        (pipeline,) = load_pipelines(str(self.folder / "tiny.yaml"), ROOT / "configs").values()
        return sum(batch.cpu_s for batch in pipeline.batches.values()) / 1.5

    def starts(self) -> Counter[str]:
        """How often each point was started."""
        each = self.folder / "each"
        return Counter(name[1:14] for name in each.read_text().splitlines()) if each.exists() else Counter()

    def stored(self) -> dict[str, int]:
        """Finished points, and when each was written."""
        return {path.parent.name: path.stat().st_mtime_ns for path in self.point_records()}

    def status(self) -> dict[str, Any]:
        """What `fabricstudy status` says."""
        command = ["fabricstudy", "status", "tiny.yaml", "--json"]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True, check=True
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def leavings(self) -> list[Path]:
        """What is in the store beside finished points."""
        return [path for path in (self.folder / "results/points").glob("*/*") if not path.name.startswith("p")]


@pytest.fixture
def fresh(tmp_path: Path, cluster: Cluster, caminos: str) -> Iterator[ClusterWorkplace]:  # noqa: F811
    """A folder with a study; whatever comes of it, the next test finds an idle cluster."""
    place = ClusterWorkplace(tmp_path, caminos)
    place.write_study(STUDY)
    place.stand_in(COUNT)
    yield place
    cluster.clear()


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory, cluster: Cluster, caminos: str) -> Path:  # noqa: F811
    """What the stages before the simulation leave, made once."""
    place = Workplace(tmp_path_factory.mktemp("analysed"), caminos)
    place.write_study(STUDY)
    place.run("--until", "workload")
    return place.folder


@pytest.fixture
def workplace(fresh: ClusterWorkplace, analysed: Path) -> ClusterWorkplace:
    """A folder in which only the simulations are left to be done."""
    shutil.copytree(analysed, fresh.folder, dirs_exist_ok=True)
    return fresh


def wait_until(condition: Callable[[], object], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.2)


def simulating(cluster: Cluster) -> list[str]:
    """Running jobs that simulate."""
    listed = cluster.ask("squeue", "--noheader", "--states=RUNNING", "--format=%i %k").splitlines()
    return [line.split()[0] for line in listed if "rule_simulate" in line]


def simulators(folder: Path) -> list[int]:
    """Processes that work in the store below a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            place = (process / "cwd").readlink()
        except OSError:
            continue
        if place.is_relative_to(folder / "results/points"):
            found.append(int(process.name))
    return found


def check_nothing_lost(workplace: ClusterWorkplace, kept: dict[str, int], interrupted: int) -> None:
    """Check that all is done, that what was kept is the same file, and how many starts were in vain."""
    assert [row.split(",")[0] for row in workplace.table("claims").splitlines()[1:]] == ["c1"]
    stored = workplace.stored()
    assert len(stored) == POINTS
    assert all(json.loads(path.read_text())["status"] == "done" for path in workplace.point_records())
    assert {point: stored[point] for point in kept} == kept
    starts = workplace.starts()
    assert all(starts[point] == 1 for point in kept)
    assert POINTS <= starts.total() <= POINTS + interrupted
    assert not workplace.leavings()


def submitted(cluster: Cluster, study: str) -> dict[str, list[str]]:
    """Memory, time limit and partition that each job of a study was submitted with, by its rule and wildcards."""
    listed = cluster.ask("squeue", "--noheader", "--states=all", "--format=%k %m %l %P").splitlines()
    return {comment: asked for comment, *asked in map(str.split, listed) if f"_wildcards_{study}_" in comment}


def run_watched(place: ClusterWorkplace) -> dict[str, Any]:
    """Run the study on the other partition, and give what `fabricstudy status --watch` said at its end."""
    run = place.start("--default-resources", "slurm_partition=other")
    command = ["fabricstudy", "status", "tiny.yaml", "--watch", "--json"]
    watch = subprocess.Popen(command, cwd=place.folder, env=place.environment, text=True, stdout=subprocess.PIPE)
    try:
        assert run.wait(1800) == 0
        said, _ = watch.communicate(timeout=60)
    finally:
        for process in (run, watch):
            process.kill()
            process.wait()
    found: dict[str, Any] = json.loads(said)
    return found


def test_a_study_runs_as_predicted_and_can_be_watched(tmp_path: Path, cluster: Cluster, caminos: str) -> None:  # noqa: F811
    place = ClusterWorkplace(tmp_path, caminos)
    file = place.write_study(STUDY)
    found = run_watched(place)
    assert (found["points"], found["done"], found["left"]) == (POINTS, POINTS, 0)
    assert (tmp_path / "reports/tiny/index.html").exists()

    asked = submitted(cluster, "tiny")
    batches = load_pipelines(str(file), ROOT / "configs", place.batch_cpu_s())["tiny"].batches
    assert len(batches) > 1
    for name, batch in batches.items():
        memory, limit, _ = asked[f"rule_simulate_wildcards_tiny_{name}"]
        *hours, minutes, seconds = map(int, limit.split(":"))
        assert memory == f"{batch.memory_MB(attempt=1)}M"
        assert (60 * sum(hours) + minutes, seconds) == (batch.time_min(attempt=1), 0)
    assert {partition for *_, partition in asked.values()} == {"other"}
    assert {comment.split("_wildcards_")[0] for comment in asked} == {
        "rule_machine",
        "rule_structure",
        "rule_workload",
        "rule_simulate",
    }


def test_a_whole_node_runs_a_study_in_one_submission(tmp_path: Path, cluster: Cluster, caminos: str) -> None:  # noqa: F811
    """The command is that of the page on clusters."""
    place = ClusterWorkplace(tmp_path, caminos)
    place.write_study(STUDY)
    (command,) = re.findall(r"^sbatch .*$", (ROOT / "docs/cluster.md").read_text(), re.M)
    done = subprocess.run(
        ["bash", "-c", command.replace("my-study.yaml", "tiny.yaml")],
        cwd=tmp_path, env=place.environment, text=True, capture_output=True, check=True,
    )  # fmt: skip
    job = done.stdout.split()[-1]
    # `sbatch --wait` looks after 2, 10 and 42 s.
    wait_until(lambda: job not in cluster.ask("squeue", "--noheader", "--format=%i").split())
    said = "".join(path.read_text() for path in tmp_path.glob("slurm-*.out"))
    assert " ExitCode=0:0 " in cluster.ask("scontrol", "--oneliner", "show", "job", job), said
    assert f"{POINTS} of {POINTS} points done" in said and (tmp_path / "reports/tiny/index.html").is_file()


def test_batches_are_submitted_in_groups(workplace: ClusterWorkplace, cluster: Cluster) -> None:
    batches = load_pipelines(str(workplace.folder / "tiny.yaml"), ROOT / "configs", workplace.batch_cpu_s())["tiny"]
    before = len(cluster.ask("squeue", "--noheader", "--states=all").splitlines())
    workplace.run("--until", "simulate", "--groups", "simulate=node", "--group-components", "node=2")
    groups = -(-len(batches.batches) // 2)
    assert len(cluster.ask("squeue", "--noheader", "--states=all").splitlines()) == before + groups
    assert len(workplace.stored()) == POINTS


def test_a_cancelled_job_a_drained_node_and_a_new_controller_lose_nothing(
    workplace: ClusterWorkplace, cluster: Cluster
) -> None:
    workplace.stand_in(SLOW)
    snakemake = workplace.start("--until", "table")
    try:
        wait_until(lambda: len(workplace.stored()) >= 2 and simulating(cluster))
        (cancelled, *_) = simulating(cluster)
        cluster.ask("scancel", cancelled)
        wait_until(lambda: cancelled not in cluster.jobs() + cluster.jobs("COMPLETING"))
        after_cancel = workplace.stored()
        assert 2 <= len(after_cancel) < POINTS

        cluster.drain()
        wait_until(lambda: not cluster.jobs() and not cluster.jobs("COMPLETING"))
        # Nothing survives its job, and nothing half-written is left.
        assert not simulators(workplace.folder)
        assert not workplace.leavings()
        drained = workplace.stored()
        assert after_cancel.items() <= drained.items() and len(drained) < POINTS
        assert cluster.jobs("PENDING")

        # After ten seconds the plugin turns to sacct, which nothing answers here (docs/cluster.md).
        cluster.stop_controller()
        time.sleep(3)
        assert snakemake.poll() is None
        cluster.start_controller()
        cluster.resume()
        # The cancelled batch is tried again by itself.
        assert snakemake.wait(600) == 0
    finally:
        snakemake.kill()
        snakemake.wait()
    check_nothing_lost(workplace, drained, interrupted=1)


def test_a_job_that_fills_its_memory_is_tried_again_with_more(workplace: ClusterWorkplace, cluster: Cluster) -> None:
    # Once, a simulation takes less than its own limit and more than what is left of the memory of its job.
    workplace.stand_in(
        f'{COUNT}; if [ "$(wc -l < "$COUNTED/each")" -ge 3 ] && mkdir "$COUNTED/full"; then'
        " exec python3 -c 'x = bytearray(450_000_000); import time; time.sleep(60)'; fi"
    )
    said = workplace.run("--until", "table", "--set-resources", "simulate:mem_mb=attempt*attempt*700")
    assert "Trying to restart job" in said
    (log,) = (workplace.folder / ".snakemake/slurm_logs/rule_simulate").glob("*/*.log")
    assert "exceeded memory limit" in log.read_text()
    check_nothing_lost(workplace, {}, interrupted=1)
    assert max(workplace.starts().values()) == 2


def test_an_interrupted_snakemake_cancels_its_jobs_and_a_killed_one_leaves_them_to_the_next(
    workplace: ClusterWorkplace, cluster: Cluster
) -> None:
    workplace.stand_in(SLOW)
    interrupted = workplace.start("--until", "table")
    wait_until(lambda: len(workplace.stored()) >= 2 and simulating(cluster))
    interrupted.send_signal(signal.SIGINT)
    interrupted.wait()
    wait_until(lambda: not cluster.ask("squeue", "--noheader"))
    assert not simulators(workplace.folder) and not workplace.leavings()
    kept = workplace.stored()
    assert 2 <= len(kept) < POINTS
    assert workplace.status()["done"] == len(kept)

    killed = workplace.start("--until", "table")
    wait_until(lambda: len(workplace.stored()) > len(kept) and simulating(cluster))
    killed.kill()
    killed.wait()
    workplace.run("--unlock")
    # The same batches are submitted again while those of the dead one run: a point is simulated by one of them.
    workplace.run("--until", "table")
    check_nothing_lost(workplace, kept, interrupted=2)
    assert not rules_run(workplace.run("--until", "table"))
