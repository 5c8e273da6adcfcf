"""Prices by hand, and price files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.core.errors import ConfigError, FabricstudyError
from fabricstudy.core.input_files import InputFileError
from fabricstudy.machine.base import Topology, published_machine
from fabricstudy.structure.cost import bill_of_materials, cable_lengths_m
from fabricstudy.structure.prices import Tariff
from fabricstudy.structure.prices.besta_2014 import TARIFF
from fabricstudy.structure.prices.from_file import read_tariff
from fabricstudy.study.file import load_study, validate_study

ONE = Tariff("EUR", 2026, router=100, port=10, port_W=2, electrical=1, electrical_m=1, optical=5, optical_m=0)
TREE = {"kind": "xgft", "down": [3, 2], "up": [2], "bandwidth": {"links": "1.25 GB/s", "host": "2.5 GB/s"}}
ITEMS = {
    "currency": "EUR", "year": "2026", "router": "100", "port": "10", "port_W": "2", "electrical": "1",
    "electrical_m": "1", "optical": "5", "optical_m": "0",
}  # fmt: skip


def tree(**more: Any) -> Any:
    return Topology.model_validate(TREE | more).build()


def test_a_small_tree_by_hand() -> None:
    """Two leaves of 5 ports, two spines of 2; 4 cables of 10 Gb/s and 6 of 20 Gb/s, 8 m each: glass, 5 a Gb/s."""
    parts = {part.name: part for part in bill_of_materials(tree(), ONE)}
    assert parts["routers-2"].price == 2 * 120 and parts["routers-5"].price == 2 * 150
    assert parts["cables-up1"].price == 4 * 50 and parts["cables-host"].price == 6 * 100
    assert parts["cables-up1"].length_m == parts["cables-host"].length_m == 8
    assert (parts["routers-2"].ports_in_use, parts["routers-5"].ports_in_use) == (2, 5)
    assert (parts["all"].price, parts["all"].count) == (2 * 120 + 2 * 150 + 4 * 50 + 6 * 100, 14)
    assert parts["all"].power_W == 2 * (2 * 2 + 2 * 5)


def test_short_cables_are_copper() -> None:
    parts = {part.name: part for part in bill_of_materials(tree(latency="10 ns"), ONE)}
    assert parts["cables-up1"].price == 4 * 10 * 3 and parts["cables-host"].price == 6 * 20 * 3


def test_routers_as_they_are_bought() -> None:
    parts = {part.name: part for part in bill_of_materials(tree(), ONE, radix=8)}
    assert (parts["routers-8"].price, parts["routers-8"].ports_in_use) == (4 * 180, (2 * 2 + 2 * 5) / 4)
    assert parts["cables-up1"].ports_in_use is parts["all"].ports_in_use is None
    with pytest.raises(FabricstudyError):
        bill_of_materials(tree(), ONE, radix=4)
    with pytest.raises(FabricstudyError):  # a router of two ports for less than nothing
        bill_of_materials(tree(), TARIFF)


def test_floor_plan_by_hand() -> None:
    """Four racks of one router in a square: 0 and 1 above 2 and 3; the leaves are 0 and 1, the spines 2 and 3."""
    machine = tree()
    length_m, host_m = cable_lengths_m(machine, 1)
    ends = list(zip(machine.cable_tail.tolist(), machine.cable_head.tolist(), strict=True))
    assert dict(zip(ends, length_m.tolist(), strict=True)) == {(0, 2): 3, (0, 3): 4, (1, 2): 4, (1, 3): 3}
    assert host_m == 1 and cable_lengths_m(machine, 4)[0].tolist() == [1] * 4


def test_the_mean_length_is_that_of_cables() -> None:
    """By hand: 5 cables of the first row, 3 m long, one of each other one."""
    machine = tree()
    counts = np.where((machine.cable_tail == 0) & (machine.cable_head == 2), 5, 1)
    parts = bill_of_materials(replace(machine, cable_count=counts), ONE, routers_per_rack=1)
    assert {part.name: part.length_m for part in parts}["cables-up1"] == (5 * 3 + 4 + 4 + 3) / 8


def test_groups_stand_together() -> None:
    """A rack of four holds a pod of the tree, two leaves and two spines, though their numbers are far apart."""
    machine = Topology.model_validate({"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}).build()
    assert np.all(cable_lengths_m(machine, 4)[0][machine.cable_class == 0] == 1)


def test_the_slim_fly_of_the_source() -> None:
    """722 routers of 44 ports and 2.8 W each; copper up to 6.86 m, where both lines meet."""
    parts = {part.name: part for part in bill_of_materials(published_machine("slim-fly-11k").build(), TARIFF)}
    assert parts["routers-44"].price == pytest.approx(722 * (350.4 * 44 - 892.3))
    assert parts["all"].power_W == pytest.approx(722 * 44 * 2.8)
    around_m = np.array([6.86, 6.87])
    copper = (0.4079 * around_m + 0.5771) * 80
    assert np.isclose(TARIFF.cables(np.array(10e9), around_m), copper, rtol=1e-12).tolist() == [True, False]


def csv(**changed: str | None) -> bytes:
    items = {name: text for name, text in (ITEMS | changed).items() if text is not None}
    return "\n".join(["item,value", *(f"{name},{text}" for name, text in items.items())]).encode()


def test_a_file_is_read() -> None:
    assert read_tariff(Path(), csv()) == ONE


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b"name,value\n", "line 1"),
        (csv(port="ten"), "line 5, column 2"),
        (csv(port="nan"), "line 5, column 2"),
        (csv(port="1e999"), "line 5, column 2"),
        (csv(ports="10"), "line 11, column 1"),
        (csv() + b"\nyear,2027\n", "line 11, column 1"),
        (csv(year="2026,5"), "line 3"),
        (csv(optical=None), ""),
    ],
)
def test_files_that_are_wrong(data: bytes, where: str) -> None:
    with pytest.raises(InputFileError) as mistake:
        read_tariff(Path(), data)
    assert mistake.value.where == where


STUDY = {"study": "s", "analyses": {"c": {"kind": "cost", "machines": {"t": TREE}}}}


def test_the_analysis(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_bytes(csv())
    text = "study: s\nanalyses: {c: {kind: cost, prices: {kind: file, file: prices.csv}, machines: {t: %s}}}\n"
    (tmp_path / "s.yaml").write_text(text % str(TREE).replace("'", ""))
    rows = load_study(tmp_path / "s.yaml").analyses["c"].rows()
    total = next(row for row in rows if row["part"] == "all")
    assert total["price_per_node"] == 1340 / 6 and (total["currency"], total["year"]) == ("EUR", 2026)
    assert set(rows[0]) == set(validate_study(STUDY).analyses["c"].columns())
    bought = STUDY["analyses"]["c"] | {"radix": 8}  # type: ignore[index]
    assert validate_study({"study": "s", "analyses": {"c": bought}}).analyses["c"].rows()[0]["currency"] == "USD"
    (tmp_path / "prices.csv").write_bytes(csv(port=None))
    with pytest.raises(ConfigError) as refusal:
        load_study(tmp_path / "s.yaml")
    assert (refusal.value.code, refusal.value.path) == ("invalid-data-file", "analyses.c.prices.file")


def test_switches_of_rails_are_bought_as_the_machine_states_them() -> None:
    rails = {"kind": "rails", "domains": 16, "accelerators": 8, "radix": 64, "spine": "none",
             "bandwidth": {"scale_up": "450 GB/s", "rail": "50 GB/s"}}  # fmt: skip

    def parts(**more: Any) -> list[Any]:
        bill = {"kind": "cost", "machines": {"r": rails}, "without": ["scale_up"], **more}
        return list(validate_study({"study": "s", "analyses": {"c": bill}}).analyses["c"].rows())

    first = parts()[0]
    assert parts() == parts(radix=64) and (first["part"], first["count"]) == ("routers-64", 8)
    assert first["ports_in_use"] == 16
    # Those of the domains have other ports.
    assert {row["part"] for row in parts(without=[])} >= {"routers-8", "routers-16"}
