"""Studies with analyses, with simulation or without, and what is refused in them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.errors import ConfigError
from fabricstudy.study.file import validate_study
from fabricstudy.study.model import Study
from fabricstudy.study.plan import plan

ALONE: dict[str, Any] = {
    "study": "no-simulation",
    "analyses": {"p": {"kind": "partitions", "machines": {"M": "mira"}, "allowed": "mira"}},
    "figures": [{"id": "f", "kind": "line", "title": "t", "analysis": "p", "x": "blocks", "y": "bisection_links",
                 "hue": "choice", "where": {"geometry": "2x1x1x1"}}],
    "claims": [{"id": "c", "statement": "s", "source": "o", "parts": [
        {"statement": "p", "source_range": [0, 0], "measure": {"kind": "rows", "analysis": "p", "where": {"blocks": 4},
         "columns": ["blocks", "geometry"], "rows": [[4, "4x1x1x1"]]}}]}],
}  # fmt: skip


def test_a_study_may_have_nothing_to_simulate() -> None:
    study = validate_study(ALONE)
    assert not study.simulates and study.all_experiments == {} and study.axes == ()
    planned = plan(study)
    assert not planned.rows and not planned.points and not planned.machines


def test_analyses_beside_simulation(study_data: Any) -> None:
    study: Study = validate_study({**study_data({}), "analyses": ALONE["analyses"], "figures": ALONE["figures"]})
    assert study.simulates and list(study.all_experiments) == ["main"] and list(study.analyses) == ["p"]


def test_a_published_list_is_the_same_as_its_geometries() -> None:
    published: Any = validate_study(ALONE).analyses["p"]
    lists = ALONE["analyses"]["p"] | {"allowed": [list(one) for one in published.allowed]}
    assert validate_study({**ALONE, "analyses": {"p": lists}}).analyses == validate_study(ALONE).analyses


HALF = {
    "machine": {"kind": "dragonfly", "groups": 3, "routers_per_group": 2, "nodes_per_router": 2, "bandwidth": "1 GB/s"}
}


@pytest.mark.parametrize(
    ("changes", "path", "code"),
    [
        (HALF, "routing", "missing-key"),
        ({"sweep": {}}, "machine", "missing-key"),
        ({"seeds": 3}, "machine", "missing-key"),
        ({"analyses": {}, "figures": [], "claims": []}, "machine", "missing-key"),
        ({"analyses": {"p": {"kind": "partition"}}}, "analyses.p.kind", "unknown-value"),
        ({"analyses": {"p": {"kind": "partitions", "machines": {}}}}, "analyses.p.machines", "out-of-range"),
        ({"analyses": {"p": {"kind": "partitions", "machines": {"D": "dragonfly-11k"}}}}, "analyses.p.machines.D",
         "unsupported"),
        ({"extensions": ["extensions/contention.py"], "figures": [], "claims": [],
          "analyses": {"p": {"kind": "contention", "cases": {"a": {**HALF, "pattern": {"kind": "idle"}}}}}},
         "analyses.p.cases.a.machine", "unsupported"),
        ({"analyses": {"p": {"kind": "partitions", "machines": {"M": "mirra"}}}}, "analyses.p.machines.M",
         "unknown-value"),
        ({"analyses": {"p": {"kind": "partitions", "machines": {"M": "mira"}, "allowed": "juqueen"}}},
         "analyses.p.allowed", "unknown-value"),
        ({"analyses": {"p": {"kind": "partitions", "machines": {"M": "mira"}, "allowed": [[4, 4], [2, 5]]}}},
         "analyses.p.allowed.1", "does-not-fit"),
        ({"analyses": {"p": {"kind": "partitions", "machines": {"M": "mira"}, "allowed": [[1, 1, 1, 1, 2]]}}},
         "analyses.p.allowed.0", "does-not-fit"),
        ({"analyses": {"p": {"kind": "topologies", "families": {"M": ["mira", "sequoia", "mira"]}}}},
         "analyses.p.families.M.2", "duplicate"),
        ({"analyses": {"p": {"kind": "deadlock", "machines": {"D": "dragonfly-11k"}, "routings": {"m": "minimal"}}}},
         "analyses.p.machines.D", "out-of-range"),
        ({"figures": [ALONE["figures"][0] | {"analysis": "q"}]}, "figures.0.analysis", "unknown-name"),
        ({"figures": [ALONE["figures"][0] | {"x": "midplanes"}]}, "figures.0", "unknown-name"),
        ({"figures": [ALONE["figures"][0] | {"y": "runtime_ns"}]}, "figures.0", "unknown-name"),
        ({"figures": [ALONE["figures"][0] | {"table": "jobs"}]}, "figures.0.table", "conflicting-keys"),
        ({"figures": [{"id": "f", "kind": "line", "title": "t", "x": "a", "y": "runtime_ns"}]}, "figures.0.experiment",
         "unknown-name"),
    ],
)  # fmt: skip
def test_what_is_refused(changes: dict[str, Any], path: str, code: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validate_study({**ALONE, **changes}, CONFIGS / "study.yaml")
    assert (caught.value.path, caught.value.code) == (path, code)


@pytest.mark.parametrize(
    ("keys", "path", "code"),
    [({}, "shapes", "conflicting-keys"),
     ({"family": {"dimensions": [2], "lengths": [4, 3]}}, "family.lengths", "out-of-range"),
     ({"shapes": [[6, 5]], "exact": True}, "shapes.0", "out-of-range"),
     ({"shapes": [[5, 5]], "weights": [1]}, "shapes.0", "out-of-range")],
)  # fmt: skip
def test_isoperimetries_that_are_refused(keys: dict[str, Any], path: str, code: str, tmp_path: Path) -> None:
    shutil.copy(CONFIGS / "extensions/isoperimetry.py", tmp_path)
    analyses = {"p": {"kind": "isoperimetry", **keys}}
    with pytest.raises(ConfigError) as caught:
        study = {**ALONE, "extensions": ["isoperimetry.py"], "figures": [], "claims": [], "analyses": analyses}
        validate_study(study, tmp_path / "study.yaml")
    assert (caught.value.path, caught.value.code) == (f"analyses.p.{path}", code)


@pytest.mark.parametrize(
    ("change", "code"),
    [({"columns": ["blocks"]}, "out-of-range"), ({"analysis": None}, "missing-key"),
     ({"columns": ["blocks", "shape"]}, "unknown-name"), ({"rows": []}, "out-of-range")],
)  # fmt: skip
def test_printed_rows_that_cannot_be_compared(change: dict[str, Any], code: str) -> None:
    claim = ALONE["claims"][0]
    part = claim["parts"][0]
    changed = {**claim, "parts": [{**part, "measure": {**part["measure"], **change}}]}
    with pytest.raises(ConfigError) as caught:
        validate_study({**ALONE, "claims": [changed]})
    assert caught.value.code == code
