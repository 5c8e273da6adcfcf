"""Candidates: which machines are offered, their bounds and front by hand, and the study that is written."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fabricstudy.analysis.candidates import ALL_TO_ALL_JOB, Candidates
from fabricstudy.analysis.pair_bytes import PairBytes
from fabricstudy.cli import main
from fabricstudy.machine.base import Topology
from fabricstudy.machine.proposals import abbreviation
from fabricstudy.machine.requirements import MachineRequirements
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.structure.pareto import is_pareto_efficient, representatives
from fabricstudy.structure.prices import Prices
from fabricstudy.study.figures import ScatterFigure
from fabricstudy.study.file import load_study, validate_study
from fabricstudy.workflow.candidates import miss_probability, nearest, simulated_front
from fabricstudy.workload.job import Job


def asked(**more: Any) -> Candidates:
    found = validate_study({"study": "x", "analyses": {"c": {"kind": "candidates", "nodes": 60, "radix": 12} | more}})
    one = found.analyses["c"]
    assert isinstance(one, Candidates)
    return one


def test_every_configuration_fits_and_can_be_built() -> None:
    wanted, seen = MachineRequirements(60, 66, 12, 50), set()
    for kind, one in Topology.FAMILY.members.items():
        assert issubclass(one, Topology)
        for written in one.configurations(wanted):
            config = one.model_validate(written | {"bandwidth": "1 GB/s"})
            machine = config.build()
            assert 60 <= machine.nodes <= 66 and machine.radix <= 12, written
            seen.add(kind)
    assert seen >= {"dragonfly", "express-mesh", "fat-tree", "hyperx", "jellyfish", "megafly", "mesh", "torus", "xgft"}


def test_five_percent_more_nodes_are_candidates_unless_the_study_says_how_many() -> None:
    sizes = {config.nodes for _, _, config in asked(nodes=200, families=["torus", "mesh", "hyperx"]).written()}
    assert min(sizes) >= 200 and 210 in sizes and max(sizes) <= 210
    sizes = {config.nodes for _, _, config in asked(nodes=200, families=["torus", "mesh"], max_nodes=220).written()}
    assert 210 < max(sizes) <= 220


def test_the_intervals_hold_what_the_full_search_finds() -> None:
    found = asked(families=["dragonfly", "megafly", "jellyfish", "slim-fly"], max_nodes=62).written()
    for config in [config for _, _, config in found if config.routers <= 20][::4]:
        machine = config.build()
        quick, full = bisection_bounds(machine, quickly=True), bisection_bounds(machine)
        assert quick.lower_Bps <= full.upper_Bps * (1 + 1e-9) and full.lower_Bps <= quick.upper_Bps * (1 + 1e-9)
        assert quick.lower_Bps <= full.lower_Bps * (1 + 1e-9)


def test_bounds_by_hand() -> None:
    """A leaf of 6 sends 6 x 54 kB up to s spines; a node sends 59 kB; both over 25 GB/s."""
    rows = {row["machine"]: row for row in asked(families=["xgft"], max_nodes=60).rows()}
    narrow = rows["xgft down 6x10, up 3, parallel 1"]
    assert narrow["bound_ns"] == pytest.approx(6 * 54_000 / 3 / 25)
    assert (
        narrow["taper_lower"] == narrow["taper_upper"] == pytest.approx(2)
        and narrow["bisection_lower_Bps"] == 15 * 25e9
    )
    wide = rows["xgft down 6x10, up 6, parallel 1"]
    assert wide["bound_ns"] == pytest.approx(6 * 54_000 / 6 / 25) or wide["bound_ns"] == pytest.approx(59_000 / 25)
    assert narrow["front"] == wide["front"] == 1 and narrow["price_per_node"] < wide["price_per_node"]
    assert [row["price_per_node"] for row in rows.values()] == sorted(row["price_per_node"] for row in rows.values())


def test_traffic_of_several_jobs_lies_one_after_the_other() -> None:
    ring = {"nodes": 4, "pattern": {"kind": "ring", "message": "1 kB", "iterations": 1}}
    rows = asked(families=["xgft"], jobs=[ring, ring], max_nodes=60).rows()
    # Each node sends to its neighbours within its leaf, and few leave it: hosts are the limit.
    assert len({row["bound_ns"] for row in rows}) == 1


def test_what_goes_within_a_router_costs_no_cable() -> None:
    traffic = PairBytes(np.array([0, 1, 2]), np.array([1, 0, 0]), np.array([1.0, 2.0, 4.0]), nodes=3)
    assert [part.tolist() for part in traffic.between(np.array([5, 5, 7]))] == [[7], [5], [4.0]]


def test_the_front_is_what_a_double_loop_finds() -> None:
    costs = np.random.default_rng(1).integers(0, 8, (200, 3)).astype(float)
    beaten = [any((one <= own).all() and (one < own).any() for one in costs) for own in costs]
    assert (~is_pareto_efficient(costs)).tolist() == beaten


@pytest.mark.parametrize(
    ("more", "path", "code"),
    [
        ({"families": ["dragonfy"]}, "families.0", "unknown-value"),
        ({"families": ["bluegene-q"]}, "families.0", "unknown-value"),
        ({"max_nodes": 50}, "max_nodes", "out-of-range"),
        (
            {"jobs": [{"share": 1.0, "pattern": {"kind": "bisection", "message": "1 kB"}}]},
            "jobs.0.pattern",
            "conflicting-keys",
        ),
        ({"jobs": [{"nodes": 61, "pattern": {"kind": "all-to-all", "message": "1 kB"}}]}, "jobs", "does-not-fit"),
        ({"bandwidth": "25 parsec"}, "bandwidth", None),
    ],
)
def test_mistakes_are_told(more: dict[str, Any], path: str, code: str | None) -> None:
    from fabricstudy.core.errors import ConfigError

    with pytest.raises(ConfigError) as error:
        asked(**more)
    assert error.value.path == f"analyses.c.{path}"
    assert code is None or error.value.code == code


def test_the_command_writes_a_study_that_can_be_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "next.yaml"
    line = f"machine candidates --nodes 60 --radix 12 --taper 4 --families xgft hyperx --write {file} --json"
    assert main(line.split()) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["front"] and all(row["taper_upper"] <= 4 for row in told["front"])
    study = load_study(file)
    assert set(study.sweep["machine"].values) == {row["machine"] for row in told["front"]}
    assert main(["plan", str(file), "--results", str(tmp_path), "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert planned["points"] == 2 * 3 * len(told["front"])  # routings, seeds
    figure = study.report_figures[0]
    assert isinstance(figure, ScatterFigure) and figure.front and (figure.x, figure.unit) == ("price_per_node", "us")
    assert max(map(len, study.sweep["machine"].values)) <= 40
    assert main(line.split()) != 0  # the file is there


def test_what_nothing_fits_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machine", "candidates", "--nodes", "500", "--radix", "3", "--families", "xgft"]) == 1
    assert "raise" in capsys.readouterr().err


@pytest.mark.parametrize("more", [["--radix", "1024"], ["--radix", "4", "--study", "study.yaml"]])
def test_what_would_take_much_memory_is_refused_before(
    more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ring = "{share: 1.0, pattern: {kind: ring, message: 1 kB}}"
    machine = "{kind: torus, shape: [8], bandwidth: 1 GB/s}"
    (tmp_path / "study.yaml").write_text(
        f"{{study: s, machine: {machine}, routing: minimal, jobs: [{ring}], engine: flow}}"
    )
    assert main(["machine", "candidates", "--nodes", "100000", "--families", "torus", "--json", *more]) == 1
    assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == "out-of-range"


OLD = {"kind": "xgft", "down": [10, 6], "up": [2], "bandwidth": "12.5 GB/s"}


def test_a_given_machine_is_listed_whatever_its_taper_and_price() -> None:
    """Its leaves of 12 ports and spines of 6 have the price of 12 each: 8 routers of 3,312.5 USD."""
    rows = {row["machine"]: row for row in asked(families=["xgft"], taper=1, given_machines={"old": OLD}).rows()}
    old = rows.pop("old")
    assert old["given"] == 1 and old["taper_lower"] == old["taper_upper"] == 5 and old["routers"] == 8
    assert all(row["given"] == 0 and row["taper_lower"] <= 1 for row in rows.values())
    cables = old["price_per_node"] * 60 - 8 * (350.4 * 12 - 892.3)
    assert 0 < cables < (60 + 12) * 100 * (0.4079 * 4 + 0.5771)


def test_prices_are_limited() -> None:
    rows = asked(families=["xgft"]).rows()
    dear = np.median([row["price_per_node"] for row in rows])
    cheap = asked(families=["xgft"], price_at_most=float(dear)).rows()
    assert [row["machine"] for row in cheap] == [row["machine"] for row in rows if row["price_per_node"] <= dear]
    both = asked(families=["xgft"], price_at_least=float(dear), price_at_most=float(dear) * 1.2).rows()
    assert [row["machine"] for row in both] == [
        row["machine"] for row in rows if dear <= row["price_per_node"] <= dear * 1.2
    ]
    assert 0 < len(both) < len(rows)


def test_equal_networks_share_a_row() -> None:
    """Networkx finds them isomorphic, and no two other rows with the same hops and degrees are."""
    one = asked(families=["dragonfly", "hyperx", "torus", "express-mesh"], max_nodes=62)
    graphs = {label: nx.Graph(list(zip(m.cable_tail, m.cable_head, strict=True)))
              for label, _, config in one.written() for m in [config.build()]}  # fmt: skip
    rows = one.rows()
    shared = [(row["machine"], other) for row in rows if row["equal"] for other in row["equal"].split("; ")]
    assert len(shared) >= 3 and len(rows) + len(shared) == len(graphs)
    assert all(nx.is_isomorphic(graphs[first], graphs[second]) for first, second in shared)


def test_lower_bounds_of_the_front_do_not_depend_on_the_others() -> None:
    one = asked(families=["dragonfly", "megafly"])
    full, front = one.rows(), [row for row, _ in one.found()]
    for column in ("front", "undecided"):
        assert [row for row in full if row[column]] == [row for row in front if row[column]]
    assert any(row["bisection_lower_Bps"] == 0 for row in front) and all(row["bisection_lower_Bps"] for row in full)


def test_trees_of_three_levels_need_not_use_all_ports() -> None:
    found = [written for _, written, _ in asked(families=["xgft"], nodes=216, radix=18).written()]
    trees = [(tuple(written["down"]), tuple(written["up"]), written.get("parallel", 1)) for written in found]
    assert ((6, 6, 6), (3, 3), 1) in trees and len(set(trees)) == len(found)


def test_the_command_compares_with_a_machine_and_kinds_of_ones_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.yaml").write_text(json.dumps({"machine": OLD}))
    (tmp_path / "own.py").write_text(
        "from fabricstudy.machine.xgft import XgftConfig\n\n\n"
        'class Own(XgftConfig, kind="own"):\n    """A tree."""\n\n    @classmethod\n'
        '    def configurations(cls, wanted):\n        yield {"down": [10, 6], "up": [2]}\n'
    )
    file = tmp_path / "next.yaml"
    line = f"machine candidates --nodes 60 --radix 12 --families own --extensions {tmp_path}/own.py"
    assert (
        main(
            [
                *line.split(),
                "--with",
                f"{tmp_path}/mine.yaml",
                "--all",
                "--prices",
                "mixnet-2025",
                "--write",
                str(file),
                "--json",
            ]
        )
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert [row["machine"] for row in found["all"]] == ["own down 10x6, up 2", "mine"]
    assert found["given"][0]["power_per_node_W"] is None
    assert found["given"][0]["bound_ns"] == 2 * found["front"][0]["bound_ns"]
    study = load_study(file)
    assert study.extensions == ("own.py",)
    assert [figure.normalise_to for figure in study.report_figures] == [{"machine": "mine"}] * 2  # type: ignore[union-attr]
    assert main(["plan", str(file), "--results", str(tmp_path)]) == 0


def test_prices_of_2025_by_hand() -> None:
    """A port of 400 Gb/s costs 1,090 USD; 10 m of cable two transceivers of 659 and 3 USD of fibre."""
    tariff = Prices.model_validate({"kind": "mixnet-2025", "port_Gbps": 400}).tariff()
    assert tariff.routers(np.array([64.0])).tolist() == [64 * 1090]
    assert tariff.cables(np.array([50e9]), np.array([10.0])) == pytest.approx([2 * 659 + 3])


THIN = {
    "kind": "megafly", "groups": 17, "leaves_per_group": 1, "spines_per_group": 1, "nodes_per_leaf": 13,
    "links_per_group_pair": 1, "links_per_local_pair": 2, "bandwidth": "25 GB/s",
}  # fmt: skip


def test_a_loose_cut_puts_no_machine_on_the_front() -> None:
    """Eight leaves with two cables each are cut off by 400 GB/s, and a tree is cheaper, faster and less tapered."""
    one = asked(families=["megafly", "xgft"], nodes=216, radix=18, price_at_most=1300, given_machines={"thin": THIN})
    rows = {row["machine"]: row for row in one.rows()}
    thin, tree = rows["thin"], rows["xgft down 12x18, up 6, parallel 1"]
    assert thin["bisection_upper_Bps"] == 16 * 25e9 and thin["taper_lower"] == pytest.approx(221 / 2 / 16)
    assert all(tree[key] < thin[key] for key in ("price_per_node", "bound_ns", "taper_upper"))
    assert (thin["front"], thin["undecided"], tree["front"]) == (0, 0, 1)
    assert not [label for label in rows if "megafly" in label and "l/g 1," in label]


@pytest.mark.parametrize("taper", [None, 2.5])
def test_the_front_is_by_proven_tapers(taper: float | None) -> None:
    """The other rows are beaten by a machine on the front, or undecided: the interval of the taper decides."""
    rows = asked(families=["dragonfly", "megafly", "hyperx", "xgft"], taper=taper).rows()
    proven, best = (
        np.array([(row["price_per_node"], row["bound_ns"], max(1, row[key])) for row in rows]).round(6)
        for key in ("taper_upper", "taper_lower")
    )
    front = np.array([row["front"] == 1 for row in rows])

    def beaten(costs: Any, by: Any) -> bool:
        return bool(((by <= costs).all(axis=1) & (by < costs).any(axis=1)).any())

    assert front.any() and not any(beaten(costs, proven[front]) for costs in proven[front])
    if taper:
        assert (proven[front, 2] <= taper).all() and (best[:, 2] <= taper).all()
    off = [row["undecided"] == (not beaten(costs, proven[front])) for row, costs in zip(rows, best, strict=True)]
    assert all(np.array(off)[~front])
    assert {row["undecided"] for row in rows} == {0, 1}


def test_the_front_by_another_price_list_is_that_of_a_search_with_it() -> None:
    more: dict[str, Any] = {"families": ["dragonfly", "jellyfish", "xgft", "torus"], "nodes": 100, "radix": 14}
    by_2014, by_2025 = asked(**more).rows(), asked(**more, prices="mixnet-2025").rows()
    labels = {row["machine"] for row in by_2025 if row["front"]}
    assert {row["machine"] for row in by_2014 if "mixnet-2025" in row["front_by"].split("; ")} == labels
    assert {row["machine"] for row in by_2014 if row["front"]} != labels


def test_abbreviations_are_unique() -> None:
    offered = MachineRequirements(60, 66, 12, 50)
    kinds: dict[str, Any] = dict(Topology.FAMILY.members)
    keys = {key for kind in kinds.values() for one in kind.configurations(offered) for key in one}
    assert len({abbreviation(key) for key in keys}) == len(keys)


def test_given_machines_have_short_labels(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["machine", "candidates", "--nodes", "60", "--radix", "12", "--families", "xgft", "hyperx", "--json"]
    text = json.dumps(OLD)
    assert main([*line, "--with", text, "--with", f"mine={text}"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["machine"] for row in found["given"]} == {"xgft, 60 nodes", "mine"}
    shown = {word for row in found["front"] + found["undecided"] for word in row["machine"].split() if "/" in word}
    assert shown and shown == set(found["abbreviations"])
    assert main([*line, "--with", text, "--with", text]) == 1
    assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == "duplicate"


def test_what_is_not_taken_from_the_study_of_the_jobs_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, source = tmp_path / "next.yaml", tmp_path / "mix.yaml"
    ring = {"nodes": 40, "pattern": {"kind": "ring", "message": "1 kB"}}
    sweep = {"placement": {"of": "jobs.*.allocation", "values": ["cluster", "random"]}}
    base = {"machine": OLD, "routing": "minimal", "engine": "flow", "jobs": [ring]}
    source.write_text(json.dumps({"study": "mix", **base, "sweep": sweep, "seeds": 5}))
    line = f"machine candidates --nodes 60 --radix 12 --families xgft --study {source} --write {file}"
    assert main(line.split()) == 0
    told = " ".join(capsys.readouterr().out.split())
    comment = " ".join(text[2:] for text in file.read_text().splitlines() if text.startswith("# "))
    for word in ("mix.yaml", "placement", "seeds", "routing", "engine"):
        assert word in comment
    assert comment in told and "placement" not in load_study(file).sweep


def test_complete_graphs_have_their_name_and_networks_parallel_cables() -> None:
    found = list(asked(families=["dragonfly", "hyperx", "mesh"], max_nodes=62, radix=16).written())
    for label, written, config in found:
        graph = nx.Graph(list(zip(*(getattr(config.build(), f"cable_{end}") for end in ("tail", "head")), strict=True)))
        pairs = config.routers * (config.routers - 1) // 2
        assert label.startswith("complete graph") == (graph.size() == pairs and written["kind"] != "dragonfly")
    kinds = {(written["kind"], key) for _, written, _ in found for key in written if key.startswith("links_per_")}
    assert kinds >= {("hyperx", "links_per_pair"), ("mesh", "links_per_pair"), ("dragonfly", "links_per_local_pair")}
    labels = {label for label, _, _ in found}
    assert "complete graph 10, n/r 6" in labels and "complete graph 4, n/r 15" not in labels
    assert not any("r/g 1," in label for label in labels)


def test_at_most_twenty_of_a_front_are_listed_and_the_others_are_about_as_good_as_one() -> None:
    rng = np.random.default_rng(3)
    costs = np.exp(3 * rng.dirichlet([1.0, 1.0, 1.0], 100))  # of one product, so that all are efficient
    chosen = representatives(costs, 20)
    assert is_pareto_efficient(costs).all() and len(chosen) == 20 == len(set(chosen))
    assert {int(costs[:, column].argmin()) for column in range(3)} <= set(chosen)

    def regrets(of: list[int]) -> list[float]:
        return [min(max(costs[own] / row) for own in of) for row in costs]

    farthest = max(regrets(chosen))
    assert farthest < max(regrets(chosen[:10])) and representatives(costs[:15], 20) == list(range(15))


def test_each_listed_machine_says_what_it_has_over_the_next_cheaper_one() -> None:
    rows = [row for row in asked(families=["dragonfly", "hyperx", "xgft"]).rows() if row["reason"]]
    assert 2 < len(rows) <= 20 and all(row["front"] for row in rows)
    assert "lowest price" in rows[0]["reason"]
    for cheaper, row in pairwise(rows):
        price = row["price_per_node"] / cheaper["price_per_node"] - 1
        assert f"{price:+.1%} price" in row["reason"]
        assert ("% bound" in row["reason"]) == (row["bound_ns"] < cheaper["bound_ns"] * (1 - 1e-9))


def test_whole_layers_nearest_to_the_front_are_simulated_and_a_sample_of_the_others() -> None:
    """Of a 20 x 20 grid of prices and bounds, layers are squares' lower corners: one point, then two, ..."""
    grid = [(price, bound) for price in range(1, 21) for bound in range(1, 21)]
    rows = [
        {"machine": f"{price} {bound}", "price_per_node": price, "bound_ns": bound, "taper_lower": 0.5}
        for price, bound in grid
    ]
    near, sample = nearest(rows, 20 + 25)
    assert sorted(grid[item] for item in near) == sorted(pair for pair in grid if sum(pair) <= 7)  # 1 + 2 + ... + 6
    assert len(set(sample)) == 20 and not set(sample) & set(near)
    assert nearest(rows[:30], 900) == (list(nearest(rows[:30], 900)[0]), [])
    least_taper = [*rows, {"machine": "last", "price_per_node": 20, "bound_ns": 20, "taper_lower": 2.0}]
    assert len(rows) not in nearest(least_taper, 45)[0]
    tapered = [row | {"taper_lower": 2.0} for row in rows]
    assert len(rows) in nearest([*tapered, least_taper[-1] | {"taper_lower": 1.0}], 45)[0]


