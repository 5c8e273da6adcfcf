"""Engines of extensions: the toy of the documentation, and what broken ones do to a study."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import yaml

from fabricstudy.cli import main
from fabricstudy.core import returned
from fabricstudy.core.arrays import Floats
from fabricstudy.core.extensions import LOADED, unload_extensions
from fabricstudy.core.model import ConfigError
from fabricstudy.core.store import point_store
from fabricstudy.engine import engine_check
from fabricstudy.engine.attempt import TRACEBACK_FILE
from fabricstudy.engine.batch import run_batch
from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.definitions import built
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.failures import Unsupported
from fabricstudy.engine.registry import engine_of, engines
from fabricstudy.engine.settings import EngineSettings
from fabricstudy.engine.simulator import Simulator
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.engine.validity import is_valid, is_valid_with_same_input
from fabricstudy.routing.base import Routing
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import plan
from fabricstudy.table.agreement import engine_names
from fabricstudy.workflow.pipeline import Pipeline

from ...machines import DRAGONFLY, place_jobs, point_on

PAGE = (Path(__file__).resolve().parents[3] / "docs/add-a-simulator.md").read_text()
BLOCKS = dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", PAGE, re.M | re.S))
LINE = {"kind": "mesh", "shape": [4], "nodes_per_router": 2, "bandwidth": "1 GB/s", "latency": "100 ns"}
TWO_JOBS = [
    {"name": name, "pattern": {"kind": "gather", "algorithm": "linear", "message": "1 MB"},
     "allocation": {"kind": "explicit", "nodes": nodes}}
    for name, nodes in (("a", [2, 0]), ("b", [3, 1]))
]  # fmt: skip
STUDY: dict[str, Any] = {
    "study": "toy", "extensions": ["linksim_engine.py"], "machine": LINE, "routing": "minimal", "jobs": TWO_JOBS,
    "engine": "linksim", "limits": {"time": "5 s"},
}  # fmt: skip


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Unload the extensions of a test: several define one name."""
    yield
    for package in list(LOADED):
        unload_extensions(package)


def write(folder: Path, *changes: tuple[str, str], program: str = BLOCKS["linksim.py"], **sections: Any) -> Path:
    """Write the toy and a study; each change replaces a part of the engine, which it must have."""
    engine = BLOCKS["linksim_engine.py"]
    for old, new in changes:
        assert old in engine
        engine = engine.replace(old, new)
    folder.mkdir(exist_ok=True)
    (folder / "linksim_engine.py").write_text(engine)
    (folder / "linksim.py").write_text(program)
    path = folder / "toy.yaml"
    path.write_text(yaml.safe_dump({name: value for name, value in (STUDY | sections).items() if value is not None}))
    return path


def simulated(path: Path, folder: Path) -> dict[str, Any]:
    """Return the records of all batches of a study, by engine; there is one point per engine."""
    pipeline = Pipeline(path, plan(load_study(path)))
    records: dict[str, Any] = {}
    for name, batch in pipeline.batches.items():
        out = folder / f"{name}.jsonl"
        run_batch(batch, point_store(folder), lambda one: built(one.point.machine), out, folder / f"{name}.parquet")
        records |= {record["engine"]: record for record in map(json.loads, out.read_text().splitlines())}
    return records


def test_the_toy_is_an_engine(tmp_path: Path) -> None:
    """Two streams of 1 MB on a cable of 1 GB/s: 2 ms, and three latencies of 100 ns; 2 MB on one link."""
    path = write(tmp_path)
    record = simulated(path, tmp_path)["linksim"]
    assert record["status"] == "done", record["reason"]
    assert [job["runtime_ns"] for job in record["jobs"]] == pytest.approx([2_000_300.0] * 2, rel=1e-12)
    assert [row["load_max_bytes"] for row in record["links"]] == [2e6]
    # The record is valid, and a change of engine or program makes it invalid.
    (planned,) = plan(load_study(path)).points.values()
    store = point_store(tmp_path)
    stored = store.record(planned.point_id)
    assert is_valid(stored, planned.point)
    (tmp_path / "linksim.py").write_text(BLOCKS["linksim.py"] + "\n# changed\n")
    assert not is_valid(stored, planned.point) and not is_valid_with_same_input(stored, planned.point)
    changed = write(tmp_path, ("self.slowness", "self.slowness / 1.0"))
    (other,) = plan(load_study(changed)).points.values()
    assert other.point_id != planned.point_id


