"""Broken study files: each gives one clear line with file, path, value and remedy."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabricstudy.study.file import load_study, parse_yaml
from fabricstudy.study.plan import plan

from .conftest import the_error, told

RAILS = {"kind": "rails", "domains": 4, "accelerators": 4, "bandwidth": "1 GB/s"}

RING = {"kind": "ring", "message": "1 kB"}
EVEN = {"of": "machine.groups", "values": [8]}
FIGURE = {"id": "a", "kind": "line", "title": "a", "x": "alpha", "y": "runtime_ns"}


def explicit(*nodes: int) -> dict[str, Any]:
    """Return a job on these nodes."""
    return {"pattern": RING, "allocation": {"kind": "explicit", "nodes": list(nodes)}}


CLAIM = {
    "id": "1", "statement": "a", "source": "b",
    "parts": [{"statement": "a number", "source_range": [1, None], "measure": {
        "kind": "crossing", "metric": "runtime_ns", "along": "alpha", "of": {"arrangement": "circulant"},
        "against": {"arrangement": "absolute"},
    }}],
}  # fmt: skip


# changes to the valid study -> path in the file, code of the mistake
MODELS: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown key": ({"machin": {}}, "machin", "unknown-key"),
    "unknown key below": ({"machine/group": 9}, "machine.group", "unknown-key"),
    "unknown key in a job": ({"jobs/0/shares": 1}, "jobs.0.shares", "unknown-key"),
    "unknown key in a pattern": (
        {"jobs/0/pattern/mesage": 1}, "jobs.0.pattern.mesage", "unknown-key",
    ),
    "attribute instead of key": (
        {"jobs/0/pattern": {"kind": "ring", "message_bytes": "1 kB"}}, "jobs.0.pattern.message_bytes", "unknown-key",
    ),
    "wrong unit": ({"machine/bandwidth/local": "1 GB"}, "machine.bandwidth.local", "invalid-quantity"),
    "no unit": ({"machine/bandwidth": "1G"}, "machine.bandwidth", "invalid-quantity"),
    "number without unit": ({"machine/latency": 40}, "machine.latency", "invalid-quantity"),
    "arithmetic": ({"machine/bandwidth": "9**9**9 GB/s"}, "machine.bandwidth", "invalid-quantity"),
    "negative size": ({"jobs/0/pattern/message": "-1 kB"}, "jobs.0.pattern.message", "out-of-range"),
    "part of a byte": ({"jobs/0/pattern/message": "0.5 B"}, "jobs.0.pattern.message", "out-of-range"),
    "infinite bandwidth": ({"machine/bandwidth": "1e999 GB/s"}, "machine.bandwidth", "out-of-range"),
    "empty value": ({"jobs/0/pattern/message": None}, "jobs.0.pattern.message", "missing-key"),
    "share over 1": ({"jobs/0/share": 1.5}, "jobs.0.share", "out-of-range"),
    "bandwidth of no link": ({"machine/bandwidth": "1e30 GB/s"}, "machine.bandwidth", "out-of-range"),
    "limit of no time": ({"limits": {"time": "1 us"}}, "limits.time", "out-of-range"),
    "limit of no memory": ({"limits": {"memory": "1 kB"}}, "limits.memory", "out-of-range"),
    "share of zero": ({"jobs/0/share": 0}, "jobs.0.share", "out-of-range"),
    "share too small for a node": ({"jobs/0/share": 0.001}, "jobs.0.share", "does-not-fit"),
    "nan": ({"jobs/0/share": float("nan")}, "jobs.0.share", "wrong-type"),
    "inf": ({"jobs/0/share": float("inf")}, "jobs.0.share", "wrong-type"),
    "boolean for a number": ({"machine/groups": True}, "machine.groups", "wrong-type"),
    "boolean for a share": ({"jobs/0/share": True}, "jobs.0.share", "wrong-type"),
    "text for a number": ({"machine/groups": "9"}, "machine.groups", "wrong-type"),
    "fraction for a whole number": ({"machine/groups": 9.5}, "machine.groups", "wrong-type"),
    "text for a list": ({"jobs": "all"}, "jobs", "wrong-type"),
    "no jobs": ({"jobs": []}, "jobs", "out-of-range"),
    "shares over 1 together": (
        {"jobs": [{"share": 0.6, "pattern": RING}, {"share": 0.6, "pattern": RING}]}, "jobs",
        "does-not-fit",
    ),
    "job larger than the machine": (
        {"jobs/0": {"nodes": 73, "pattern": RING}}, "jobs.0.nodes", "does-not-fit",
    ),
    "jobs larger than the machine": (
        {"jobs": [{"nodes": 70, "pattern": RING}, {"nodes": 3, "pattern": RING}]}, "jobs.1.nodes",
        "does-not-fit",
    ),
    "no size": ({"jobs/0/share": ...}, "jobs.0", "conflicting-keys"),
    "two sizes": ({"jobs/0/nodes": 3}, "jobs.0", "conflicting-keys"),
    "one rank": (
        {"jobs/0": {"nodes": 1, "ranks_per_node": 1, "pattern": RING}}, "jobs.0.nodes",
        "does-not-fit",
    ),
    "more ranks than cores": ({"jobs/0/ranks_per_node": 3}, "jobs.0.ranks_per_node", "does-not-fit"),
    "more ranks than the cores may have": (
        {"jobs/0/ranks_per_node": 7, "jobs/0/ranks_per_core": 3}, "jobs.0.ranks_per_node", "does-not-fit",
    ),
    "virtual ranks that compute": (
        {"jobs/0/ranks_per_core": 3, "jobs/0/compute": "20 us"}, "jobs.0.compute", "conflicting-keys",
    ),
    "shape without dimensions": (
        {"jobs/0/pattern": {"kind": "stencil", "message": "1 kB", "shape": [12, 12]}}, "jobs.0.pattern.shape",
        "out-of-range",
    ),
    "shape of other product": (
        {"jobs/0/pattern": {"kind": "stencil", "message": "1 kB", "shape": [2, 8, 8]}}, "jobs.0.pattern.shape",
        "does-not-fit",
    ),
    "mapping by traffic of traffic by placement": (
        {"jobs/0/pattern/kind": "bisection", "jobs/0/mapping": "recursive-bisection"}, "jobs.0.mapping",
        "unsupported",
    ),
    "circulant with even groups": (
        {"machine/groups": 8, "machine/arrangement": "circulant"}, "machine.arrangement",
        "invalid-machine",
    ),
    "too large a machine": (
        {"machine/groups": 100_000, "machine/routers_per_group": 10_000}, "machine", "out-of-range",
    ),
    "unknown kind": ({"machine/kind": "kautz"}, "machine.kind", "unknown-value"),
    "unknown kind by name": ({"routing": "minmal"}, "routing", "unknown-value"),
    "unknown engine": ({"engine": "camino"}, "engine", "unknown-value"),
    "unknown arrangement": (
        {"machine/arrangement": "circular"}, "machine.arrangement", "unknown-value",
    ),
    "no kind": ({"machine/kind": ...}, "machine.kind", "missing-key"),
    "no machine": ({"machine": ...}, "machine", "missing-key"),
    "no groups": ({"machine/groups": ...}, "machine.groups", "missing-key"),
    "kind alone lacks a key": ({"jobs/0/pattern": "ring"}, "jobs.0.pattern.message", "missing-key"),
    "study name with blanks": ({"study": "my study"}, "study", "invalid-name"),
    "study name with quotes": ({"study": "a'b\"c"}, "study", "invalid-name"),
    "study name as a command": ({"study": "$(touch x)"}, "study", "invalid-name"),
    "study name as a path": ({"study": "../up"}, "study", "invalid-name"),
    "study name with line end": ({"study": "ab\n"}, "study", "invalid-name"),
    "bad job name": ({"jobs/0/name": "a b"}, "jobs.0.name", "invalid-name"),
    "node listed twice": ({"jobs/0": explicit(1, 2, 1)}, "jobs.0.allocation.nodes", "duplicate"),
    "node out of range": (
        {"jobs/0": explicit(1, 72)}, "jobs.0.allocation.nodes", "unknown-name",
    ),
    "negative node": ({"jobs/0": explicit(-1, 2)}, "jobs.0.allocation.nodes.0", "out-of-range"),
    "node held by two jobs": (
        {"jobs": [explicit(1, 2), explicit(2, 3)]}, "jobs.1.allocation.nodes", "duplicate",
    ),
    "node that a cluster takes": (
        {"jobs": [{"nodes": 3, "pattern": RING}, explicit(2, 3)]}, "jobs.1.allocation.nodes",
        "duplicate",
    ),
    "explicit after random": (
        {"jobs": [{"nodes": 3, "pattern": RING, "allocation": "random"}, explicit(2, 3)]}, "jobs.1.allocation",
        "duplicate",
    ),
    "mapping file missing": (
        {"jobs/0/mapping": {"kind": "file", "file": "no.txt"}}, "jobs.0.mapping.file", "invalid-data-file",
    ),
    "mapping file is a study": (
        {"jobs/0/mapping": {"kind": "file", "file": "a study.yaml"}}, "jobs.0.mapping.file", "invalid-data-file",
    ),
    "mapping file is a folder": (
        {"jobs/0/mapping": {"kind": "file", "file": "."}}, "jobs.0.mapping.file", "invalid-data-file",
    ),
    "limits in wrong unit": ({"limits": {"time": "10 GB"}}, "limits.time", "invalid-quantity"),
    "unknown path": (
        {"sweep/alpha/of": "machine.bandwith.global"}, "sweep.alpha.of",
        "unknown-name",
    ),
    "path below a value": (
        {"sweep/alpha/of": "machine.groups.x"}, "sweep.alpha.of", "unknown-name",
    ),
    "path into a list": ({"sweep/alpha/of": "jobs.pattern"}, "sweep.alpha.of", "unknown-name"),
    "path beyond a list": ({"sweep/alpha/of": "jobs.1.share"}, "sweep.alpha.of", "unknown-name"),
    "path to a seed": ({"sweep/alpha/of": "seed"}, "sweep.alpha.of", "unknown-name"),
    "unknown path in set": (
        {"sweep/alpha": {"set": {"a": {"machine.group": 9}}}}, "sweep.alpha.set.a.machine.group", "unknown-name",
    ),
    "short axis of no part": ({"sweep/speed": ["1 GB/s"]}, "sweep.speed.of", "unknown-name"),
    "short axis without values": ({"sweep/routing": []}, "sweep.routing", "invalid-value"),
    "axis with nothing": ({"sweep/alpha": {}}, "sweep.alpha", "invalid-value"),
    "axis without values": ({"sweep/alpha/values": ...}, "sweep.alpha", "invalid-value"),
    "axis with both": (
        {"sweep/alpha/set": {"a": {"machine.groups": 9}}}, "sweep.alpha", "invalid-value",
    ),
    "values are no list": ({"sweep/alpha/values": "1 GB/s"}, "sweep.alpha.values", "wrong-type"),
    "no values": ({"sweep/alpha/values": []}, "sweep.alpha.values", "invalid-value"),
    "a key of the name of its kind": (
        {"machine": RAILS | {"rails": 0}, "sweep": ...},
        "machine.rails", "out-of-range",
    ),
    "a spine of a number": (
        {"machine": RAILS | {"spine": 5}, "sweep": ...},
        "machine.spine", "unknown-value",
    ),
    "label twice": ({"sweep/alpha/values": ["1 GB/s", "1 GB/s"]}, "sweep.alpha.values.1", "duplicate"),
    "mapping as label": (
        {"sweep/alpha/values": [{"kind": "x"}]}, "sweep.alpha.values.0", "invalid-value",
    ),
    "wrong value": (
        {"sweep/alpha/values": {1: "1 GB/s", 2: "2 GB"}}, "sweep.alpha.values.2", "invalid-quantity",
    ),
    "wrong value deep inside": (
        {"sweep/p": {"of": "jobs.*.pattern", "values": {"a2a": {"kind": "all-to-all", "message": "1 k"}}}},
        "sweep.p.values.a2a.message", "invalid-quantity",
    ),
    "wrong value of two axes": (
        {"sweep/arrangement/values": ["absolute", "circulant"], "sweep/groups": EVEN},
        "sweep.arrangement.values.circulant", "invalid-machine",
    ),
    "machine too small at one label": (
        {"jobs/0": {"nodes": 70, "pattern": RING}, "sweep/groups": {"of": "machine.groups", "values": [9, 3]}},
        "sweep.groups.values.3", "does-not-fit",
    ),
    "axis that undoes another": (
        {"sweep/machine": {"of": "machine.bandwidth", "values": ["1 GB/s"]}}, "sweep.machine",
        "conflicting-keys",
    ),
    "reserved axis name": ({"sweep/seed": EVEN}, "sweep.seed", "invalid-name"),
    "axis called like a Python word": ({"sweep/class": EVEN}, "sweep.class", "invalid-name"),
    "bad axis name": ({"sweep/Big Groups": EVEN}, "sweep.Big Groups", "invalid-name"),
    "number as axis name": ({"sweep/1": EVEN}, "sweep.1", "invalid-name"),
    "engine labelled otherwise": (
        {"sweep/engine": {"of": "engine", "values": {"fast": "caminos"}}}, "sweep.engine.values.fast",
        "invalid-value",
    ),
    "zip of unequal lengths": (
        {"zip": [["arrangement", "alpha"]]}, "zip.0", "invalid-value",
    ),
    "zip of an unknown axis": (
        {"zip": [["alpha", "arangement"]]}, "zip.0", "unknown-name",
    ),
    "zip of one axis": ({"zip": [["alpha"]]}, "zip.0", "invalid-value"),
    "zip of an axis twice": ({"zip": [["alpha", "alpha"]]}, "zip.0", "invalid-value"),
    "exclude of an unknown axis": (
        {"exclude": [{"alfa": 1}]}, "exclude.0.alfa", "unknown-name",
    ),
    "exclude of an unknown label": (
        {"exclude": [{"alpha": [1, 3]}]}, "exclude.0.alpha", "unknown-name",
    ),
    "exclude of nothing": ({"exclude": [{}]}, "exclude.0", "point-count"),
    "everything excluded": ({"exclude": [{"alpha": [0.5, 1, 2]}]}, "exclude", "point-count"),
    "no seeds": ({"seeds": 0}, "seeds", "invalid-value"),
    "negative seeds": ({"seeds": -2}, "seeds", "invalid-value"),
    "empty list of seeds": ({"seeds": []}, "seeds", "invalid-value"),
    "boolean seeds": ({"seeds": True}, "seeds", "invalid-value"),
    "seed twice": ({"seeds": [1, 2, 1]}, "seeds.2", "invalid-value"),
    "negative seed": ({"seeds": [-1]}, "seeds.0", "invalid-value"),
    "text for true": ({"slowdown": "yes"}, "slowdown", "wrong-type"),
    "experiments and a sweep": ({"experiments": {"a": {}}}, "sweep", "conflicting-keys"),
    "bad experiment name": (
        {"sweep": ..., "experiments": {"$(x)": {}}}, "experiments.$(x)", "invalid-name",
    ),
    "wrong value in an experiment": (
        {"sweep": ..., "experiments": {"a": {"sweep": {"x": {"of": "machine.groups", "values": [0]}}}}},
        "experiments.a.sweep.x.values.0", "out-of-range",
    ),
    "wrong set in an experiment": (
        {"sweep": ..., "experiments": {"a": {"set": {"machine.arrangement": "circulan"}}}},
        "experiments.a.set.machine.arrangement", "unknown-value",
    ),
    "unknown path in an experiment": (
        {"sweep": ..., "experiments": {"a": {"set": {"machine.size": 1}}}}, "experiments.a.set.machine.size",
        "unknown-name",
    ),
    "enormous product": (
        {f"sweep/x{n}": {"of": f"network.{key}", "values": {m: f"{m} {unit}" for m in range(1, 101)}}
         for n, (key, unit) in enumerate({"packet": "B", "buffer": "kB", "router_latency": "ns"}.items())},
        "sweep", "point-count",
    ),
    "figure of an unknown axis": (
        {"figures": [{"id": "a", "kind": "line", "title": "a", "x": "beta", "y": "runtime_ns"}]}, "figures.0",
        "unknown-name",
    ),
    "slowdown without jobs alone": (
        {"figures": [{"id": "a", "kind": "bar", "title": "a", "table": "interference", "x": "seed", "y": "slowdown"}]},
        "figures.0", "not-comparable",
    ),
    "study called like a store": ({"study": "points"}, "study", "invalid-name"),
    "study called like a store of structures": ({"study": "structures"}, "study", "invalid-name"),
    "long study name": ({"study": "a" * 300}, "study", "out-of-range"),
    "id of a figure as a path": ({"figures": [FIGURE | {"id": "../x"}]}, "figures.0.id", "invalid-name"),
    "unit that is none": ({"figures": [FIGURE | {"unit": "furlongs"}]}, "figures.0.unit", "invalid-quantity"),
    "unit of another kind": ({"figures": [FIGURE | {"unit": "kB"}]}, "figures.0.unit", "invalid-quantity"),
    "logarithm of texts": (
        {"figures": [FIGURE | {"x": "arrangement", "x_log": True}]}, "figures.0.x_log", "not-comparable",
    ),
    "bars that do not begin at 0": (
        {"figures": [FIGURE | {"kind": "bar", "from_zero": False}]}, "figures.0.from_zero", "conflicting-keys",
    ),
    "crossing along an axis that is fixed": (
        {"claims": [CLAIM]}, "claims.0.parts.0.measure.along", "unknown-name",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", MODELS)
def test_broken_study(kind: str, write_study: Callable[[dict[str, Any]], Path]) -> None:
    changes, place, code = MODELS[kind]
    path = write_study(changes)
    error = the_error(path)
    assert told(error) == [(code, place)] and error.file == str(path)


def test_all_mistakes_are_told(write_study: Callable[[dict[str, Any]], Path]) -> None:
    wrong = {"machine/groups": "9", "machine/cores_per_node": 0, "limits": {"time": "1"}, "seed": 3}
    assert set(told(the_error(write_study(wrong)))) == {
        ("wrong-type", "machine.groups"),
        ("out-of-range", "machine.cores_per_node"),
        ("invalid-quantity", "limits.time"),
        ("unknown-key", "seed"),
    }


def test_some_job_that_sends_is_not_in_the_background(write_study: Callable[[dict[str, Any]], Path]) -> None:
    ring = {"nodes": 4, "pattern": {"kind": "ring", "message": "1 kB"}}
    for others in ([], [{"nodes": 4, "pattern": "idle"}], [ring | {"background": True}]):
        jobs = [*others, ring | {"background": True}]
        first = next(number for number, job in enumerate(jobs) if "background" in job)
        assert told(the_error(write_study({"jobs": jobs}))) == [("conflicting-keys", f"jobs.{first}.background")]
    plan(load_study(write_study({"jobs": [ring | {"background": True}, ring]})))


def test_mistakes_of_all_points_and_experiments_are_told(write_study: Callable[[dict[str, Any]], Path]) -> None:
    groups = {"sweep": {"x": {"of": "machine.groups", "values": [0, 9, "a"]}}}
    routing = {"set": {"routing": "minmal"}}
    assert told(the_error(write_study({"sweep": ..., "experiments": {"a": groups, "b": routing}}))) == [
        ("out-of-range", "experiments.a.sweep.x.values.0"),
        ("wrong-type", "experiments.a.sweep.x.values.a"),
        ("unknown-value", "experiments.b.set.routing"),
    ]


def test_mistakes_of_an_engine_are_told_after_a_valid_point_of_the_same_machine(
    write_study: Callable[[dict[str, Any]], Path],
) -> None:
    engines = {"of": "engine", "values": {"a": "packet", "b": {"kind": "flow", "batching": 7}}}
    assert told(the_error(write_study({"sweep": {"e": engines}, "figures": [], "claims": []}))) == [
        ("out-of-range", "sweep.e.values.b.batching"),
    ]
    parts = {"a": {}, "b": {"set": {"engine": "flo"}}, "c": {"set": {"network": {"packet": 2}}}}
    assert told(the_error(write_study({"sweep": ..., "experiments": parts, "figures": [], "claims": []}))) == [
        ("unknown-value", "experiments.b.set.engine"),
        ("invalid-quantity", "experiments.c.set.network.packet"),
    ]


def test_mistakes_of_figures_are_told_beside_those_of_the_base(
    write_study: Callable[[dict[str, Any]], Path],
) -> None:
    figures = [FIGURE | {"x": "beta"}, FIGURE | {"id": "b", "y": "slowdown", "hue": "gamma"}, FIGURE]
    assert told(the_error(write_study({"jobs/0/share": 0.001, "figures": figures}))) == [
        ("does-not-fit", "jobs.0.share"),
        ("duplicate", "figures.2.id"),
        ("unknown-name", "figures.0"),
        ("unknown-name", "figures.1"),
    ]


def test_a_misspelt_key_is_not_also_missing(write_study: Callable[[dict[str, Any]], Path]) -> None:
    error = the_error(write_study({"jobs/0/pattern": {"kind": "ring", "mesage": "1 kB"}}))
    assert told(error) == [("unknown-key", "jobs.0.pattern.mesage")] and "'message'" in error.remedy


def test_what_there_is_stands_once_in_a_list(write_study: Callable[[dict[str, Any]], Path]) -> None:
    error = the_error(write_study({"sweep/alpha/of": "machine.colour"}))
    assert error.code == "unknown-name" and error.remedy.count("bandwidth") == 1


BOMB = "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdef", "bcdefg", strict=True)
)
# text of the file -> code of the mistake, path in the file
TEXTS: dict[str, tuple[bytes, str, str | None]] = {
    "empty": (b"", "invalid-yaml", None),
    "only a comment": (b"# nothing\n", "invalid-yaml", None),
    "a list": (b"- a\n- b\n", "invalid-yaml", None),
    "a text": (b"hello\n", "invalid-yaml", None),
    "not YAML": (b"study: [a\nb: {", "invalid-yaml", None),
    "two documents": (b"study: a\n---\nstudy: b\n", "invalid-yaml", None),
    "a tab": (b"study:\n\t- a\n", "invalid-yaml", None),
    "not UTF-8": (b"study: \xff\xfe\n", "file-unreadable", None),
    "UTF-16": ("study: a\n".encode("utf-16"), "file-unreadable", None),
    "a null character": (b"study: a\x00b\n", "invalid-yaml", None),
    "duplicate key": (b"study: a\nstudy: b\n", "invalid-yaml", "study"),
    "duplicate key below": (b"a: {b: [{c: 1, c: 2}]}\n", "invalid-yaml", "a.b.0.c"),
    "duplicate label": (b"sweep: {x: {values: {1: a, 1.0: b}}}\n", "invalid-yaml", "sweep.x.values.1.0"),
    "list as key": (b"? [a, b]\n: c\n", "invalid-yaml", None),
    "Python tag": (b"study: !!python/object/apply:os.system ['touch x']\n", "invalid-yaml", None),
    "number tag on text": (b"study: !!int abc\n", "invalid-yaml", None),
    "date tag on text": (b"study: !!timestamp abc\n", "invalid-yaml", None),
    "boolean tag on text": (b"study: !!bool abc\n", "invalid-yaml", None),
    "unknown alias": (b"study: *a\n", "invalid-yaml", None),
    "alias bomb": (b"a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + BOMB.encode(), "file-too-large", "f.7.8.8.8.8.9"),
    "alias of itself": (b"a: &a [*a]\n", "file-too-large", "a.0.0.0.0.0.0.0"),
    "deeply nested": (b"a: " + b"[" * 500 + b"]" * 500, "file-too-large", "a.0.0.0.0.0.0.0"),
    "never closed": (b"a: " + b"[" * 20_000, "invalid-yaml", None),
    "huge number": (b"seeds: " + b"9" * 5000, "file-too-large", "seeds"),
    "huge file": (b"#" * 10_000_001, "file-too-large", None),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_broken_text(kind: str, tmp_path: Path) -> None:
    text, code, place = TEXTS[kind]
    path = tmp_path / "broken.yaml"
    path.write_bytes(text)
    assert told(the_error(path)) == [(code, place)]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"study:\n\t- a\n", 2),
        (b"study: a\n---\nstudy: b\n", 2),
        (b"a: 1\nb: 1\na: 2\n", 3),
        (b"a: 1\nb: [1, 2\nc: 3\n", 2),
        (b"a: 1\nb: 'x\nc: 3\n", 2),
        (b"a: 1\nb 2\nc: 3\n", 2),
        (b"a:\n  - 1\n - 2\n", 3),
    ],
)
def test_the_line_of_a_mistake_in_the_text_is_told(text: bytes, line: int, tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_bytes(text)
    assert re.search(rf"line {line}[,)]", the_error(tmp_path / "broken.yaml").problem)


# YAML 1.1 makes of these 9, 90, 5430, a date, and true or false.
@pytest.mark.parametrize(
    "text",
    [
        "011",
        "1:30",
        "1:30:30",
        "2024-01-01",
        "on",
        "off",
        "yes",
        "No",
        "0o11",
        "1_0:0",
        "1_0",
        "1_000",
        "1__000",
        "1_000_",
        "10_00.5",
    ],
)
def test_what_yaml_would_change_stays_text(text: str, tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(LABELS.format(value="9", label=text))
    rows = plan(load_study(path)).rows
    assert [row.labels["alpha"] for row in rows] == ["plain", text]
    path.write_text(LABELS.format(value=text, label="other"))
    assert told(the_error(path)) == [("wrong-type", "machine.groups")]


LABELS = """\
study: labels
machine: {{kind: dragonfly, groups: {value}, routers_per_group: 4, nodes_per_router: 2, bandwidth: 1 GB/s}}
routing: minimal
jobs: [{{share: 1.0, pattern: {{kind: ring, message: 1 kB}}}}]
engine: caminos
sweep: {{alpha: {{of: machine.bandwidth.global, values: {{plain: 1 GB/s, {label}: 2 GB/s}}}}}}
claims:
  - id: c
    statement: A label is the same wherever it stands.
    source: test
    parts: [{{statement: ratio, source_range: [1, null], measure: {{
      kind: contrast, metric: runtime_ns, of: {{alpha: plain}}, against: {{alpha: {label}}}}}}}]
