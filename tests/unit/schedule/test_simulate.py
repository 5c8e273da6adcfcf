"""Schedules by hand, and what holds of every schedule."""

from __future__ import annotations

import ast
import math
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.core.source import PACKAGE
from fabricstudy.machine.base import Topology
from fabricstudy.schedule import (
    Backfill,
    Jobs,
    Order,
    PartitionList,
    Partitions,
    ScheduleResult,
    kernel,
    simulate_schedule,
)
from fabricstudy.schedule.kernel.compiled import SOURCES, cache_folder, compiled_score
from fabricstudy.schedule.metrics import bounded_slowdown, class_rows, is_saturated, list_rows, schedule_row

LINE: Any = {"kind": "bluegene-p", "midplanes": [1, 1, 4]}
SINGLES: Any = [{"shape": [1, 1, 1]}]
ORDERS = ["fcfs", "wfp", "shortest-first", "largest-first"]
BACKFILLS = ["none", "easy", "conservative", "drain"]


@cache
def named(listed: str, machine: str) -> Partitions:
    found = PartitionList.model_validate(listed).partitions(Topology.model_validate(machine))
    assert isinstance(found, Partitions)
    return found


def of_line(shapes: Any = SINGLES) -> Partitions:
    found = PartitionList.model_validate(shapes).partitions(Topology.model_validate(LINE))
    assert isinstance(found, Partitions)
    return found


def run(of: Partitions, jobs: Jobs, order: str = "fcfs", backfill: str = "easy", **more: Any) -> ScheduleResult:
    return simulate_schedule(of, jobs, Order.model_validate(order), Backfill.model_validate(backfill), **more)


@pytest.mark.parametrize(
    ("listed", "nodes", "most"),
    [
        ("intrepid-torus", 512, 80), ("intrepid-torus", 1024, 20), ("intrepid-torus", 2048, 20),
        ("intrepid-torus", 4096, 5), ("intrepid-torus", 8192, 5), ("intrepid-mesh", 1024, 40),
        ("intrepid-mesh", 4096, 10), ("intrepid-mesh", 2048, 20),
    ],
)  # fmt: skip
@pytest.mark.parametrize("backfill", BACKFILLS)
def test_a_queue_of_one_class_ends_when_it_must(listed: str, nodes: int, most: int, backfill: str) -> None:
    jobs = Jobs.of(np.zeros(170), np.full(170, 100.0), np.full(170, 100.0), np.full(170, nodes))
    of = named(listed, "intrepid")
    factors = np.full((170, len(of.variants)), 1.5)
    assert run(of, jobs, backfill=backfill, factors=factors).end_s.max() == math.ceil(170 / most) * 150.0


def test_meshes_of_1k_gain_until_they_double_the_time() -> None:
    jobs = Jobs.of(np.zeros(40), np.full(40, 100.0), np.full(40, 100.0), np.full(40, 1024))
    torus, mesh = named("intrepid-torus", "intrepid"), named("intrepid-mesh", "intrepid")
    slowed = {
        loss: run(mesh, jobs, factors=np.full((40, len(mesh.variants)), 1 + loss)).end_s.max() for loss in (0.9, 1.0)
    }
    assert slowed[0.9] < run(torus, jobs).end_s.max() == slowed[1.0] == 200.0


@pytest.mark.parametrize(("time", "starts"), [(40.0, [0.0, 100.0, 2.0]), (99.0, [0.0, 100.0, 200.0])])
def test_a_job_may_go_before_the_head_if_it_does_not_delay_it(time: float, starts: list[float]) -> None:
    """The whole line waits for three midplanes until 100 s; the fourth is free until then."""
    shapes = [{"shape": [1, 1, 1]}, {"shape": [1, 1, 4]}]
    jobs = Jobs.of([0, 1, 2], [100, 100, time], [100, 100, time], [512, 2048, 512])
    assert run(of_line(shapes), jobs).start_s.tolist() == starts
    assert run(of_line(shapes), jobs, backfill="none").start_s.tolist() == [0.0, 100.0, 200.0]


def test_a_job_that_ends_just_in_time_may_go() -> None:
    shapes = [{"shape": [1, 1, 1]}, {"shape": [1, 1, 4]}]
    jobs = Jobs.of([0, 1, 2], [100, 100, 98], [100, 100, 98], [512, 2048, 512])
    found = run(of_line(shapes), jobs)
    assert found.start_s.tolist() == [0.0, 100.0, 2.0] and found.backfilled.tolist() == [False, False, True]