def test_settings_are_keys_with_names_in_tables(tmp_path: Path) -> None:
    values = {"toy": "linksim", "slow": {"kind": "linksim", "slowness": 2}, "packet": "packet"}
    path = write(tmp_path, sweep={"simulator": {"of": "engine", "values": values}})
    study = plan(load_study(path))
    assert sorted(engine_names(study).values()) == ["linksim", "linksim (slow)", "packet"]
    slow = next(one for one in study.points.values() if getattr(one.point.engine, "slowness", 1) == 2)
    record = simulate_in_folder(slow, tmp_path / "run", study.study.limits)["record"]
    assert record["jobs"][0]["runtime_ns"] == pytest.approx(4_000_300.0)


REFUSED: dict[str, dict[str, Any]] = {
    "its own reason": {"jobs": [{"share": 1.0, "pattern": {"kind": "all-reduce", "message": "1 kB"}}]},
    "parallel cables": {"machine": LINE | {"kind": "torus", "shape": [2, 3], "pair_cables": 2}},
    "operations": {"jobs": [TWO_JOBS[0] | {"compute": "1 us"}]},
    "background": {"jobs": [TWO_JOBS[0], TWO_JOBS[1] | {"background": True}]},
    "starts": {"jobs": [TWO_JOBS[0], TWO_JOBS[1] | {"start": "1 us"}]},
    "ports": {"network": {"ports_per_node": 2}},
    "channels": {"network": {"virtual_channels": 2}},
    "offered traffic": {"jobs": None, "offered": {"traffic": "uniform", "load": 0.1}},
}


@pytest.mark.parametrize("sections", REFUSED.values(), ids=REFUSED)
def test_what_it_cannot_do_is_a_row(sections: dict[str, Any], tmp_path: Path) -> None:
    record = simulated(write(tmp_path, **sections), tmp_path)["linksim"]
    assert record["status"] == "unsupported" and record["reason"]


def names_in(text: str) -> set[str]:
    return set(re.findall(r"`([a-z_]+)(?:\([^`]*\)| = [^`]*)?`", text))


def test_the_page_lists_what_a_simulator_has() -> None:
    members = {name for name in vars(Simulator) if not name.startswith("_")} - {*vars(EngineSettings), "model_config"}
    derived = {"variable", "program_path"}  # what `program` names
    assert members - derived <= names_in(PAGE)


def test_bundled_engines_have_the_contract_of_extensions_and_no_more() -> None:
    """By its types the core calls members of `Simulator` only, see `make lint`."""
    for name, engine in engines().items():
        assert type(engine) is Engine and issubclass(engine.kind, Simulator), name


def test_what_differs_from_the_study_is_for_latencies_without_load(tmp_path: Path) -> None:
    methods = """
    def stored_bytes(self, point): return 64.0
    def host_latencies_ns(self, point): return 50.0
    def expected_routing(self, point): return Valiant()

"""
    head = ("class Linksim", "from fabricstudy.routing.valiant import Valiant\n\n\nclass Linksim")
    path = write(tmp_path, ("    slowness:", methods + "    slowness:"), head)
    (planned,) = plan(load_study(path)).points.values()
    point, machine = planned.point, planned.point.machine.build()
    engine = engine_of(point.engine)
    assert engine.stored_bytes(point, machine) == 64.0 and engine.host_latencies_ns(point, machine) == 50.0
    assert engine.expected_routing(point).kind == "valiant"


def test_features_that_it_knows_are_not_refused(tmp_path: Path) -> None:
    change = ("    slowness: Number", '    features = frozenset({"network.virtual_channels"})\n\n    slowness: Number')
    path = write(tmp_path, change, network={"virtual_channels": 2})
    assert simulated(path, tmp_path)["linksim"]["status"] == "done"


