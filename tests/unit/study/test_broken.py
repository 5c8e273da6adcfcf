"""Broken study files: each gives one clear line with file, path, value and remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabricstudy.errors import StudyError
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import plan

RING = {"kind": "ring", "message": "1 kB"}
EVEN = {"of": "machine.groups", "values": [8]}
CIRCULANT = {"of": "machine.arrangement", "values": ["circulant"]}


def explicit(*nodes: int) -> dict[str, Any]:
    """Give a job on these nodes."""
    return {"pattern": RING, "allocation": {"kind": "explicit", "nodes": list(nodes)}}


# changes to the valid study -> path in the file, then fragments of the message
MODELS: dict[str, tuple[dict[str, Any], str, tuple[str, ...]]] = {
    "unknown key": ({"machin": {}}, "machin", ("unknown key", "'machin'", "did you mean 'machine'?")),
    "unknown key below": ({"machine/group": 9}, "machine.group", ("unknown key", "did you mean 'groups'?")),
    "unknown key in a job": ({"jobs/0/shares": 1}, "jobs.0.shares", ("unknown key", "did you mean 'share'?")),
    "unknown key in a pattern": (
        {"jobs/0/pattern/mesage": 1}, "jobs.0.pattern.mesage", ("unknown key", "did you mean 'message'?"),
    ),
    "attribute instead of key": (
        {"jobs/0/pattern": {"kind": "ring", "message_bytes": "1 kB"}}, "jobs.0.pattern.message_bytes", ("unknown key",),
    ),
    "wrong unit": ({"machine/bandwidth/local": "1 GB"}, "machine.bandwidth.local", ("'1 GB'", "like '1 GB/s'")),
    "no unit": ({"machine/bandwidth": "1G"}, "machine.bandwidth", ("'1G'", "write it like '1 GB/s'")),
    "number without unit": ({"machine/latency": 40}, "machine.latency", ("without a unit", "40", "like '40 ns'")),
    "arithmetic": ({"machine/bandwidth": "9**9**9 GB/s"}, "machine.bandwidth", ("'9**9**9 GB/s'", "like '1 GB/s'")),
    "negative size": ({"jobs/0/pattern/message": "-1 kB"}, "jobs.0.pattern.message", ("'-1 kB'", "1 B to ")),
    "part of a byte": ({"jobs/0/pattern/message": "0.5 B"}, "jobs.0.pattern.message", ("'0.5 B'", "whole number")),
    "infinite bandwidth": ({"machine/bandwidth": "1e999 GB/s"}, "machine.bandwidth", ("finite", "'1e999 GB/s'")),
    "empty value": ({"jobs/0/pattern/message": None}, "jobs.0.pattern.message", ("like '100 kB'",)),
    "share over 1": ({"jobs/0/share": 1.5}, "jobs.0.share", ("too large", "1.5", "at most 1")),
    "bandwidth of no link": ({"machine/bandwidth": "1e30 GB/s"}, "machine.bandwidth", ("'1e30 GB/s'", "1 kB/s to ")),
    "limit of no time": ({"limits": {"time": "1 us"}}, "limits.time", ("'1 us'", "1 ms to ")),
    "limit of no memory": ({"limits": {"memory": "1 kB"}}, "limits.memory", ("'1 kB'", "1 MB to ")),
    "share of zero": ({"jobs/0/share": 0}, "jobs.0.share", ("too small", "above 0")),
    "share too small for a node": ({"jobs/0/share": 0.001}, "jobs.0.share", ("no node", "0.001", "raise its share")),
    "nan": ({"jobs/0/share": float("nan")}, "jobs.0.share", ("finite number", "nan")),
    "inf": ({"jobs/0/share": float("inf")}, "jobs.0.share", ("finite number", "inf")),
    "boolean for a number": ({"machine/groups": True}, "machine.groups", ("whole number", "True")),
    "boolean for a share": ({"jobs/0/share": True}, "jobs.0.share", ("number", "True")),
    "text for a number": ({"machine/groups": "9"}, "machine.groups", ("whole number", "'9'")),
    "fraction for a whole number": ({"machine/groups": 9.5}, "machine.groups", ("whole number", "9.5")),
    "text for a list": ({"jobs": "all"}, "jobs", ("a list", "'all'")),
    "no jobs": ({"jobs": []}, "jobs", ("too few", "at least 1")),
    "shares over 1 together": (
        {"jobs": [{"share": 0.6, "pattern": RING}, {"share": 0.6, "pattern": RING}]}, "jobs",
        ("sum to 1.2", "at most 1"),
    ),
    "job larger than the machine": (
        {"jobs/0": {"nodes": 73, "pattern": RING}}, "jobs.0.nodes", ("needs 73 nodes", "has 72", "smaller"),
    ),
    "jobs larger than the machine": (
        {"jobs": [{"nodes": 70, "pattern": RING}, {"nodes": 3, "pattern": RING}]}, "jobs.1.nodes",
        ("needs 3 nodes after 70", "has 72"),
    ),
    "no size": ({"jobs/0/share": ...}, "jobs.0", ("given 0 times", "exactly once")),
    "two sizes": ({"jobs/0/nodes": 3}, "jobs.0", ("given 2 times", "exactly once")),
    "one rank": (
        {"jobs/0": {"nodes": 1, "ranks_per_node": 1, "pattern": RING}}, "jobs.0.nodes",
        ("at least 2 ranks", "more nodes"),
    ),
    "more ranks than cores": ({"jobs/0/ranks_per_node": 3}, "jobs.0.ranks_per_node", ("2 cores", "3", "lower it")),
    "shape without dimensions": (
        {"jobs/0/pattern": {"kind": "stencil", "message": "1 kB", "shape": [12, 12]}}, "jobs.0.pattern",
        ("shape has 2 numbers", "make them agree"),
    ),
    "shape of other product": (
        {"jobs/0/pattern": {"kind": "stencil", "message": "1 kB", "shape": [2, 8, 8]}}, "jobs.0.pattern.shape",
        ("128 places for 144 ranks", "[2, 8, 8]"),
    ),
    "mapping by traffic of traffic by placement": (
        {"jobs/0/pattern/kind": "bisection", "jobs/0/mapping": "recursive-bisection"}, "jobs.0.mapping",
        ("recursive-bisection", "another mapping"),
    ),
    "circulant with even groups": (
        {"machine/groups": 8, "machine/arrangement": "circulant"}, "machine.arrangement",
        ("odd number of groups", "8 groups", "'circulant'", "relative"),
    ),
    "too large a machine": (
        {"machine/groups": 100_000, "machine/routers_per_group": 10_000}, "machine", ("too large", "stay below"),
    ),
    "unknown kind": ({"machine/kind": "kautz"}, "machine.kind", ("unknown kind", "'kautz'", "known: bluegene-p")),
    "unknown kind by name": ({"routing": "minmal"}, "routing", ("'minmal'", "did you mean 'minimal'?")),
    "unknown engine": ({"engine": "camino"}, "engine", ("unknown kind", "'camino'", "did you mean 'caminos'?")),
    "unknown arrangement": (
        {"machine/arrangement": "circular"}, "machine.arrangement", ("'circular'", "did you mean 'circulant'?"),
    ),
    "no kind": ({"machine/kind": ...}, "machine.kind", ("missing", "known: bluegene-p")),
    "no machine": ({"machine": ...}, "machine", ("missing", "add machine: ...")),
    "no groups": ({"machine/groups": ...}, "machine.groups", ("missing", "add groups: ...")),
    "kind alone lacks a key": ({"jobs/0/pattern": "ring"}, "jobs.0.pattern.message", ("missing", "add message: ...")),
    "study name with blanks": ({"study": "my study"}, "study", ("'my study'", "small letters")),
    "study name with quotes": ({"study": "a'b\"c"}, "study", ("not a name", "small letters")),
    "study name as a command": ({"study": "$(touch x)"}, "study", ("'$(touch x)'", "small letters")),
    "study name as a path": ({"study": "../up"}, "study", ("'../up'", "small letters")),
    "study name with line end": ({"study": "ab\n"}, "study", ("not a name", "small letters")),
    "bad job name": ({"jobs/0/name": "a b"}, "jobs.0.name", ("'a b'", "take letters")),
    "node listed twice": ({"jobs/0": explicit(1, 2, 1)}, "jobs.0.allocation.nodes", ("twice", "value: 1", "once")),
    "node out of range": (
        {"jobs/0": explicit(1, 72)}, "jobs.0.allocation.nodes", ("no such node", "72", "take 0 to 71"),
    ),
    "negative node": ({"jobs/0": explicit(-1, 2)}, "jobs.0.allocation.nodes.0", ("too small", "-1")),
    "node held by two jobs": (
        {"jobs": [explicit(1, 2), explicit(2, 3)]}, "jobs.1.allocation.nodes", ("job 0 holds the node", "value: 2"),
    ),
    "node that a cluster takes": (
        {"jobs": [{"nodes": 3, "pattern": RING}, explicit(2, 3)]}, "jobs.1.allocation.nodes",
        ("job 0 holds", "value: 2"),
    ),
    "explicit after random": (
        {"jobs": [{"nodes": 3, "pattern": RING, "allocation": "random"}, explicit(2, 3)]}, "jobs.1.allocation",
        ("may take these nodes", "explicit nodes first"),
    ),
    "mapping file missing": (
        {"jobs/0/mapping": {"kind": "file", "file": "no.txt"}}, "jobs.0.mapping.file", ("No such file", "'no.txt'"),
    ),
    "mapping file is a study": (
        {"jobs/0/mapping": {"kind": "file", "file": "a study.yaml"}}, "jobs.0.mapping.file", ("whole numbers",),
    ),
    "mapping file is a folder": (
        {"jobs/0/mapping": {"kind": "file", "file": "."}}, "jobs.0.mapping.file", ("cannot be read", "directory"),
    ),
    "limits in wrong unit": ({"limits": {"time": "10 GB"}}, "limits.time", ("'10 GB'", "like '10 min'")),
    "unknown path": (
        {"sweep/alpha/of": "machine.bandwith.global"}, "sweep.alpha.of",
        ("no such path", "'bandwith'", "'machine.bandwith.global'", "did you mean 'bandwidth'?"),
    ),
    "path below a value": (
        {"sweep/alpha/of": "machine.groups.x"}, "sweep.alpha.of", ("single value", "'machine.groups'"),
    ),
    "path into a list": ({"sweep/alpha/of": "jobs.pattern"}, "sweep.alpha.of", ("'jobs' is a list", "jobs.*")),
    "path beyond a list": ({"sweep/alpha/of": "jobs.1.share"}, "sweep.alpha.of", ("no position 1", "list of 1")),
    "path to a seed": ({"sweep/alpha/of": "seed"}, "sweep.alpha.of", ("no such path", "known: engine")),
    "unknown path in set": (
        {"sweep/alpha": {"set": {"a": {"machine.group": 9}}}}, "sweep.alpha.set.a.machine.group", ("no such path",),
    ),
    "short axis of no part": ({"sweep/speed": ["1 GB/s"]}, "sweep.speed.of", ("no such path", "known: engine")),
    "short axis without values": ({"sweep/routing": []}, "sweep.routing", ("no values",)),
    "axis with nothing": ({"sweep/alpha": {}}, "sweep.alpha", ("`of` and `values`",)),
    "axis without values": ({"sweep/alpha/values": ...}, "sweep.alpha", ("`of` and `values`",)),
    "axis with both": (
        {"sweep/alpha/set": {"a": {"machine.groups": 9}}}, "sweep.alpha", ("`of` and `values`, or `set`",),
    ),
    "values are no list": ({"sweep/alpha/values": "1 GB/s"}, "sweep.alpha.values", ("not a list", "'1 GB/s'")),
    "no values": ({"sweep/alpha/values": []}, "sweep.alpha.values", ("no values", "at least one")),
    "label twice": ({"sweep/alpha/values": ["1 GB/s", "1 GB/s"]}, "sweep.alpha.values.1", ("same label", "'1 GB/s'")),
    "mapping as label": (
        {"sweep/alpha/values": [{"kind": "x"}]}, "sweep.alpha.values.0", ("not a label", "{label: value}"),
    ),
    "wrong value": (
        {"sweep/alpha/values": {1: "1 GB/s", 2: "2 GB"}}, "sweep.alpha.values.2", ("'2 GB'", "write it like '1 GB/s'"),
    ),
    "wrong value deep inside": (
        {"sweep/p": {"of": "jobs.*.pattern", "values": {"a2a": {"kind": "all-to-all", "message": "1 k"}}}},
        "sweep.p.values.a2a.message", ("'1 k'", "like '100 kB'"),
    ),
    "wrong value of two axes": (
        {"sweep/arrangement/values": ["absolute", "circulant"], "sweep/groups": EVEN},
        "sweep.arrangement.values.circulant", ("8 groups", "'circulant'"),
    ),
    "machine too small at one label": (
        {"jobs/0": {"nodes": 70, "pattern": RING}, "sweep/groups": {"of": "machine.groups", "values": [9, 3]}},
        "sweep.groups.values.3", ("needs 70 nodes", "has 24", "groups=3"),
    ),
    "axis that undoes another": (
        {"sweep/machine": {"of": "machine.bandwidth", "values": ["1 GB/s"]}}, "sweep.machine",
        ("overwrites machine.bandwidth.global of axis 'alpha'", "put 'machine' before 'alpha'"),
    ),
    "reserved axis name": ({"sweep/seed": EVEN}, "sweep.seed", ("taken", "'seed'", "call it")),
    "axis called like a Python word": ({"sweep/class": EVEN}, "sweep.class", ("taken", "'class'")),
    "bad axis name": ({"sweep/Big Groups": EVEN}, "sweep.Big Groups", ("'Big Groups'", "small letters")),
    "number as axis name": ({"sweep/1": EVEN}, "sweep.1", ("not a name", "small letters")),
    "engine labelled otherwise": (
        {"sweep/engine": {"of": "engine", "values": {"fast": "caminos"}}}, "sweep.engine.values.fast",
        ("'fast'", "kind"),
    ),
    "zip of unequal lengths": (
        {"zip": [["arrangement", "alpha"]]}, "zip.0", ("arrangement has 2, alpha has 3", "equally many"),
    ),
    "zip of an unknown axis": (
        {"zip": [["alpha", "arangement"]]}, "zip.0", ("no such axis", "did you mean 'arrangement'?"),
    ),
    "zip of one axis": ({"zip": [["alpha"]]}, "zip.0", ("fewer than two",)),
    "zip of an axis twice": ({"zip": [["alpha", "alpha"]]}, "zip.0", ("named twice", "'alpha'")),
    "exclude of an unknown axis": (
        {"exclude": [{"alfa": 1}]}, "exclude.0.alfa", ("no such axis", "did you mean 'alpha'?"),
    ),
    "exclude of an unknown label": (
        {"exclude": [{"alpha": [1, 3]}]}, "exclude.0.alpha", ("no such label", "3", "0.5, 1, 2"),
    ),
    "exclude of nothing": ({"exclude": [{}]}, "exclude.0", ("everything", "name an axis")),
    "everything excluded": ({"exclude": [{"alpha": [0.5, 1, 2]}]}, "exclude", ("everything is excluded",)),
    "no seeds": ({"seeds": 0}, "seeds", ("number of seeds", "0", "take 1 to")),
    "negative seeds": ({"seeds": -2}, "seeds", ("number of seeds", "-2")),
    "empty list of seeds": ({"seeds": []}, "seeds", ("number of seeds",)),
    "boolean seeds": ({"seeds": True}, "seeds", ("number of seeds", "True")),
    "seed twice": ({"seeds": [1, 2, 1]}, "seeds.2", ("twice", "value: 1")),
    "negative seed": ({"seeds": [-1]}, "seeds.0", ("not a seed", "-1")),
    "text for true": ({"slowdown": "yes"}, "slowdown", ("true or false", "'yes'")),
    "experiments and a sweep": ({"experiments": {"a": {}}}, "sweep", ("either experiments or", "move it")),
    "bad experiment name": (
        {"sweep": ..., "experiments": {"$(x)": {}}}, "experiments.$(x)", ("'$(x)'", "small letters"),
    ),
    "wrong value in an experiment": (
        {"sweep": ..., "experiments": {"a": {"sweep": {"x": {"of": "machine.groups", "values": [1]}}}}},
        "experiments.a.sweep.x.values.1", ("too small", "at least 2"),
    ),
    "wrong set in an experiment": (
        {"sweep": ..., "experiments": {"a": {"set": {"machine.arrangement": "circulan"}}}},
        "experiments.a.set.machine.arrangement", ("did you mean 'circulant'?",),
    ),
    "unknown path in an experiment": (
        {"sweep": ..., "experiments": {"a": {"set": {"machine.size": 1}}}}, "experiments.a.set.machine.size",
        ("no such path", "known: arrangement"),
    ),
    "enormous product": (
        {f"sweep/x{n}": {"of": f"network.{key}", "values": {m: f"{m} {unit}" for m in range(1, 101)}}
         for n, (key, unit) in enumerate({"packet": "B", "buffer": "kB", "router_latency": "ns"}.items())},
        "sweep", ("6,000,000 points", "1,000,000"),
    ),
    "figure of an unknown axis": (
        {"figures": [{"id": "a", "kind": "line", "title": "a", "x": "beta", "y": "runtime_ns"}]}, "figures.0",
        ("no such axis", "'beta'"),
    ),
    "slowdown without jobs alone": (
        {"figures": [{"id": "a", "kind": "bar", "title": "a", "table": "interference", "x": "seed", "y": "slowdown"}]},
        "figures.0", ("not run alone", "'slowdown'", "slowdown: true"),
    ),
    "three mistakes": (
        {"machine/groups": "9", "machine/cores_per_node": 0, "limits": {"time": "1"}}, "machine.cores_per_node",
        ("too small", "(and 2 more mistakes)"),
    ),
}  # fmt: skip


def the_error(path: Path) -> str:
    """Give the message of the one error that a file makes."""
    with pytest.raises(StudyError) as caught:
        plan(load_study(path))
    return str(caught.value)


@pytest.mark.parametrize("kind", MODELS)
def test_broken_study(kind: str, write_study: Callable[[dict[str, Any]], Path]) -> None:
    changes, place, fragments = MODELS[kind]
    path = write_study(changes)
    message = the_error(path)
    assert message.startswith(f"{path}: {place}: ")
    assert "\n" not in message and "; " in message
    for fragment in fragments:
        assert fragment in message
    for jargon in ("pydantic", "Input should", "validation", "dragonfly.groups", "all-to-all.message"):
        assert jargon not in message


BOMB = "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdef", "bcdefg", strict=True)
)
# text of the file -> fragments of the message
TEXTS: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "empty": (b"", ("the file is empty", "configs/README.md")),
    "only a comment": (b"# nothing\n", ("the file is empty",)),
    "a list": (b"- a\n- b\n", ("the file is a list", "keys and values")),
    "a text": (b"hello\n", ("a single value", "keys and values")),
    "not YAML": (b"study: [a\nb: {", ("not plain YAML", "line ")),
    "two documents": (b"study: a\n---\nstudy: b\n", ("single document", "line 2")),
    "a tab": (b"study:\n\t- a\n", ("not plain YAML", "line 2")),
    "not UTF-8": (b"study: \xff\xfe\n", ("not UTF-8", "byte 7", "save it as UTF-8")),
    "UTF-16": ("study: a\n".encode("utf-16"), ("not UTF-8", "byte 0")),
    "a null character": (b"study: a\x00b\n", ("not plain YAML",)),
    "duplicate key": (b"study: a\nstudy: b\n", ("study: the key stands twice (again in line 2)",)),
    "duplicate key below": (b"a: {b: [{c: 1, c: 2}]}\n", ("a.b.0.c: the key stands twice", "'c'")),
    "duplicate label": (b"sweep: {x: {values: {1: a, 1.0: b}}}\n", ("sweep.x.values.1.0: the key stands twice",)),
    "list as key": (b"? [a, b]\n: c\n", ("key is a list",)),
    "Python tag": (b"study: !!python/object/apply:os.system ['touch x']\n", ("not plain YAML", "python/object")),
    "number tag on text": (b"study: !!int abc\n", ("not plain YAML", "abc")),
    "date tag on text": (b"study: !!timestamp abc\n", ("not plain YAML",)),
    "boolean tag on text": (b"study: !!bool abc\n", ("not plain YAML",)),
    "unknown alias": (b"study: *a\n", ("undefined alias",)),
    "alias bomb": (b"a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + BOMB.encode(), ("1,000,000 values", "smaller")),
    "alias of itself": (b"a: &a [*a]\n", ("too deeply nested",)),
    "deeply nested": (b"a: " + b"[" * 500 + b"]" * 500, ("too deeply nested",)),
    "never closed": (b"a: " + b"[" * 20_000, ("not plain YAML",)),
    "huge number": (b"seeds: " + b"9" * 5000, ("not plain YAML", "5000 digits")),
    "huge file": (b"#" * 10_000_001, ("10,000,001 bytes", "stay below")),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_broken_text(kind: str, tmp_path: Path) -> None:
    text, fragments = TEXTS[kind]
    path = tmp_path / "broken.yaml"
    path.write_bytes(text)
    message = the_error(path)
    assert message.startswith(f"{path}: ") and "\n" not in message and "; " in message
    for fragment in fragments:
        assert fragment in message
    assert list(tmp_path.iterdir()) == [path]


def test_file_missing(tmp_path: Path) -> None:
    assert f"{tmp_path / 'no.yaml'}: there is no such file" in the_error(tmp_path / "no.yaml")


def test_file_is_a_folder(tmp_path: Path) -> None:
    assert f"{tmp_path}: this is a folder; give a study file" in the_error(tmp_path)


def test_file_is_a_device() -> None:
    assert "/dev/null: this is not a regular file" in the_error(Path("/dev/null"))


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("0\nx\n", ("whole numbers",)),
        ("", ("exactly once",)),
        ("\n".join(["0"] * 144), ("each core from 0 to 143 exactly once",)),
        ("1\n0\n", ("2 lines for 144 ranks",)),
        ("\xff", ("whole numbers",)),
    ],
)
def test_mapping_file_garbage(
    text: str, fragments: tuple[str, ...], tmp_path: Path, write_study: Callable[[dict[str, Any]], Path]
) -> None:
    (tmp_path / "map.txt").write_text(text, encoding="latin-1")
    message = the_error(write_study({"jobs/0/mapping": {"kind": "file", "file": "map.txt"}}))
    assert ": jobs.0.mapping.file: " in message and "'map.txt'" in message
    for fragment in fragments:
        assert fragment in message


def test_valid_study_is_taken(write_study: Callable[[dict[str, Any]], Path]) -> None:
    """The changes above are what breaks the study."""
    assert len(plan(load_study(write_study({}))).rows) == 6