@pytest.mark.parametrize("proven", [False, True])
def test_candidates_left_out_are_better_as_often_as_stated(proven: bool) -> None:
    """Times are bounds times a lognormal ratio; the expected number of those below a limit is that in 400 trials."""
    random, stated, better = np.random.default_rng(5), 0.0, 0
    for _ in range(400):
        bound_ns = random.uniform(50, 150, 300)
        ratios = np.exp(np.abs(random.normal(0.3, 0.1, 320)) if proven else random.normal(0.3, 0.1, 320))
        limit_ns = np.full(300, 70.0)
        stated += miss_probability(bound_ns, limit_ns, ratios[300:], proven).sum()
        better += (bound_ns * ratios[:300] < limit_ns).sum()
    assert better < stated < 1.3 * better
    assert miss_probability(np.array([70.0, 60.0]), np.full(2, 70.0), np.ones(1), proven).tolist() == [1 - proven, 1]


def test_a_simulation_of_candidates_needs_jobs_and_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    line = ["machine", "candidates", "--nodes", "60", "--radix", "12", "--json", "--simulate"]
    assert main(line) == 2
    assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == "usage"
    assert main([*line, "39"]) == 2


def test_jobs_that_flow_does_not_support_are_refused_before_the_search(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    line = ["machine", "candidates", "--nodes", "2000", "--radix", "36", "--json", "--simulate", "--study"]
    assert main([*line, "next-machine", "--write", str(tmp_path / "next.yaml")]) == 1
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert error["code"] == "unsupported"
    assert not list(tmp_path.iterdir())


def test_the_simulated_front_is_of_the_fastest_routing_of_each_candidate(tmp_path: Path) -> None:
    """a at 10 is slowest, b at 20 faster by UGAL, c at 30 no faster than b, d not simulated; e's bound is above b."""
    rows = [
        {"machine": name, "price_per_node": price, "bound_ns": bound_ns, "given": 0}
        for name, price, bound_ns in [("a", 10, 90.0), ("b", 20, 50.0), ("c", 30, 55.0), ("d", 40, 60.0),
                                      ("e", 50, 85.0), ("f", 60, 20.0)]
    ]  # fmt: skip
    times = [
        ("a", "minimal", 100, 1.1), ("a", "ugal", 100, 1.2), ("b", "minimal", 90, 1.0), ("b", "ugal", 60, 1.2),
        ("c", "minimal", 80, 1.0), ("c", "ugal", 80, None), ("d", "minimal", 66, None), ("d", "ugal", 70, None),
    ]  # fmt: skip
    folder = tmp_path / "s" / "tables"
    folder.mkdir(parents=True)
    table = pd.DataFrame(times, columns=["machine", "routing", "estimate_ns", "ratio"])
    table.to_parquet(folder / "screening.parquet")
    found = simulated_front("s", rows, ([0, 1], [2, 3]), [Job(share=1.0, pattern=ALL_TO_ALL_JOB.pattern)], tmp_path)
    assert [(row["machine"], row["routing"], row["time_ns"]) for row in found["simulated_front"]] == [
        ("a", "minimal", pytest.approx(110)), ("b", "ugal", pytest.approx(72)),
    ]  # fmt: skip
    assert [found[name] for name in ("on_flow", "simulated", "not_simulated", "certainly_worse")] == [4, 3, 2, 1]
    # Sampled: c took 80 of its bound of 55; d would take its estimate times the mean ratio.
    mean = np.exp(np.log([1.1, 1.2, 1.0, 1.2, 1.0]).mean())
    logs = np.log([80 / 55, 66 * mean / 60])
    distance = (np.log(72 / 20) - logs.mean()) / (logs.std(ddof=1) * np.sqrt(1.5))
    assert found["better_expected"] == pytest.approx(stats.t.cdf(distance, 1))


def test_jobs_are_checked_on_the_incumbent_where_no_candidate_fits(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "mine.yaml").write_text(json.dumps({"machine": OLD}))
    jobs = [{"share": 0.5, "pattern": {"kind": "ring", "message": "1 MB"}}] * 2
    study = {"study": "two", "machine": OLD, "routing": "minimal", "engine": "packet",
             "jobs": [job | {"name": name} for job, name in zip(jobs, "ab", strict=True)]}  # fmt: skip
    (tmp_path / "two.yaml").write_text(json.dumps(study))
    line = ["machine", "candidates", "--nodes", "60", "--max-nodes", "60", "--radix", "3", "--families", "polarfly"]
    more = ["--with", str(tmp_path / "mine.yaml"), "--study", str(tmp_path / "two.yaml"), "--json", "--simulate"]
    assert main([*line, *more, "--write", str(tmp_path / "next.yaml")]) == 1
    assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == "unsupported"