@pytest.mark.parametrize(
    ("member", "words"),
    [
        (
            'features = frozenset({"routing: ecpm"})',
            ["Linksim.features", "'routing: ecpm'", "'routing: ecmp'", "jobs.load"],
        ),
        ('features = "routing: ecmp"', ["Linksim.features", "'routing: ecmp'", "frozenset of str"]),
        ('feature: ClassVar = frozenset({"routing: ecmp"})', ["Linksim.feature", "'features'", "read_offered"]),
        ('feature: Any = ("routing: ecmp",)', ["Linksim.feature", "'features'"]),
        ('feature = frozenset({"routing: ecmp"})', ["feature", "routing: ecmp"]),
        ("def read_link(self, point, folder): return None", ["Linksim.read_link", "'read_links'"]),
        ("exit_codes = 0", ["Linksim.exit_codes", "tuple of int"]),
        ('caveats = ("rough",)', ["Linksim.caveats", "rough", "tuple of Caveat"]),
    ],
)
def test_a_member_that_is_not_of_the_contract_is_an_error_of_its_file(
    member: str, words: list[str], tmp_path: Path
) -> None:
    changes = ("    slowness: Number", f"    {member}\n\n    slowness: Number"), ("import Any", "import Any, ClassVar")
    with pytest.raises(ConfigError) as error:
        load_study(write(tmp_path, *changes))
    assert all(word in str(error.value) for word in ["linksim_engine.py", *words])


@pytest.mark.parametrize("member", ["read_lines: ClassVar = 1", "def links(self): return 0"])
def test_names_of_its_own_are_no_misspellings(member: str, tmp_path: Path) -> None:
    changes = ("    slowness: Number", f"    {member}\n\n    slowness: Number"), ("import Any", "import Any, ClassVar")
    assert load_study(write(tmp_path, *changes))


WRITE = '        return [sys.executable, str(self.program_path()), "links", "flows"]\n'
READ = '        return [{"runtime_ns": ended.get(job, 0.0)} for job in range(len(point.jobs))]\n'


def reading(text: str) -> tuple[str, str]:
    return READ, f"        return {text}\n"


def running(program: str) -> tuple[str, str]:
    return WRITE, f'        return [sys.executable, "-c", {program!r}]\n'


BROKEN: dict[str, tuple[tuple[str, str], str, bool]] = {
    "raises in write": ((WRITE, "        raise ZeroDivisionError\n"), "failed", True),
    "a missing file in write": ((WRITE, '        open("/no/such/file")\n'), "failed", True),
    "ends in write": ((WRITE, "        sys.exit(0)\n"), "failed", True),
    "no command": ((WRITE, "        return None\n"), "failed", True),
    "a text as command": ((WRITE, '        return "linksim links flows"\n'), "failed", True),
    "numbers in the command": ((WRITE, "        return [1, 2]\n"), "failed", True),
    "no such program": ((WRITE, '        return ["no-such-program"]\n'), "failed", False),
    "raises in unsupported": (("        return None\n", "        raise KeyError('x')\n"), "failed", True),
    "raises in read": (reading("[][1]"), "failed", True),
    "nonsense": (reading('"fast"'), "failed", True),
    "a list of numbers": (reading("[1.0, 2.0]"), "failed", True),
    "one row for two jobs": (reading('[{"runtime_ns": 1.0}]'), "failed", True),
    "three rows for two jobs": (reading('[{"runtime_ns": 1.0}] * 3'), "failed", True),
    "no runtime": (reading("[{}, {}]"), "failed", True),
    "not a number": (reading('[{"runtime_ns": float("nan")}] * 2'), "failed", True),
    "a negative time": (reading('[{"runtime_ns": -1.0}] * 2'), "failed", True),
    "a text as time": (reading('[{"runtime_ns": "1"}] * 2'), "failed", True),
    "an unknown key": (reading('[{"runtime_ns": 1.0, "runtime": 1.0}] * 2'), "failed", True),
    "links of another machine": (("point.machine.links)", "3)"), "failed", True),
    "exit code 0 without output": (running("pass"), "failed", False),
    "exit code 3": (running("raise SystemExit(3)"), "failed", False),
    "a crash": (running("import os; os.abort()"), "failed", False),
    "never ends": (running("import time; time.sleep(60)"), "timeout", False),
    "floods the disk": (running("f = open('big', 'wb')\nwhile 1: f.write(bytes(2**20))"), "failed", False),
    "floods its output": (running("while 1: print('x' * 2**16)"), "failed", False),
    "takes all memory": (running("x = []\nwhile 1: x.append(b'x' * 2**24)"), "out-of-memory", False),
}