@pytest.mark.parametrize("end", [299.0, 301.0])
def test_wfp_swaps_two_jobs_when_it_must(end: float) -> None:
    """(t - 0) / 100 against (t - 150) / 50 in the third power, with equal nodes: the second leads from t = 300 on."""
    of = PartitionList.model_validate([{"shape": [1, 1, 4]}]).partitions(Topology.model_validate(LINE))
    assert isinstance(of, Partitions)
    jobs = Jobs.of([-1, 0, 150], [end + 1, 100, 50], [end + 1, 100, 50], [2048, 2048, 2048])
    first, second = run(of, jobs, "wfp", "none").start_s[1:]
    assert (second < first) == (end > 300)


def test_causes_of_idleness_by_hand() -> None:
    """A torus of two holds all cables of the line: a second one finds its two midplanes free, but no cable."""
    shapes = [{"shape": [1, 1, 1]}, {"shape": [1, 1, 2]}, {"shape": [1, 1, 4]}]
    jobs = Jobs.of([0, 10, 20, 30], [100, 10, 10, 500], [100, 10, 10, 500], [1024, 1024, 2048, 512])
    found = run(of_line(shapes), jobs, backfill="none").utilisation
    at = {time: place for place, time in enumerate(found.time_s.tolist())}
    # At 10 s both other midplanes lack cables; at 30 s the single job, too, finds them free, but is held up.
    assert (found.busy[at[0]], found.empty[at[0]]) == (2, 2)
    assert (found.cables[at[10]], found.held[at[10]]) == (2, 0)
    assert found.cables[at[30]] == 2 and found.queue[at[30]] == 3
    # From 100 s the second torus runs, and the job for the whole line waits for midplanes.
    assert (found.busy[at[100]], found.held[at[100]], found.scattered[at[100]]) == (2, 2, 0)


def test_rejected_jobs_count_as_such_alone() -> None:
    of = of_line()
    jobs = Jobs.of([0, 5, 10], [10, 10, 10], [10, 10, 10], [512, 1024, 512])
    found = run(of, jobs)
    assert found.partition.tolist() == [0, -1, 0] and np.isnan(found.start_s[1]) and found.class_nodes[1] == 0
    row = schedule_row(of, jobs, found)
    assert (row["jobs"], row["rejected"]) == (2, 1)


def test_a_job_that_asks_for_a_torus_never_gets_a_mesh() -> None:
    of = named("intrepid-both", "intrepid")
    jobs = Jobs.of(np.zeros(60), np.full(60, 10.0), np.full(60, 10.0), np.full(60, 1024))
    torus = np.array([variant.torus for variant in of.variants])
    factors = np.where(np.arange(60)[:, None] % 2 == 0, np.where(torus, 1.0, np.inf), 1.0)
    found = run(of, jobs, factors=factors)
    assert torus[of.variant[found.partition[::2]]].all() and not torus[of.variant[found.partition[1::2]]].all()


def test_a_job_ends_with_its_request_if_it_is_killed() -> None:
    jobs = Jobs.of([0], [100], [60], [512])
    factors = np.full((1, 1), 2.0)
    assert run(of_line(), jobs).end_s.tolist() == [100.0]
    assert run(of_line(), jobs, kill=True).end_s.tolist() == [60.0]
    assert run(of_line(), jobs, factors=factors, kill=True).end_s.tolist() == [120.0]
    assert run(of_line(), jobs, factors=factors, kill=True, scale_request=False).end_s.tolist() == [60.0]


def test_rows_by_hand() -> None:
    """Two jobs of one midplane of four from 0 to 100 s, in a window of 100 s; the last one comes at its end."""
    of = of_line()
    jobs = Jobs.of([0, 50, 100], [100, 100, 10], [100, 100, 10], [512, 256, 512])
    row = schedule_row(of, jobs, run(of, jobs))
    assert (row["utilisation"], row["useful_utilisation"], row["idle_no_jobs"]) == (0.375, 0.3125, 0.625)
    assert (row["makespan_s"], row["response_mean_s"], row["rounded_up"], row["running_at_end"]) == (150, 70, 1, 2)
    assert bounded_slowdown(np.array([5.0, 40.0]), np.array([1.0, 20.0])).tolist() == [1.0, 2.0]
    assert [(own["class_nodes"], own["jobs"]) for own in class_rows(jobs, run(of, jobs))] == [(512, 3)]


def test_useful_time_is_that_without_slowdown() -> None:
    """A job of one midplane of four and 100 s takes 200 s, as long as the window."""
    of = of_line()
    jobs = Jobs.of([0, 200], [100, 10], [100, 10], [512, 512])
    row = schedule_row(of, jobs, run(of, jobs, factors=np.full((2, 1), 2.0)))
    assert (row["utilisation"], row["useful_utilisation"]) == (0.25, 0.125)


