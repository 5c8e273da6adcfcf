"""Properties of the sweep grammar, against counts and products made by hand."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricstudy.core.errors import ConfigError
from fabricstudy.study.figures import fulfils
from fabricstudy.study.file import validate_study
from fabricstudy.study.plan import plan

BASE: dict[str, Any] = {
    "study": "small",
    "machine": {
        "kind": "dragonfly",
        "groups": 9,
        "routers_per_group": 4,
        "nodes_per_router": 2,
        "bandwidth": "1 GB/s",
    },
    "routing": "minimal",
    "jobs": [
        {"name": "a", "share": 0.5, "pattern": {"kind": "ring", "message": "1 kB"}},
        {"name": "b", "share": 0.5, "pattern": {"kind": "ring", "message": "1 kB"}},
    ],
    "engine": "caminos",
}
# Axes over disjoint paths, and how to write values in one of two equal ways.
PATHS: dict[str, Callable[[int, bool], Any]] = {
    "machine.groups": lambda n, other: n + 3,
    "machine.bandwidth.global": lambda n, other: f"{1000 * (n + 1)} MB/s" if other else f"{n + 1} GB/s",
    "machine.latency": lambda n, other: f"{(n + 1) / 10} us" if other else f"{100 * (n + 1)} ns",
    "jobs.*.pattern.message": lambda n, other: f"{8 * (n + 1)} kb" if other else f"{n + 1} kB",
    "jobs.0.ranks_per_node": lambda n, other: 1,
    "network.buffer": lambda n, other: f"{(n + 1) * 1024} B" if other else f"{n + 1} KiB",
}


@st.composite
def sweeps(draw: st.DrawFn) -> dict[str, tuple[str, int]]:
    """Draw axes: name -> (path, number of values)."""
    paths = draw(st.permutations([path for path in PATHS if path != "jobs.0.ranks_per_node"]))
    count = draw(st.integers(0, 4))
    return {f"x{number}": (paths[number], draw(st.integers(1, 4))) for number in range(count)}


def study_data(axes: dict[str, tuple[str, int]], other: bool = False, **more: Any) -> dict[str, Any]:
    """Write a study with these axes, labelled 0, 1, ..."""
    data = copy.deepcopy(BASE)
    data["sweep"] = {
        name: {"of": path, "values": {n: PATHS[path](n, other) for n in range(count)}}
        for name, (path, count) in axes.items()
    }
    return data | more


def ids(data: dict[str, Any]) -> list[str]:
    """Return the ids of all rows."""
    return [row.point_id for row in plan(validate_study(data)).rows]


@given(sweeps(), st.integers(1, 3))
def test_rows_are_the_product_in_order(axes: dict[str, tuple[str, int]], seeds: int) -> None:
    rows = plan(validate_study(study_data(axes, seeds=seeds))).rows
    expected = itertools.product(*(range(count) for _, count in axes.values()), range(1, seeds + 1))
    assert [(*row.labels.values(), row.seed) for row in rows] == list(expected)
    assert len({row.point_id for row in rows}) == len(rows)


@given(sweeps(), st.randoms())
def test_order_of_axes_does_not_change_the_points(axes: dict[str, tuple[str, int]], random: Any) -> None:
    shuffled = list(axes.items())
    random.shuffle(shuffled)
    assert sorted(ids(study_data(axes))) == sorted(ids(study_data(dict(shuffled))))


@given(sweeps())
def test_ids_depend_on_physics_alone(axes: dict[str, tuple[str, int]]) -> None:
    """Names of study, jobs, axes and labels, and the way of writing quantities, change no id."""
    renamed = study_data(axes, other=True)
    renamed |= {"study": "another", "title": "x", "limits": {"time": "1 min"}}
    renamed["machine"]["bandwidth"] = {"local": "8 Gb/s", "global": "1e6 kB/s", "host": "1000 MB/s"}
    renamed["jobs"][0]["name"], renamed["jobs"][1]["name"] = "c", "d"
    renamed["jobs"][0]["allocation"] = {"kind": "cluster"}
    renamed["network"] = {"packet": "2000 B"}
    renamed["sweep"] = {
        f"y{number}": {"of": axis["of"], "values": {f"l{label}": v for label, v in axis["values"].items()}}
        for number, axis in enumerate(renamed["sweep"].values())
    }
    assert ids(renamed) == ids(study_data(axes))


@given(sweeps(), st.data())
def test_exclude_drops_what_matches(axes: dict[str, tuple[str, int]], data: st.DataObject) -> None:
    entries = []
    for _ in range(data.draw(st.integers(0, 2)) if axes else 0):
        names = data.draw(st.lists(st.sampled_from(sorted(axes)), min_size=1, unique=True))
        entries.append({n: data.draw(st.lists(st.integers(0, axes[n][1] - 1), min_size=1, unique=True)) for n in names})
    kept = [
        labels
        for labels in itertools.product(*(range(count) for _, count in axes.values()))
        if not any(all(labels[list(axes).index(n)] in wanted for n, wanted in entry.items()) for entry in entries)
    ]
    study = validate_study(study_data(axes, exclude=entries))
    if not kept:
        with pytest.raises(ConfigError) as caught:
            plan(study)
        assert (caught.value.code, caught.value.path) == ("point-count", "exclude")
        return
    assert [tuple(row.labels.values()) for row in plan(study).rows] == kept


@given(sweeps(), st.integers(2, 4))
def test_zip_moves_together(axes: dict[str, tuple[str, int]], length: int) -> None:
    """The zipped axes are one dimension that stands where the first of them does."""
    names = list(axes)
    zipped = names[::2]
    if len(zipped) < 2:
        return
    axes = {name: (path, length if name in zipped else count) for name, (path, count) in axes.items()}
    rows = plan(validate_study(study_data(axes, zip=[zipped[::-1]]))).rows
    free = [name for name in names if name not in zipped]
    assert len(rows) == length * len(list(itertools.product(*(range(axes[name][1]) for name in free))))
    assert all(len({row.labels[name] for name in zipped}) == 1 for row in rows)
    labels: list[Any] = [row.labels[names[0]] for row in rows]
    assert labels == sorted(labels)


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5, unique=True))
def test_seeds_are_taken_as_listed(seeds: list[int]) -> None:
    result = plan(validate_study(study_data({}, seeds=seeds)))
    assert [row.seed for row in result.rows] == seeds
    assert [result.points[row.point_id].point.seed for row in result.rows] == seeds


def test_a_list_is_short_for_an_axis_over_the_part_of_its_name() -> None:
    short = {"engine": ["caminos", "sst"], "routing": ["minimal", "valiant"]}
    full = {name: {"of": name, "values": values} for name, values in short.items()}
    ids = [list(plan(validate_study(BASE | {"sweep": axes})).points) for axes in (short, full)]
    assert len(ids[0]) == 4 and ids[0] == ids[1]


def test_set_changes_several_paths() -> None:
    data = BASE | {
        "sweep": {
            "size": {
                "set": {
                    "s": {"machine.groups": 5, "machine.routers_per_group": 2},
                    "m": {"machine.groups": 17},
                    "base": {},
                }
            }
        }
    }
    machines: list[Any] = [planned.point.machine for planned in plan(validate_study(data)).points.values()]
    assert [(machine.groups, machine.routers_per_group) for machine in machines] == [(5, 2), (17, 4), (9, 4)]


def test_mapping_replaces_and_kind_changes() -> None:
    """A mapping as value leaves nothing of what stood there; a path changes a part of it."""
    stencil = {"kind": "stencil", "message": "5 B", "periodic": True}
    data = BASE | {
        "sweep": {
            "pattern": {"of": "jobs.*.pattern", "values": {"halo": stencil, "idle": "idle"}},
            "first": {"of": "jobs.0.pattern.kind", "values": ["idle"]},
        },
        "exclude": [{"pattern": "halo"}],
    }
    (point,) = (planned.point for planned in plan(validate_study(data)).points.values())
    assert [job.pattern.kind for job in point.jobs] == ["idle", "idle"]
    data |= {"sweep": {"pattern": data["sweep"]["pattern"]}, "exclude": [{"pattern": "idle"}]}
    (point,) = (planned.point for planned in plan(validate_study(data)).points.values())
    patterns: list[Any] = [job.pattern for job in point.jobs]
    assert [pattern.periodic for pattern in patterns] == [True, True]


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        ("network.packet", "4 kB", lambda p: p.network.packet_bytes == 4000),
        ("jobs.1.mapping.kind", "random", lambda p: [j.mapping.kind for j in p.jobs] == ["linear", "random"]),
        ("jobs.*.mapping", "random", lambda p: [j.mapping.kind for j in p.jobs] == ["random", "random"]),
        ("engine.phit", "1 kB", lambda p: p.engine.phit_bytes == 1000),
        ("machine.latency.global", "1 us", lambda p: set(p.machine.latency.model_dump().values()) == {40, 1000}),
        ("machine.bandwidth.host", "2 GB/s", lambda p: p.machine.bandwidth.host_Bps == 2e9),
        ("routing", "ugal", lambda p: p.routing.kind == "ugal"),
        ("routing.kind", "valiant", lambda p: p.routing.kind == "valiant"),
    ],
)  # fmt: skip
def test_paths_that_the_base_does_not_write(path: str, value: Any, found: Callable[[Any], bool]) -> None:
    data = BASE | {"sweep": {"x": {"of": path, "values": [value]}}}
    (planned,) = plan(validate_study(data)).points.values()
    assert found(planned.point)


def test_labels_of_different_kinds_become_text() -> None:
    data = study_data({}) | {"sweep": {"x": {"of": "machine.groups", "values": {3: 3, "many": 9}}}}
    data["exclude"] = [{"x": 3}]
    assert [row.labels["x"] for row in plan(validate_study(data)).rows] == ["many"]
    data["exclude"] = [{"x": "many"}]
    assert [row.labels["x"] for row in plan(validate_study(data)).rows] == ["3"]


LABELS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.sampled_from(["1", "1.0", "0.5", "a", "True"]),
    st.booleans(),
)


@given(st.lists(LABELS, min_size=1, max_size=4))
def test_a_condition_on_a_label_selects_one_value(labels: list[Any]) -> None:
    """Labels that a condition cannot distinguish are refused: "1" and 1 became one label over two points."""
    values = {label: number + 3 for number, label in enumerate(dict.fromkeys(labels))}
    data = study_data({}) | {"sweep": {"x": {"of": "machine.groups", "values": values}}}
    try:
        rows = plan(validate_study(data)).rows
    except ConfigError as error:
        assert (error.code, error.path) == ("duplicate", "sweep.x.values")
        text = [str(label) for label in values]
        assert len(set(text)) < len(text)
        return
    for position, label in enumerate(values):
        assert [number for number, row in enumerate(rows) if fulfils(row.labels["x"], label)] == [position]


@pytest.mark.parametrize("label", [10**400, -(10**20), 2**53 + 1])
def test_a_number_that_no_column_holds_exactly_is_no_label(label: int) -> None:
    data = study_data({}) | {"sweep": {"x": {"of": "machine.groups", "values": {label: 3}}}}
    with pytest.raises(ConfigError) as caught:
        validate_study(data)
    assert (caught.value.code, caught.value.path) == ("out-of-range", "sweep.x.values")