@pytest.mark.parametrize(("change", "status", "has_traceback"), BROKEN.values(), ids=BROKEN)
def test_a_broken_engine_loses_its_own_points_only(
    change: tuple[str, str], status: str, has_traceback: bool, tmp_path: Path
) -> None:
    sweep = {"engine": {"of": "engine", "values": ["linksim", "analysis"]}}
    limits = {"time": "2 s", "memory": "200 MB", "disk": "50 MB"}
    records = simulated(write(tmp_path, change, sweep=sweep, limits=limits), tmp_path)
    assert records["analysis"]["status"] == "done"
    record = records["linksim"]
    assert record["status"] == status and record["reason"]
    traceback = point_store(tmp_path).folder(record["point_id"]) / TRACEBACK_FILE
    assert traceback.exists() is has_traceback
    kept = sum(file.stat().st_size for file in traceback.parent.iterdir())
    assert kept < 1_000_000


@pytest.mark.parametrize("place", [WRITE, READ])
def test_a_method_that_never_returns_is_stopped(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(returned, "METHOD_S", 0.2)
    endless = (
        "        while True:\n            try:\n                while True: pass\n            except ValueError: pass\n"
    )
    for change in ("        while True: pass\n", endless.replace("ValueError", "KeyError")):
        record = simulated(write(tmp_path, (place, change)), tmp_path)["linksim"]
        assert record["status"] == "failed" and "0.2 s" in record["reason"]


def test_a_missing_program_skips_its_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, ('"./linksim.py"', '"no-such-simulator"'))
    record = simulated(path, tmp_path)["linksim"]
    assert record["status"] == "skipped" and "FABRICSTUDY_LINKSIM" in record["reason"]
    monkeypatch.setenv("FABRICSTUDY_LINKSIM", sys.executable)
    (planned,) = plan(load_study(path)).points.values()
    assert engine_of(planned.point.engine).probe().found


def test_a_probe_that_raises_is_a_missing_program(tmp_path: Path) -> None:
    change = ("    def _rate", "    @classmethod\n    def probe(cls):\n        raise KeyError\n\n    def _rate")
    assert simulated(write(tmp_path, change), tmp_path)["linksim"]["status"] == "skipped"