"""


@pytest.mark.parametrize(("text", "number"), [("1e1", 10.0), ("1.5", 1.5), ("0x1f", 31), ("-3", -3)])
def test_numbers_stay_numbers(text: str, number: float) -> None:
    assert parse_yaml(f"a: {text}") == {"a": number} and parse_yaml("[true, False]") == [True, False]


@pytest.mark.parametrize(
    ("place", "code"), [("no.yaml", "file-not-found"), (".", "file-unreadable"), ("/dev/null", "file-unreadable")]
)
def test_no_file_to_read(place: str, code: str, tmp_path: Path) -> None:
    assert told(the_error(tmp_path / place)) == [(code, None)]


@pytest.mark.parametrize("text", ["0\nx\n", "", "\n".join(["0"] * 144), "1\n0\n", "\xff"])
def test_mapping_file_garbage(text: str, tmp_path: Path, write_study: Callable[[dict[str, Any]], Path]) -> None:
    (tmp_path / "map.txt").write_text(text, encoding="latin-1")
    error = the_error(write_study({"jobs/0/mapping": {"kind": "file", "file": "map.txt"}}))
    assert told(error) == [("invalid-data-file", "jobs.0.mapping.file")] and "map.txt" in str(error)


def test_valid_study_is_taken(write_study: Callable[[dict[str, Any]], Path]) -> None:
    """The changes above are what breaks the study."""
    assert len(plan(load_study(write_study({}))).rows) == 6


def test_an_unknown_key_is_named_in_the_problem(write_study: Callable[[dict[str, Any]], Path]) -> None:
    error = the_error(write_study({"jobs/0/shares": 1}))
    assert "'shares'" in error.problem and error.value is None


@pytest.mark.parametrize(
    ("change", "meant"),
    [
        ({"machine": {"kind": "leaf-spine"}}, "xgft"),
        ({"machine": {"kind": "dragonfly", "a": 4}}, "routers_per_group"),
        ({"machine": {"kind": "torus", "dims": [4, 4]}}, "shape"), ({"routing": "dor"}, "dimension-order"),
        ({"jobs": [{"share": 1.0, "allocation": "contiguous", "pattern": "idle"}]}, "cluster"),
        ({"jobs": [{"share": 1.0, "pattern": {"kind": "halo"}}]}, "stencil"),
    ],
)  # fmt: skip
def test_names_of_the_literature_lead_to_those_in_use(
    write_study: Callable[[dict[str, Any]], Path], change: dict[str, Any], meant: str
) -> None:
    assert any(f"'{meant}'" in mistake.remedy for mistake in the_error(write_study(change)).each())
