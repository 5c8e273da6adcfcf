"""What simulations resolve: latencies rounded to cycles, and points compared at different phits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.engine.caminos.clock import clock
from fabricstudy.engine.caminos.resolution import Resolution
from fabricstudy.study.file import load_study
from fabricstudy.study.model import Study
from fabricstudy.study.plan import Plan, plan
from fabricstudy.study.resolution import resolution_warnings, resolutions

StudyOf = Callable[..., Study]


def axis(path: str, *values: Any) -> dict[str, Any]:
    return {"sweep": {"axis": {"of": path, "values": list(values)}}}


def found(of: Plan) -> tuple[list[Resolution], list[str]]:
    of_points = resolutions(of)
    return list(of_points.values()), resolution_warnings(of, of_points)


def test_latencies_below_half_a_cycle_are_lost_and_told(study_of: StudyOf) -> None:
    """A cycle of 2 kB at 1 GB/s is 2 us: 101 and 500 ns, with a router, both round to nothing."""
    of = plan(study_of(**axis("machine.latency", "1 ns", "400 ns")))
    (short, long), (sentence,) = found(of)
    assert [one.set_ns for one in short.latencies] == [101, 101, 51]
    assert [one.set_ns for one in long.latencies] == [500, 500, 450]
    assert {one.simulated_ns for one in (*short.latencies, *long.latencies)} == {0}
    assert "Axis axis" in sentence and "399 ns" in sentence and "engine.phit to 39 B" in sentence


def test_the_phit_of_the_warning_mends_it(study_of: StudyOf) -> None:
    of = plan(study_of(engine={"kind": "caminos", "phit": "39 B"}, **axis("machine.latency", "1 ns", "400 ns")))
    (short, long), warnings = found(of)
    assert not warnings
    for one, other in zip(short.latencies, long.latencies, strict=True):
        assert other.simulated_ns - one.simulated_ns == pytest.approx(399, rel=0.1)


def test_simulated_latencies_are_the_delays_of_the_input(study_of: StudyOf) -> None:
    of = plan(study_of(**axis("machine.latency", "1 us", "7 us")))
    for resolution, planned in zip(found(of)[0], of.points.values(), strict=True):
        units = clock(planned.point, planned.point.machine.build())
        cycles = [one.simulated_ns / units.cycle_ns for one in resolution.latencies]
        assert cycles == [delay - divisor for delay, divisor in zip(units.delays, units.divisors, strict=True)]


@pytest.mark.parametrize(("longest", "resolved"), [("20 us", True), ("1 ms", False)])
def test_delays_of_a_thousand_cycles_limit_the_phit(study_of: StudyOf, longest: str, resolved: bool) -> None:
    """A phit of 39 B has cycles of 39 ns."""
    (sentence,) = found(plan(study_of(**axis("machine.latency.global", "1 ns", "400 ns", longest))))[1]
    assert ("No phit" not in sentence) == ("engine.phit to 39 B" in sentence) == resolved


def test_latencies_that_are_much_of_a_message_are_told(study_of: StudyOf) -> None:
    """One kilobyte in phits of 125 ns: 140, 140 and twice 90 ns are four times 125; 60, 60 and 50 ns none."""
    jobs = [{"share": 1, "pattern": {"kind": "ring", "message": "1 kB"}}]
    one_point = {"jobs": jobs, "sweep": {"seedless": {"of": "routing", "values": ["minimal"]}}}
    (resolved,), warnings = found(plan(study_of(**one_point)))
    assert [one.simulated_ns for one in resolved.latencies] == [125, 125, 125] and not warnings  # 40 of 1,460 ns
    (resolved,), (sentence,) = found(plan(study_of(network={"router_latency": "20 ns"}, **one_point)))
    assert [one.simulated_ns for one in resolved.latencies] == [0, 0, 0]
    assert "1 of 1 point per seed by" in sentence and "18%" in sentence  # 220 of 1,220 ns


def test_routings_compared_at_different_phits_are_told_with_the_key_that_makes_them_equal(study_of: StudyOf) -> None:
    jobs = [{"share": 1, "pattern": {"kind": "ring", "message": "40 kB"}}]
    routings = axis("routing", "minimal", "valiant")
    resolved, (sentence,) = found(plan(study_of(jobs=jobs, **routings)))
    assert [one.unit_bytes for one in resolved] == [1000, 500]
    assert "minimal: 1 kB; valiant: 500 B" in sentence and "engine.phit to 500 B" in sentence
    assert not found(plan(study_of(jobs=jobs, engine={"kind": "caminos", "phit": "500 B"}, **routings)))[1]


def test_sizes_of_messages_may_have_phits_of_their_own(study_of: StudyOf) -> None:
    resolved, warnings = found(plan(study_of(**axis("jobs.0.pattern.message", "100 kB", "2.1 kB"))))
    assert len({one.unit_bytes for one in resolved}) == 2 and not any("Axis" in sentence for sentence in warnings)


def test_machines_compared_with_different_virtual_channels_are_told_with_the_key_that_makes_them_equal(
    study_of: StudyOf,
) -> None:
    line = {"kind": "mesh", "nodes_per_router": 1, "bandwidth": "1 GB/s"}
    shapes = {"square": [3, 3], "long": [9]}
    sweep = {"axis": {"set": {name: {"machine": line | {"shape": shape}} for name, shape in shapes.items()}}}
    _, (sentence,) = found(plan(study_of(sweep=sweep)))
    # One for each hop of the longest route.
    assert "square: 4; long: 8" in sentence and "network.virtual_channels to 8" in sentence
    assert not found(plan(study_of(sweep=sweep, network={"virtual_channels": 8})))[1]


@pytest.mark.parametrize(
    ("name", "axes"),
    [
        ("quick", []),
        ("faults", ["machine", "machine", "failed", "draw"]),
        ("congestion-impact", ["system"] * 2),
        ("next-machine", []),
        ("torus-or-mesh", []),
    ],
)
def test_shipped_studies_whose_comparisons_are_not_equal(name: str, axes: list[str]) -> None:
    warnings = found(plan(load_study(CONFIGS / f"{name}.yaml")))[1]
    assert [sentence.split()[1] for sentence in warnings if sentence.startswith("Axis")] == axes
