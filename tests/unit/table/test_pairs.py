"""What a claim or figure compares depends on its own experiment alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from fabricstudy.report.figures import draw
from fabricstudy.study.claims import Claim
from fabricstudy.study.file import validate_study
from fabricstudy.study.model import Study
from fabricstudy.table.claims import judge
from fabricstudy.table.files import Tables
from fabricstudy.table.select import observe

from ...machines import DRAGONFLY
from .synthetic import synthetic

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
SHIPPED = sorted(CONFIGS.glob("*.yaml"))
# Schedules pair runs, of which the tables made here have none.
WITH_SCHEDULES = {"bgq-capacity", "torus-or-mesh-scheduling"}
# The same experiments in other sizes or on other engines, which only take longer.
LIKE_OTHERS = {
    "dragonfly-arrangements-paper", "dragonfly-arrangements-small", "dragonfly-arrangements-sst", "quick",
}  # fmt: skip
ONE_EXPERIMENT = {"next-machine", "training-fabric"}

NETS = {
    "slow": {"machine.bandwidth": "1 GB/s", "routing": "minimal"},
    "fast": {"machine.bandwidth": "2 GB/s", "routing": "minimal"},
    "detour": {"machine.bandwidth": "1 GB/s", "routing": "valiant", "engine": "sst"},
}
MAIN = {"sweep": {"net": {"set": NETS}}, "seeds": 2}
OTHER = {"sweep": {"routing": {"of": "routing", "values": ["minimal", "valiant", "ugal"]}}}
ENGINES = {"sweep": {"engine": ["caminos", "codes"]}}
TEXT = {"sweep": {"net": {"of": "machine.arrangement", "values": ["absolute", "relative"]}}}


def claim(**measure: Any) -> dict[str, Any]:
    """A claim of one part on the runtime of experiment `a`."""
    asked = {"metric": "runtime_ns", "experiment": "a", **measure}
    part = {"statement": "x", "source_range": [0, None], "measure": asked}
    return {"id": "1", "statement": "x", "source": "y", "parts": [part]}


BASE: dict[str, Any] = {
    "study": "pairs", "machine": DRAGONFLY, "routing": "minimal", "engine": "caminos",
    "jobs": [{"share": 1.0, "pattern": {"kind": "ring", "message": "1 kB"}}],
    "figures": [{"id": "f", "kind": "bar", "title": "F", "experiment": "a", "x": "net", "y": "runtime_ns",
                 "normalise_to": {"net": "slow"}}],
    "claims": [claim(kind="contrast", of={"net": ["fast", "detour"]}, against={"net": "slow"}, reduce="min")],
}  # fmt: skip


def judged(**experiments: Any) -> dict[str, Any]:
    """Judge the claim of a study with these experiments."""
    study = validate_study({**BASE, "experiments": experiments})
    found: list[Any] = judge(study.claims, synthetic(study)).to_dict("records")
    return dict(found[0])


@pytest.mark.parametrize(
    "others",
    [{"b": OTHER}, {"b": OTHER, "c": TEXT}, {"d": ENGINES}],
    ids=["another axis", "the same name", "an axis over engines"],
)
def test_another_experiment_takes_no_pair_away(others: dict[str, Any]) -> None:
    """Issue D1: `net` sets routing and engine, which another experiment has as an axis of its own."""
    alone, beside = judged(a=MAIN), judged(a=MAIN, **others)
    assert (alone["pairs"], alone["pairs_planned"], alone["points"]) == (2, 2, 6)
    compared = ("measured", "low", "high", "pairs", "pairs_planned", "at_labels", "verdict")
    assert [beside[key] for key in compared] == [alone[key] for key in compared]


def test_another_experiment_takes_no_bar_away() -> None:
    bars = []
    for experiments in ({"a": MAIN}, {"a": MAIN, "b": OTHER}):
        study = validate_study({**BASE, "experiments": experiments})
        (figure,) = study.figures
        bars.append(draw(figure, synthetic(study)))
    assert bars[0].alt == bars[1].alt
    assert bars[0].svg == bars[1].svg
    assert "2 comparisons" in bars[1].basis


def test_rows_have_labels_on_the_axes_of_their_experiment_only() -> None:
    study = validate_study({**BASE, "experiments": {"a": MAIN, "b": OTHER}})
    jobs = synthetic(study).jobs
    assert jobs.loc[jobs["experiment"] == "a", "net"].notna().all()
    assert jobs.loc[jobs["experiment"] == "a", "routing"].isna().all()
    assert jobs.loc[jobs["experiment"] == "b", "net"].isna().all()


def test_pairs_that_results_do_not_have_are_counted(build: Callable[..., Tables]) -> None:
    """Of two link classes one is used under one routing only."""
    tables = build(
        [{"routing": routing, "runtime_ns": 5.0} for routing in ("valiant", "minimal")],
        links=[{"row": 0, "class": name, "busy_max_ns": 6.0} for name in ("local", "global")]
        + [{"row": 1, "class": "local", "busy_max_ns": 4.0}],
    )
    asked = {"kind": "contrast", "table": "links", "metric": "busy_max_ns", "of": {"routing": "valiant"}}
    study = {**claim(**asked, against={"routing": "minimal"}, experiment="main"), "id": "1"}
    (row,) = judge([validate_study(_with_claim(study)).claims[0]], tables).to_dict("records")
    assert (row["measured"], row["pairs"], row["pairs_planned"]) == (1.5, 1, 2)


def _with_claim(asked: dict[str, Any]) -> dict[str, Any]:
    return {**BASE, "sweep": OTHER["sweep"], "figures": [], "claims": [asked]}


@pytest.fixture(
    params=[path for path in SHIPPED if path.stem not in LIKE_OTHERS | WITH_SCHEDULES | ONE_EXPERIMENT],
    ids=lambda path: path.stem,
)
def shipped(request: pytest.FixtureRequest) -> Path:
    """A study that comes with the project."""
    path: Path = request.param
    return path


def test_claims_and_figures_of_shipped_studies_do_not_depend_on_other_experiments(shipped: Path) -> None:
    data = _few_seeds(yaml.safe_load(shipped.read_text()))
    study = validate_study(data, shipped)
    everything = _unjudged(study)
    found = 0
    for name in study.experiments:
        reduced, parts = _reduced(data, shipped, name)
        if not reduced.claims and not reduced.figures:
            continue
        tables = _unjudged(reduced)
        found += len(reduced.claims) + len(reduced.figures)
        same = [_parts(claim, parts[claim.id]) for claim in study.claims if claim.id in parts]
        assert _measured(judge(reduced.claims, tables)) == _measured(judge(same, everything))
        # A Gantt chart has no numbers.
        for figure in (figure for figure in reduced.figures if figure.numbers()):
            few, many = (observe(of, figure, figure.numbers()[0]) for of in (tables, everything))
            assert set(few.keys) == set(many.keys)
            assert few.frame["(value)"].tolist() == many.frame["(value)"].tolist()
    assert found


def _measured(claims: pd.DataFrame) -> list[tuple[Any, ...]]:
    """What was measured for some claims; the order of axes is no matter."""
    columns = [
        "claim",
        "part_statement",
        "measured",
        "low",
        "high",
        "points",
        "seeds",
        "pairs",
        "pairs_planned",
        "verdict",
    ]
    return [
        (
            *(None if pd.isna(row[name]) else row[name] for name in columns),
            sorted(re.split(", | over ", str(row["at_labels"]))),
        )
        for row in claims.to_dict("records")
    ]


def _unjudged(study: Study) -> Tables:
    """Make the tables of a study once, and not those of what is judged of each of its engines."""
    return synthetic(study.model_copy(update={"claims": ()}))


def _parts(claim: Claim, numbers: list[int]) -> Claim:
    return claim.model_copy(update={"parts": tuple(claim.parts[number] for number in numbers)})


def _reduced(data: dict[str, Any], path: Path, name: str) -> tuple[Study, dict[str, list[int]]]:
    """Read a study with one of its experiments, and what is asked of that one alone; say which parts of claims.

    Of measures that differ in labels and limits only, the first one stands for all.
    """
    figures = [one for one in data.get("figures", ()) if one.get("experiment") == name]
    claims, kept = [], {}
    shapes: set[str] = set()
    for one in data.get("claims", ()):
        numbers = []
        for number, part in enumerate(one.get("parts", ())):
            shape = _shape(part["measure"])
            if _experiments(part["measure"]) == {name} and shape not in shapes:
                shapes.add(shape)
                numbers.append(number)
        if numbers:
            claims.append({**one, "parts": [one["parts"][number] for number in numbers]})
            kept[one["id"]] = numbers
    own = {"experiments": {name: data["experiments"][name]}, "figures": figures, "claims": claims}
    return validate_study({**data, **own}, path), kept


def _shape(measure: dict[str, Any]) -> str:
    """Return what a measure computes, and the axes that it uses, without their labels."""
    labelled = ("of", "against", "where", "along")
    return repr(sorted(
        (key, _shape(value) if "kind" in value else sorted(value)) if key in labelled and isinstance(value, dict)
        else (key, value) for key, value in measure.items()
    ))  # fmt: skip


def _few_seeds(data: dict[str, Any]) -> dict[str, Any]:
    """Leave a study two seeds where it has more: pairs do not depend on their number."""
    for one in (data, *data.get("experiments", {}).values()):
        if "seeds" in one:
            one["seeds"] = min(2, one["seeds"]) if isinstance(one["seeds"], int) else one["seeds"][:2]
    return data


def _experiments(measure: dict[str, Any]) -> set[str | None]:
    if measure["kind"] == "quotient":
        return _experiments(measure["of"]) | _experiments(measure["against"])
    return {measure.get("experiment")}
