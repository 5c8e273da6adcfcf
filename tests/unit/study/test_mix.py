"""Random workloads of several jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.study.file import load_study
from fabricstudy.study.mix import Mix
from fabricstudy.study.plan import plan

from .conftest import the_error, told

NAMES = ("umesh", "stencil", "pairs", "spread", "sub")
PATTERNS = {name: {"kind": "ring", "message": "1 MiB"} for name in NAMES}
SOURCE: dict[str, Any] = {"count": 30, "shares": [0.05, 0.1, 0.2, 0.3, 0.4], "patterns": PATTERNS}

Writer = Callable[[dict[str, Any]], Path]


def mixed(**changes: Any) -> Mix:
    return Mix.model_validate({**SOURCE, **changes})


@given(seed=st.integers(0, 2**31 - 1), most=st.integers(2, 4), patterns=st.integers(3, 5))
@settings(deadline=None)
def test_workloads_keep_the_rules(seed: int, most: int, patterns: int) -> None:
    few = dict(list(PATTERNS.items())[:patterns])
    for jobs in mixed(seed=seed, count=5, most_of_a_pattern=most, patterns=few).workloads.values():
        assert sum(Fraction(str(job["share"])) for job in jobs) == 1
        assert max(Counter(job["name"] for job in jobs).values()) <= most
        assert all(job["pattern"] is few[job["name"]] for job in jobs)


@given(seed=st.integers(0, 1000), fill=st.integers(50, 400), sizes=st.sets(st.integers(7, 60), min_size=1, max_size=4))
@settings(deadline=None)
def test_full_means_that_the_smallest_job_does_not_fit(seed: int, fill: int, sizes: set[int]) -> None:
    mix = mixed(seed=seed, count=2, shares=[], nodes=sorted(sizes), fill=max(fill, *sizes), most_of_a_pattern=60)
    for jobs in mix.workloads.values():
        left = max(fill, *sizes) - sum(job["nodes"] for job in jobs)
        assert 0 <= left < min(sizes)


def test_the_same_seed_gives_the_same_workloads() -> None:
    """Pinned: a change would silently be another experiment."""
    drawn = [[(job["name"], job["share"]) for job in jobs] for jobs in mixed(count=2).workloads.values()]
    assert drawn == [
        [("sub", 0.05), ("stencil", 0.3), ("pairs", 0.2), ("spread", 0.3), ("umesh", 0.05), ("pairs", 0.1)],
        [("umesh", 0.3), ("spread", 0.2), ("sub", 0.1), ("umesh", 0.4)],
    ]
    assert mixed(seed=2).workloads != mixed(seed=1).workloads
    assert list(mixed(count=3).workloads) == ["w01", "w02", "w03"]
    assert list(mixed(count=100).workloads)[::99] == ["w001", "w100"]
    assert mixed(count=30).workloads["w02"] == mixed(count=2).workloads["w02"]


def test_first_draws_are_uniform() -> None:
    first = [jobs[0] for jobs in mixed(count=3000).workloads.values()]
    # Binomial(3000, 1/5): five standard deviations are 110. Workloads that do not fill up are too rare to matter.
    for key in ("share", "name"):
        assert all(abs(number - 600) < 110 for number in Counter(job[key] for job in first).values())


def test_what_all_jobs_share_and_the_fixed_first_job() -> None:
    fixed = {"name": "probe", "share": 0.3, "pattern": PATTERNS["sub"], "allocation": "random"}
    rest = {"allocation": "spread", "mapping": {"kind": "random"}, "ranks_per_node": 2, "ranks_per_core": 3}
    for jobs in mixed(first=[fixed], **rest).workloads.values():
        assert jobs[0] == fixed
        assert all({key: job[key] for key in rest} == rest for job in jobs[1:])
        assert sum(Fraction(str(job["share"])) for job in jobs) == 1


def test_the_jobs_drawn_may_be_in_the_background_of_the_first() -> None:
    fixed = {"name": "probe", "share": 0.3, "pattern": PATTERNS["sub"]}
    for jobs in mixed(first=[fixed], background=True).workloads.values():
        assert ["background" in job for job in jobs] == [False] + [True] * (len(jobs) - 1)


def test_a_study_plans_them_and_may_change_all_jobs(write_study: Writer) -> None:
    sweep = {
        "workload": {"of": "jobs", "mix": SOURCE | {"count": 4}},
        "placement": {"of": "jobs.*.allocation", "values": ["cluster", "random"]},
    }
    found = plan(load_study(write_study({"sweep": sweep, "jobs/0": {"share": 1, "pattern": PATTERNS["sub"]}})))
    assert [row.labels["workload"] for row in found.rows] == [f"w{n:02d}" for n in (1, 1, 2, 2, 3, 3, 4, 4)]
    kinds = [{job.allocation.kind for job in found.points[row.point_id].point.jobs} for row in found.rows]
    assert kinds == [{"cluster"}, {"random"}] * 4
    drawn = mixed(count=4).workloads["w03"]
    point = found.points[found.rows[4].point_id].point
    assert [(job.name, job.share) for job in point.jobs] == [(job["name"], job["share"]) for job in drawn]


BROKEN: dict[str, tuple[dict[str, Any], str, str]] = {
    "no sizes": ({"shares": []}, "", "conflicting-keys"),
    "two kinds of sizes": ({"nodes": [4], "fill": 10}, "", "conflicting-keys"),
    "nodes without fill": ({"shares": [], "nodes": [4]}, ".fill", "missing-key"),
    "more than the machine": ({"fill": 1.5}, ".fill", "out-of-range"),
    "nothing fits": ({"fill": 0.01}, ".shares", "does-not-fit"),
    "first job of another unit": (
        {"first": [{"nodes": 3, "pattern": PATTERNS["sub"]}]}, ".first.0", "invalid-quantity",
    ),
    "never full": (
        {"most_of_a_pattern": 1, "shares": [0.05]}, ".most_of_a_pattern", "does-not-fit",
    ),
    "no patterns": ({"patterns": {}}, ".patterns", "out-of-range"),
    "wrong pattern": (
        {"patterns": {"a": {"kind": "ring", "message": "1 k"}}}, ".patterns.a.message", "invalid-quantity",
    ),
    "wrong share": ({"shares": [0.1, 2]}, ".shares.1", "out-of-range"),
    "unknown key": ({"sizes": [1]}, ".sizes", "unknown-key"),
    "allocation that does not fit": (
        {"allocation": {"kind": "slurm", "trace": {"kind": "lublin", "jobs": 50}, "block_sizes": [5]}},
        ".w01.0.allocation.block_sizes.0", "does-not-fit",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_mix(kind: str, write_study: Writer) -> None:
    changes, place, code = BROKEN[kind]
    path = write_study({"sweep": {"workload": {"of": "jobs", "mix": {**SOURCE, **changes}}}})
    assert told(the_error(path))[0] == (code, f"sweep.workload.mix{place}")


@pytest.mark.parametrize(
    "axis",
    [
        {"of": "routing", "mix": SOURCE},
        {"mix": SOURCE},
        {"of": "jobs", "mix": SOURCE, "values": [1]},
        {"of": "jobs", "mix": SOURCE, "set": {"a": {"routing": "minimal"}}},
    ],
)
def test_a_mix_needs_jobs_and_stands_alone(axis: dict[str, Any], write_study: Writer) -> None:
    (mistake,) = told(the_error(write_study({"sweep": {"workload": axis}})))
    assert mistake[0] == "invalid-value" and str(mistake[1]).startswith("sweep.workload")