@pytest.mark.parametrize(("waiting", "saturated"), [(19, False), (20, True)])
def test_work_waits_by_more_than_chance_from_1_96_deviations_on(waiting: int, saturated: bool) -> None:
    """A hundred jobs of one node-second have a deviation of ten."""
    jobs = Jobs.of(np.zeros(100), np.ones(100), np.ones(100), np.ones(100, dtype=np.int64))
    start_s = np.where(np.arange(100) < waiting, 2.0, 0.0)
    found: Any = SimpleNamespace(ran=np.ones(100, dtype=np.bool_), start_s=start_s)
    assert is_saturated(jobs, found, np.ones(100), 1.0) == saturated


def test_percentiles_of_waits_by_hand() -> None:
    """Twenty-one jobs of 10 s at once on the whole machine wait for 0, 10, ... 200 s."""
    of = of_line([{"shape": [1, 1, 4]}])
    jobs = Jobs.of([0.0] * 21, [10.0] * 21, [10.0] * 21, [4 * of.block_nodes] * 21)
    row = schedule_row(of, jobs, run(of, jobs))
    assert [row[f"wait_{name}_s"] for name in ("mean", "p95", "max")] == pytest.approx([100, 190, 200])


@pytest.mark.parametrize(("load", "least", "most"), [(0.8, 0, 1), (1.3, 19, 20)])
def test_a_run_is_saturated_if_the_load_is_too_high(load: float, least: int, most: int) -> None:
    """Jobs that come at random, with random times, on four midplanes; 20 traces."""
    of, marked = of_line(), 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        times = rng.exponential(1, 1000)
        jobs = Jobs.of(rng.exponential(1 / (4 * load), 1000).cumsum(), times, times, np.full(1000, 512))
        marked += schedule_row(of, jobs, run(of, jobs))["saturated"]
    assert least <= marked <= most


def test_what_is_compiled_is_kept_in_a_folder_of_the_sources_as_they_are(tmp_path: Path) -> None:
    scores = [compiled_score(type(Order.model_validate(kind))) for kind in Order.FAMILY.kinds]
    kept: Any
    for kept in (kernel.run_partitions, kernel.run_nodes):
        assert Path(kept.stats.cache_path).parent == cache_folder()
    assert all(Path(score._cache.cache_path).parent == cache_folder() for score in scores)
    (tmp_path / "a.py").write_text("1")
    before = cache_folder([tmp_path / "a.py"])
    (tmp_path / "a.py").write_text("2")
    assert cache_folder([tmp_path / "a.py"]) != before


def test_the_digest_covers_what_the_kernel_and_the_orders_import() -> None:
    """What is of the core belongs to the models, and is nothing to numba."""
    known = {path.stem for path in SOURCES} | {"order", "kernel"}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and path.name != "state.py":
                name = node.module or ""
                ours = node.level or (name.startswith("fabricstudy") and not name.startswith("fabricstudy.core"))
                assert not ours or name.split(".")[-1] in known, f"{path}, line {node.lineno}"


def test_a_change_of_a_function_that_a_cached_one_calls_is_compiled(tmp_path: Path) -> None:
    """numba alone would go on using the cached function."""
    copy = tmp_path / "fabricstudy"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, code in {
        "inner": "from .compiled import jit_inner\n\n\n@jit_inner\ndef inner(x):\n    return x + 1\n",
        "outer": "from .compiled import jit_cached\nfrom .inner import inner\n\n\n@jit_cached\ndef outer(x):\n"
        "    return inner(x)\n",
    }.items():
        (copy / f"schedule/kernel/{name}.py").write_text(code)

    def computed() -> tuple[int, bool]:
        """Return the result, and whether it was compiled."""
        script = "from fabricstudy.schedule.kernel.outer import outer\nprint(outer(1), len(outer.stats.cache_misses))"
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        run = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        result, misses = map(int, run.stdout.split())
        return result, misses > 0

    assert [computed(), computed()] == [(2, True), (2, False)]
    inner = copy / "schedule/kernel/inner.py"
    inner.write_text(inner.read_text().replace("x + 1", "x + 5"))
    assert computed() == (6, True)


def test_rows_of_a_list() -> None:
    rows = {row["class_nodes"]: row for row in list_rows(named("intrepid-torus", "intrepid"))}
    assert (rows[1024]["concurrent_max"], rows[1024]["concurrent_share"], rows[1024]["cables"]) == (20, 0.5, 4.0)
    assert rows[8192]["bisection_links"] == 512


