"""Slowdowns: factors in closed form, whatever they come from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fabricstudy.machine.base import published_machine
from fabricstudy.schedule.jobs import Jobs
from fabricstudy.schedule.partition_list.base import PartitionList
from fabricstudy.schedule.partitions import Partitions
from fabricstudy.schedule.slowdown import Ratio, Slowdown, SlowdownFactors, non_torus_sizes, slowdown_factors

JOBS = Jobs.of(np.arange(400.0), np.ones(400), np.ones(400), np.full(400, 1024), executable=np.arange(400) % 4)


def partitions_of(name: str, machine: str = "intrepid") -> Partitions:
    found = PartitionList.model_validate(name).partitions(published_machine(machine))
    assert isinstance(found, Partitions)
    return found


def found(
    slowdown: dict[str, Any], name: str, machine: str = "intrepid", **more: Any
) -> tuple[Partitions, SlowdownFactors]:
    own = partitions_of(name, machine)
    asked = Slowdown.model_validate(slowdown)
    return own, slowdown_factors(
        asked, JOBS, own, published_machine(machine), more.get("seed", 1), more.get("ratios", {})
    )


def test_a_given_loss_is_that_of_meshes_and_of_no_torus() -> None:
    own, of = found({"mesh": 0.2}, "intrepid-both")
    assert of.table[0].tolist() == [1.0 if variant.torus else 1.2 for variant in own.variants]
    assert of.source[0].tolist() == ["none" if variant.torus else "given" for variant in own.variants]
    assert sorted(set(of.table[0].tolist())) == [1.0, 1.2]


def test_no_slowdown_is_none_at_all() -> None:
    assert (found({}, "intrepid-mesh")[1].table == 1).all()


def test_bisections_by_the_printed_ratios_of_mira() -> None:
    # Oltchik and Schwartz, Table 1: production over proposed are halves, but for 24 midplanes with three quarters.
    own, of = found({"bisection": 0.3}, "mira", "mira")
    ratio = {variant.nodes // 512: factor for variant, factor in zip(own.variants, of.table[0], strict=True)}
    expected = dict.fromkeys((1, 2, 32, 48, 64, 96), 1.0) | dict.fromkeys((4, 8, 16), 1 + 0.3 * (2 - 1))
    assert ratio == pytest.approx(expected | {24: 1 + 0.3 * (4 / 3 - 1)})
    assert (found({"bisection": 0.3}, "mira-proposed", "mira")[1].table == 1).all()


def test_measured_ratios_count_by_the_share_of_communication_and_the_size() -> None:
    slowdown = {
        "measured": {"experiment": "e", "of": {"n": "mesh"}, "against": {"n": "torus"}, "nodes": "size"},
        "applications": [{"name": "a", "communication": 0.3}, {"name": "b", "communication": 0.5}],
    }
    assert non_torus_sizes(partitions_of("intrepid-mesh")) == [1024, 4096]
    ratios = {(0, 1024): Ratio(1.0, "simulated"), (0, 4096): Ratio(2.0, "expected load"),
              (1, 1024): Ratio(2.0, "simulated"), (1, 4096): Ratio(1.0, "expected load")}  # fmt: skip
    own, of = found(slowdown, "intrepid-mesh", ratios=ratios)
    size = [variant.nodes for variant in own.variants]
    for application, expected in ((0, {1024: 1.0, 4096: 1.3}), (1, {1024: 1.5, 4096: 1.0})):
        row = of.table[of.application == application][0]
        assert {nodes: row[size.index(nodes)] for nodes in expected} == pytest.approx(expected)
        assert row[size.index(2048)] == 1
    assert of.source[0][size.index(4096)] == "expected load" and of.source[0][size.index(1024)] == "simulated"


@pytest.mark.parametrize(
    ("partition", "torus", "mesh"), [("any", 1.0, 1.1), ("torus", 1.0, np.inf), ("mesh", np.inf, 1.1)]
)
def test_partitions_of_an_application(partition: str, torus: float, mesh: float) -> None:
    own, of = found({"mesh": 0.1, "applications": [{"name": "a", "partition": partition}]}, "intrepid-both")
    by_kind = {
        (variant.nodes, variant.torus): factor for variant, factor in zip(own.variants, of.table[0], strict=True)
    }
    assert (by_kind[1024, True], by_kind[1024, False]) == pytest.approx((torus, mesh))
    # There are no meshes of this size.
    assert by_kind[2048, True] == 1


def test_applications_are_drawn_by_share_and_the_same_whatever_else_varies() -> None:
    applications = [{"name": "a", "share": 3}, {"name": "b", "share": 1, "mesh": 1}]
    first = found({"mesh": 0.1, "applications": applications}, "intrepid-mesh")[1]
    other = found({"mesh": 0.4, "applications": applications}, "intrepid-both")[1]
    assert (first.application == other.application).all()
    assert 0.15 < (first.application == 1).mean() < 0.35
    assert (first.application != found({"applications": applications}, "intrepid-mesh", seed=2)[1].application).any()
    assert set(first.table[first.application == 1].max(axis=1)) == {2.0}


def test_programs_of_a_log_have_their_application() -> None:
    applications = [{"name": "a", "share": 1}, {"name": "b", "share": 1e-9, "executables": [2]}]
    of = found({"applications": applications}, "intrepid-mesh")[1]
    assert ((of.application == 1) == (JOBS.executable == 2)).all()
