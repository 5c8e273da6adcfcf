"""Claims on the tables of schedules, from records with numbers that were made up."""

from __future__ import annotations

from typing import Any

import pytest
from tests.schedules import SCHEDULE

from fabricstudy.core.columns import DONE, NOT_RUN
from fabricstudy.study.file import validate_study
from fabricstudy.study.plan import Plan, plan
from fabricstudy.table.collect import collect
from fabricstudy.table.schedules import schedule_tables

SWEEP = {
    "network": {"of": "partitions", "values": {"torus": "intrepid-torus", "mesh": "intrepid-mesh"}},
    "loss": {"of": "slowdown.mesh", "values": [0, 0.2]},
    "order": ["fcfs", "wfp"],
}
# Waits by network, loss and order; the three seeds lie 1 apart around them.
WAIT_S = {
    ("torus", 0, "fcfs"): 100.0,
    ("mesh", 0.2, "fcfs"): 60.0,
    ("torus", 0, "wfp"): 50.0,
    ("mesh", 0.2, "wfp"): 55.0,
}


def measure(**more: Any) -> dict[str, Any]:
    of, against = {"network": "mesh", "loss": 0.2}, {"network": "torus", "loss": 0}
    return {
        "kind": "contrast",
        "schedule": "s",
        "metric": "wait_mean_s",
        "form": "reduction",
        "of": of,
        "against": against,
    } | more


def study_of(*measures: dict[str, Any]) -> Plan:
    parts = [{"statement": "a", "measure": one, "source_range": [0, None]} for one in measures]
    schedule = {**SCHEDULE, "sweep": SWEEP, "exclude": [{"network": "torus", "loss": 0.2}], "seeds": 3}
    claims = [{"id": "a", "statement": "b", "source": "c", "parts": parts}]
    return plan(validate_study({"study": "small", "schedules": {"s": schedule}, "claims": claims}))


def records(of: Plan) -> list[dict[str, Any]]:
    found = []
    for row in of.run_rows:
        labels: Any = row.labels
        wait_s = WAIT_S.get((labels["network"], labels["loss"], labels["order"]), 1.0) + row.seed - 2
        classes = [
            {"class_nodes": nodes, "jobs": 9, "wait_mean_s": wait_s * scale} for nodes, scale in ((512, 1), (1024, 2))
        ]
        found.append({"run_id": row.run_id, "status": DONE, "wait_mean_s": wait_s, "jobs": 18, "classes": classes})
    return found


def judged(of: Plan, known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[Any] = collect(of, [], [], {}, schedule_tables(of, {"s": known})).claims.to_dict("records")
    return found


@pytest.mark.parametrize(
    ("asked", "value", "low", "high"),
    [
        (measure(reduce="max"), 0.4, 1 - 59 / 99, 1 - 61 / 101),
        (measure(reduce="min"), -0.1, 1 - 56 / 51, 1 - 54 / 49),
        (measure(where={"order": "fcfs"}, form="ratio"), 0.6, 59 / 99, 61 / 101),
        (
            measure(table="size_classes", where={"order": "fcfs", "class_nodes": 1024}),
            0.4,
            1 - 122 / 202,
            1 - 118 / 198,
        ),
        ({"kind": "value", "schedule": "s", "metric": "wait_mean_s", "where": {"network": "torus"}}, 100, 99, 101),
    ],
)
def test_claims_compare_medians_over_seeds_and_tell_their_range(
    asked: dict[str, Any], value: float, low: float, high: float
) -> None:
    (row,) = judged(of := study_of(asked), records(of))
    assert row["measured"] == pytest.approx(value)
    assert sorted((row["low"], row["high"])) == pytest.approx(sorted((low, high)))
    assert row["seeds"] == 3 and row["verdict"] == ("reproduced" if value >= 0 else "differs")


def test_a_run_that_was_not_done_leaves_the_claim_not_run() -> None:
    of = study_of(measure())
    known = records(of)
    known[0] = {"run_id": known[0]["run_id"], "status": NOT_RUN, "reason": "the point p has no record"}
    (row,) = judged(of, known)
    assert row["verdict"] == NOT_RUN
    assert judged(of, known[1:])[0]["verdict"] == NOT_RUN