def test_two_studies_may_have_engines_of_one_name(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a"), write(tmp_path / "b", ("/ 1e9 /", "/ 2e9 /"))
    runtimes = []
    plans = [plan(load_study(path)) for path in (first, second)]  # both are known at the same time
    for number, study in enumerate(plans):
        (planned,) = study.points.values()
        record = simulate_in_folder(planned, tmp_path / str(number), study.study.limits)["record"]
        runtimes.append(record["jobs"][0]["runtime_ns"])
    assert runtimes == pytest.approx([2_000_300.0, 4_000_300.0])


def test_the_plan_learns_its_forecast(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is known before a point is finished; then the time of the others follows from its own."""
    path = write(tmp_path, seeds=2)
    arguments = ["plan", str(path), "--json", "--results", str(tmp_path)]

    def summary() -> dict[str, Any]:
        capsys.readouterr()
        assert main(arguments) == 0
        return dict(json.loads(capsys.readouterr().out))

    before = summary()
    assert (before["unknown"], before["cpu_s"]) == ({"linksim": 2}, 0)
    record = simulated(path, tmp_path)["linksim"]
    assert record["status"] == "done"
    more = write(tmp_path, seeds=4)
    arguments[1] = str(more)
    after = summary()
    used_s = [point_store(tmp_path).record(key) for key in plan(load_study(path)).points]
    mean_s = np.mean([one["cpu_s"] + one["overhead_cpu_s"] for one in used_s if one])
    assert after["unknown"] == {} and after["new"] == 2
    assert after["cpu_s"] == pytest.approx(2 * mean_s, abs=1e-3)


def test_the_check_finds_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that takes exit code 0 for a result, one with links that are too fast, and one that refuses."""
    monkeypatch.setattr(engine_check, "HANG_S", 0.5)

    def verdicts(*changes: tuple[str, str]) -> dict[str, str]:
        write(tmp_path, *changes)
        capsys.readouterr()
        arguments = ["--extensions", str(tmp_path / "linksim_engine.py"), "--check", "linksim", "--json"]
        code = main(["list", "engines", *arguments])
        found = {row["name"]: row["verdict"] for row in json.loads(capsys.readouterr().out)}
        assert code == int("does not hold" in found.values())
        return found

    right = verdicts()
    refused = {"two streams on parallel cables", "slowdown by a job that starts 5 ms later"}
    assert {name for name in right if right[name] != "holds"} == refused and len(right) >= 16
    # The rest needs some of these checks.
    some = {
        "a stream of 1 MB", "a stream on slow cables", "three senders to one node", "slowdown where nothing is shared",
        "direction of links", "same seed",
    }  # fmt: skip
    monkeypatch.setattr(engine_check, "_TIMES", tuple(one for one in engine_check._TIMES if one[0] in some))
    trusting = verdicts(('!= [["complete"]]', '== [["never"]]'))
    wrong = {name for name in trusting if trusting[name] != right[name]}
    assert wrong == {"a program that does nothing, with exit code 0"}
    fast = verdicts(("/ 1e9 /", "/ 0.5e9 /"))
    assert fast["a stream of 1 MB"] == fast["three senders to one node"] == "does not hold"
    assert fast["slowdown where nothing is shared"] == fast["same seed"] == "holds"
    equal = verdicts(("self._rate(edge['bandwidth_Bps'])", "self._rate(host.bandwidth_Bps)"))
    assert [name for name in equal if equal[name] != right[name]] == ["a stream on slow cables"]
    turned = verdicts(("load[int(link)]", "load[int(link) ^ 1]"))
    assert [name for name in turned if turned[name] != right[name]] == ["direction of links"]
    refusing = verdicts(("        return None\n", '        return "never"\n'))
    assert set(refusing.values()) == {"refused"}


@pytest.mark.parametrize("written", ["packet", "nothing", "{kind: linksim, slowness: 0}", "{"])
def test_what_cannot_be_checked(written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path)
    arguments = ["--extensions", str(tmp_path / "linksim_engine.py"), "--check", written]
    assert main(["list", "engines", *arguments]) != 0
    assert "Traceback" not in capsys.readouterr().err


MACHINES: dict[str, dict[str, Any]] = {
    "dragonfly": DRAGONFLY, "line": LINE,
    "parallel cables": {"kind": "torus", "shape": [2, 3], "nodes_per_router": 1, "pair_cables": 2,
                        "bandwidth": "1 GB/s"},
}  # fmt: skip


class TestBuiltPoint:
    """Helpers for a writer, against networkx and brute force."""

    @pytest.mark.parametrize("name", MACHINES)
    def test_the_graph_edges_and_ports_agree(self, name: str) -> None:
        point = point_on(MACHINES[name])
        built_point = BuiltPoint(point, point.machine.build())
        machine, graph, ports = built_point.machine, built_point.graph(), built_point.ports()
        assert graph.number_of_edges() == machine.cables + machine.nodes and nx.is_connected(graph)
        assert int(built_point.edges()["cables"].sum()) == machine.cables
        degrees = dict(graph.degree)
        for router, of_router in ports.groupby("router"):
            assert of_router["port"].tolist() == list(range(degrees["router", router]))
            pairs = of_router[["node", "neighbour"]].to_numpy().tolist()
            ends = sorted(("node", node) if node >= 0 else ("router", neighbour) for node, neighbour in pairs)
            assert ends == sorted(end for _, end, _ in graph.edges(("router", router), keys=True))
        links = ports.loc[ports["link"] >= 0, "link"]
        assert machine.link_tail[links].tolist() == ports.loc[ports["link"] >= 0, "router"].tolist()
        assert np.bincount(links).tolist() == np.repeat(machine.cable_count, 2).tolist()

    @pytest.mark.parametrize("name", MACHINES)
    def test_next_hops_of_minimal_routing_lead_along_shortest_paths(self, name: str) -> None:
        point = point_on(MACHINES[name])
        built_point = BuiltPoint(point, point.machine.build())
        hops, machine = built_point.next_hops(), built_point.machine
        graph = nx.Graph()
        weight = np.array(machine.hop_weight)[machine.link_class].tolist()
        for tail, head, of_link in zip(machine.link_tail.tolist(), machine.link_head.tolist(), weight, strict=True):
            graph.add_edge(tail, head, weight=of_link)
        away = dict(nx.all_pairs_dijkstra_path_length(graph))
        rows = list(zip(*(column.tolist() for column in hops), strict=True))
        for router, destination, link, following, _ in rows:
            assert machine.link_tail[link] == router and machine.link_head[link] == following
            assert away[following][destination] == away[router][destination] - weight[link]
        of_state: dict[tuple[int, int], float] = {}
        for router, destination, _, _, share in rows:
            of_state[router, destination] = of_state.get((router, destination), 0.0) + share
        assert list(of_state.values()) == pytest.approx([1.0] * len(of_state))
        with_nodes = set(machine.node_router.tolist())
        assert of_state.keys() >= {(a, b) for a in with_nodes for b in with_nodes if a != b}

    def test_routings_without_next_hops_are_refused(self) -> None:
        point = point_on(DRAGONFLY)
        point = point.model_copy(update={"routing": Routing.model_validate("valiant")})
        with pytest.raises(Unsupported):
            BuiltPoint(point, point.machine.build()).next_hops()

    def test_waits_are_cyclic_on_a_ring_and_not_on_a_line(self) -> None:
        cyclic = []
        for machine in (LINE, {"kind": "torus", "shape": [5], "nodes_per_router": 1, "bandwidth": "1 GB/s"}):
            point = point_on(machine)
            cyclic.append(BuiltPoint(point, point.machine.build()).has_cyclic_waits())
        assert cyclic == [False, True]

    def test_messages_and_operations_have_the_bytes_of_the_jobs(self) -> None:
        point = point_on(LINE, pattern="all-to-all", message="3 kB")
        machine = point.machine.build()
        built_point = BuiltPoint(point, machine, tuple(place_jobs(point, machine)))
        sent = built_point.messages()
        assert sorted(zip(sent.source.tolist(), sent.destination.tolist(), strict=True)) == [
            (a, b) for a in range(8) for b in range(8) if a != b
        ]
        (operations,) = built_point.operations()
        assert int(operations.size_bytes[operations.sends].sum()) == int(sent.size_bytes.sum()) == 56 * 3000

    @pytest.mark.parametrize(("traffic", "shares"), [("uniform", (1 - np.eye(8)) / 7), ("complement", np.eye(8)[::-1])])
    def test_the_traffic_matrix_has_the_shares(self, traffic: str, shares: Floats) -> None:
        point = point_on(LINE, jobs=[], offered={"traffic": traffic, "load": 0.5})
        assert BuiltPoint(point, point.machine.build(), load=0.5).traffic_matrix() == pytest.approx(shares)


@pytest.mark.parametrize(
    "change, renamed",
    [
        (("def read(self", "def raed(self"), "raed"),
        (("def write(self", "def wirte(self"), "wirte"),
        (("def read(self", "def outcome(self"), None),
    ],
)
def test_a_required_method_that_is_missing_is_told_when_the_file_is_loaded(
    change: tuple[str, str], renamed: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, change)
    assert main(["plan", str(path), "--json"]) == 1
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert error["code"] == "extension"
    assert renamed is None or error["remedy"] == f"rename {renamed}"


def test_an_engine_on_one_core_is_not_checked_on_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path)
    arguments = ["--extensions", str(tmp_path / "linksim_engine.py"), "--check", "{kind: linksim, processes: 2}"]
    assert main(["list", "engines", *arguments, "--json"]) != 0
    assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == "unsupported"
