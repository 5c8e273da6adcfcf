"""Rank files of launchers, written by `fabricstudy map` and by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.cli import main
from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import NamedMachine
from fabricstudy.workload.mapping.base import Mapping
from fabricstudy.workload.mapping.file import parse, read_ranks
from fabricstudy.workload.mapping.tasks import Slots, Tasks
from fabricstudy.workload.messages import WorkloadError

TREE = "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[4-6]\nSwitchName=top Switches=a,b\n"


def machine_of(folder: Path) -> NamedMachine:
    (folder / "topology.conf").write_text(TREE)
    keys = {"kind": "graph", "file": "topology.conf", "bandwidth": "1 GB/s", "cores_per_node": 2}
    machine = Topology.model_validate(keys, context={"folder": folder}, by_alias=True, by_name=False).build()
    assert isinstance(machine, NamedMachine)
    return machine


def cores_of(folder: Path, name: str, slots: Slots, **keys: Any) -> list[int]:
    written = {"kind": "file", "file": name, **keys}
    mapping = Mapping.model_validate(written, context={"folder": folder}, by_alias=True, by_name=False)
    cores = np.asarray(mapping.map_ranks(slots, Tasks(slots.ranks), np.random.default_rng(0)))
    return [int(core) for core in cores]


def test_the_rank_files_of_map_are_read_as_the_same_mapping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "machine.yaml").write_text("{kind: graph, file: topology.conf, bandwidth: 1 GB/s, cores_per_node: 2}")
    order = np.random.default_rng(3).permutation(8).tolist()
    rows = [f"{a},{b},3" for a, b in zip(order, [*order[1:], order[0]], strict=True)]
    (tmp_path / "ring.csv").write_text("\n".join(["source,destination,weight", *rows]))
    (tmp_path / "nodes").write_text("n[5-6],n2\nn1\n")
    arguments = ["map", "--machine", "machine.yaml", "--graph", "ring.csv", "--nodes", "nodes", "--with", "greedy"]
    assert main([*arguments, "--out", "job", "--json"]) == 0
    nodes = np.array([machine.node_of[name] for name in ("n5", "n6", "n2", "n1")], dtype=np.int32)
    slots = Slots(machine, nodes, 2)
    cores = cores_of(tmp_path, "job.cores", slots)
    assert sorted(cores) == list(range(8)) and cores != list(range(8))
    assert cores_of(tmp_path, "job.openmpi", slots) == cores
    # MPICH fills nodes in ascending order, so that its cores are those of the allocation in that order.
    ascending = Slots(machine, np.sort(nodes), 2)
    by_mpich = ascending.node_of_core[cores_of(tmp_path, "job.mpich", ascending)]
    assert by_mpich.tolist() == slots.node_of_core[cores].tolist()
    by_slurm = slots.node_of_core[cores_of(tmp_path, "job.slurm", slots)]
    assert by_slurm.tolist() == slots.node_of_core[cores].tolist()


@settings(max_examples=100, deadline=None, database=None)
@given(st.permutations(list(range(12))), st.integers(1, 12))
def test_an_order_of_ranks_is_the_inverse_of_their_cores(order: list[int], width: int) -> None:
    lines = [",".join(map(str, order[start : start + width])) for start in range(0, 12, width)]
    cores = parse(Path("f"), "\n".join(lines).encode(), "mpich").cores
    assert [order[core] for core in cores] == list(range(12))


def test_lines_of_open_mpi(tmp_path: Path) -> None:
    text = "# no\nrank 3=n2 slot=1:1\nrank 0=n1 slot=7\nrank 1=n2 slot=1:0-3  # a\nRANK 2 = n1 slots=3,4\n"
    (tmp_path / "ranks").write_text(text)
    machine = machine_of(tmp_path)
    slots = Slots(machine, np.array([1, 0], dtype=np.int32), 2)
    # n1 is the second node of the job; rank 2 has a lower slot there than rank 0.
    assert cores_of(tmp_path, "ranks", slots) == [3, 0, 2, 1]
    (tmp_path / "relative").write_text("rank 0=+n1 slot=1\nrank 1=+n0 slot=0\nrank 2=+n1 slot=0\nrank 3=+n0 slot=1\n")
    assert cores_of(tmp_path, "relative", slots) == [3, 0, 2, 1]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("rank 0=a slot=0\nrank 0=b slot=0\n", None),
        ("rank 0=a slot=0\nrank 2=b slot=0\n", None),
        ("rank 0=a\n", None),
        ("0,1\n1,2\n", None),
        ("0-99999999999\n", "mpich"),
        ("0,5\n", None),
        ("3-1,0\n", None),
        ("a[1-]\n", None),
        ("n1 slots=2\nn2 slots=2\n", None),
        ("n1:2\nn2:2\n", None),
        ("n{1..3}\n", None),
        ("", None),
        ("1\n2\n", None),
        ("0\n", "openmpi"),
    ],
)
def test_mistakes_in_rank_files_are_told(tmp_path: Path, text: str, form: str | None) -> None:
    (tmp_path / "ranks").write_text(text)
    with pytest.raises(ConfigError) as refusal:
        read_ranks(tmp_path, "ranks", str(form))
    assert (refusal.value.code, refusal.value.keys) == ("invalid-data-file", ("file",))


@pytest.mark.parametrize("text", ["n1\nn9\n", "n1\nn1\nn1\n", "n2\nn2\n"])
def test_hosts_that_the_job_does_not_have_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "ranks").write_text(text)
    slots = Slots(machine_of(tmp_path), np.array([0], dtype=np.int32), 2)
    with pytest.raises(WorkloadError):
        cores_of(tmp_path, "ranks", slots)


def test_a_column_of_ranks_is_told_by_its_format(tmp_path: Path) -> None:
    (tmp_path / "ranks").write_text("2\n0\n1\n3\n")
    slots = Slots(machine_of(tmp_path), np.arange(4, dtype=np.int32), 1)
    assert cores_of(tmp_path, "ranks", slots) == [2, 0, 1, 3]
    assert cores_of(tmp_path, "ranks", slots, format="mpich") == [1, 2, 0, 3]


def test_ports_of_a_host_have_its_name_in_rank_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    hosts = [("vm1 mlx5_0", 1), ("vm1 mlx5_1", 2), ("vm2 mlx5_0", 1), ("vm2 mlx5_1", 2)]
    lines = []
    for switch in (1, 2):
        lines.append(f'Switch\t36 "S-{switch:016x}"\t\t# "rail-{switch}" enhanced port 0 lid {switch} lmc 0')
        for number, (name, at) in enumerate(hosts, 1):
            if at == switch:
                lines.append(f'[{number}]\t"H-{number:016x}"[1]({number}) \t\t# "{name}" lid {number + 8} 4xNDR')
        lines += [f'[9]\t"S-{3 - switch:016x}"[9]\t\t# "rail-{3 - switch}" lid {3 - switch} 4xNDR', ""]
    (tmp_path / "ib.ibnetdiscover").write_text("\n".join(lines))
    (tmp_path / "ring.csv").write_text("source,destination,weight\n0,1,1\n1,2,1\n2,3,1\n3,0,1\n")
    machine = "{kind: graph, file: ib.ibnetdiscover, host_ports: each}"
    assert main(["map", "--machine", machine, "--graph", "ring.csv", "--with", "linear", "--out", "job", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"] == 4
    # Nodes are in the order of the switches: vm1, vm2, vm1, vm2.
    assert (tmp_path / "job.slurm").read_text().split() == ["vm1", "vm2", "vm1", "vm2"]
    slots = [line.split(" ", 1)[1] for line in (tmp_path / "job.openmpi").read_text().splitlines()]
    assert slots == ["0=vm1 slot=0", "1=vm2 slot=0", "2=vm1 slot=1", "3=vm2 slot=1"]
    # The launcher fills both slots of vm1 before those of vm2.
    assert (tmp_path / "job.mpich").read_text().split() == ["0", "2", "1", "3"]