CASES = st.tuples(
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(1, 20), st.integers(0, 20), st.sampled_from([512, 700, 1024, 2048])),
        min_size=1, max_size=25,
    ),
    st.sampled_from(["intrepid-torus", "intrepid-both", "line", "cuboids"]),
    st.sampled_from(ORDERS),
    st.sampled_from(BACKFILLS),
    st.sampled_from([1.0, 1.25, 2.0]),
)  # fmt: skip


def laid_out(name: str) -> Partitions:
    if name == "line":
        return of_line([{"shape": [1, 1, 1]}, {"shape": [1, 1, 2]}, {"shape": [1, 1, 4]}])
    if name == "cuboids":
        found = PartitionList.model_validate("cuboids").partitions(Topology.model_validate(LINE))
        assert isinstance(found, Partitions)
        return found
    return named(name, "intrepid")


@settings(max_examples=80, deadline=None)
@given(CASES)
def test_what_holds_of_every_schedule(case: Any) -> None:
    drawn, name, order, backfill, loss = case
    of = laid_out(name)
    submit, runtime, spare, nodes = np.array(drawn).T
    jobs = Jobs.of(submit, runtime, runtime + spare, nodes)
    factors = np.where([variant.torus for variant in of.variants], 1.0, loss) * np.ones((len(jobs), 1))
    found = run(of, jobs, order, backfill, factors=factors)
    assert found.ran.all()
    assert (found.start_s >= jobs.submit_s).all() and (of.nodes[found.partition] >= jobs.nodes).all()
    assert np.array_equal(found.end_s, found.start_s + jobs.runtime_s * found.factor)
    conflict = {
        (one, other)
        for one in range(len(of))
        for other in of.conflicts.other[of.conflicts.first[one] : of.conflicts.first[one + 1]].tolist()
    }
    for one in range(len(jobs)):
        for other in range(one):
            together = found.start_s[one] < found.end_s[other] and found.start_s[other] < found.end_s[one]
            assert not together or (found.partition[one], found.partition[other]) not in conflict
    uses = found.utilisation
    total = uses.busy + uses.empty + uses.cables + uses.held + uses.scattered
    assert (total == of.midplanes).all() and (np.minimum(uses.held, uses.cables) >= 0).all()
    lengths = np.diff(uses.time_s, append=uses.time_s[-1])
    used = float((uses.busy * lengths).sum()) * of.block_nodes
    assert used == pytest.approx(float(((found.end_s - found.start_s) * found.class_nodes).sum()))
    if backfill == "conservative" or (backfill == "easy" and order == "fcfs"):
        promised = ~np.isnan(found.reserved_start_s)
        assert (found.start_s[promised] <= found.reserved_start_s[promised]).all()


@settings(max_examples=30, deadline=None)
@given(CASES)
def test_scale_and_order_of_lines_do_not_matter(case: Any) -> None:
    drawn, name, order, backfill, _ = case
    of = laid_out(name)
    submit, runtime, spare, nodes = np.array(drawn).T
    plain = run(of, Jobs.of(submit, runtime, runtime + spare, nodes), order, backfill)
    slow = run(of, Jobs.of(8.0 * submit, 8.0 * runtime, 8.0 * (runtime + spare), nodes), order, backfill)
    assert np.array_equal(slow.start_s, 8 * plain.start_s) and np.array_equal(slow.partition, plain.partition)
    number = np.arange(1, len(drawn) + 1)
    back = run(
        of, Jobs.of(submit[::-1], runtime[::-1], (runtime + spare)[::-1], nodes[::-1], number[::-1]), order, backfill
    )
    assert np.array_equal(back.start_s, plain.start_s)


def test_without_shared_cables_torus_and_mesh_are_the_same() -> None:
    rng = np.random.default_rng(3)
    jobs = Jobs.of(np.sort(rng.random(300) * 900), rng.random(300) * 400 + 1, np.full(300, 500.0), np.full(300, 512))
    torus, mesh = (run(named(f"intrepid-{kind}", "intrepid"), jobs, "wfp") for kind in ("torus", "mesh"))
    assert np.array_equal(torus.start_s, mesh.start_s)


def test_times_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="above zero"):
        run(of_line(), Jobs.of([0], [0], [1], [512]))
    with pytest.raises(ValueError, match="shape"):
        run(of_line(), Jobs.of([0], [1], [1], [512]), factors=np.ones((2, 1)))
