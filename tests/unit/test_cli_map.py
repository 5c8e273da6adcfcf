"""``fabricstudy map``: a job of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.cli import main

MACHINE = "kind: torus\nshape: [4, 4]\ncores_per_node: 2\nbandwidth: 1 GB/s\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ring of 32 ranks with shuffled numbers, and a torus of 16 nodes with two cores each."""
    monkeypatch.chdir(tmp_path)
    order = np.random.default_rng(1).permutation(32).tolist()
    lines = [f"{a},{b},3" for a, b in zip(order, [*order[1:], order[0]], strict=True)]
    (tmp_path / "ring.csv").write_text("\n".join(["source,destination,weight", *lines]))
    (tmp_path / "machine.yaml").write_text(MACHINE)
    (tmp_path / "hosts").write_text("\n".join(f"nid{node:03}" for node in range(16)))
    return tmp_path


def ran(capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    code = main(["map", "--json", "--machine", "machine.yaml", "--graph", "ring.csv", *more])
    return code, json.loads(capsys.readouterr().out)


def test_rank_files_say_the_same_mapping_to_each_launcher(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = ran(capsys, "--with", "greedy,{kind: exchange, start: linear}", "--out", "job", "--hosts", "hosts")
    assert code == 0 and found["files"] == ["job.cores", "job.openmpi", "job.mpich", "job.slurm"]
    core = [int(line) for line in (files / "job.cores").read_text().split()]
    assert sorted(core) == list(range(32))
    hosts = [f"nid{one // 2:03}" for one in core]
    assert (files / "job.slurm").read_text().split() == hosts
    ranks = [f"rank {rank}={host} slot={at % 2}" for rank, (host, at) in enumerate(zip(hosts, core, strict=True))]
    assert (files / "job.openmpi").read_text().splitlines() == ranks
    filled = [int(one) for line in (files / "job.mpich").read_text().split() for one in line.split(",")]
    assert [core[rank] for rank in filled] == list(range(32))


def test_the_file_for_mpich_has_the_nodes_in_ascending_order(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "nodes").write_text("7 2 11 0 5 9")
    ran(capsys, "--with", "greedy", "--out", "job", "--nodes", "nodes")
    nodes = [7, 2, 11, 0, 5, 9]
    node = [nodes[int(line) // 2] for line in (files / "job.cores").read_text().split()]
    filled = [[int(one) for one in line.split(",")] for line in (files / "job.mpich").read_text().split()]
    assert [[node[rank] for rank in line] for line in filled] == [[at, at] for at in sorted(nodes)]


def test_a_fabric_from_a_file_knows_the_names_of_its_nodes(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "machine.yaml").write_text("{kind: graph, file: topology.conf, bandwidth: {link: 1 GB/s, host: 1 GB/s}}")
    lines = ["SwitchName=a Nodes=n[0-3]", "SwitchName=b Nodes=n[4-7]", "SwitchName=top Switches=a,b"]
    (files / "topology.conf").write_text("\n".join(lines))
    (files / "nodes").write_text("n5 0 n[1,4]")
    code, found = ran(capsys, "--ranks", "4", "--nodes", "nodes", "--out", "job")
    assert code == 0 and "job.slurm" in found["files"]
    core = [int(line) for line in (files / "job.cores").read_text().split()]
    assert (files / "job.slurm").read_text().split() == [["n5", "n0", "n1", "n4"][one] for one in core]
    for name, text in (("--hosts", "n5 n2 n1 n4"), ("--nodes", "n5 n0 n1 n9")):
        (files / "wrong").write_text(text)
        code, found = ran(capsys, "--ranks", "4", "--nodes", "nodes", name, "wrong", "--out", "other")
        assert code == 1 and found["errors"][0]["code"] == "unknown-name" and not (files / "other.cores").exists()


def test_the_table_names_the_start_that_is_best(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, found = ran(capsys, "--with", "{kind: best, starts: [greedy, random]}")
    assert [row["mapping_start"] for row in found["mappings"]] == [None, "greedy"]


def test_the_table_tells_before_and_after_and_the_limit(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, found = ran(capsys, "--with", "greedy", "--unit-bytes", "100", "--by", "hop_bytes")
    before, after = found["mappings"]
    assert (before["mapping"], after["mapping"], found["best"]) == ("linear", "greedy", "greedy")
    # Two ranks a node: every other message of the ring leaves its node, over one hop.
    assert after["hop_bytes"] == after["hop_bytes_bound"] == 16 * 300 < before["hop_bytes"]
    assert after["link_max_bytes"] == 300 and found["files"] == []


def test_the_linear_mapping_is_kept_where_nothing_is_better(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "ring.csv").write_text("source,destination,weight\n" + "\n".join(f"{a},{a ^ 1},1" for a in range(32)))
    assert ran(capsys, "--with", "random")[1]["best"] == "linear"


def test_no_ratio_where_all_partners_fit_on_a_router(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "ring.csv").write_text("source,destination,weight\n" + "\n".join(f"{a},{a ^ 1},1" for a in range(32)))
    _, found = ran(capsys, "--with", "random")
    assert [row["hop_bytes_over_bound"] for row in found["mappings"]] == [None, None]
    main(["map", "--machine", "machine.yaml", "--graph", "ring.csv"])
    assert "linear" in capsys.readouterr().out


def test_nodes_of_the_job_may_be_named(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "nodes").write_text("0\n5\n10\n15\n")
    (files / "ring.csv").write_text("source,destination,weight\n" + "\n".join(f"{a},{(a + 1) % 8},1" for a in range(8)))
    _, found = ran(capsys, "--nodes", "nodes", "--out", "job")
    # Neighbours on the diagonal are two hops apart.
    assert found["nodes"] == 4 and found["mappings"][1]["hop_bytes"] == 8
    assert (files / "job.openmpi").read_text().count("+n") == 8


@pytest.mark.parametrize(("more", "code"), [
    (["--machine", "nothing"], "unknown-name"),
    (["--graph", "gone.mtx"], "invalid-data-file"),
    (["--ranks", "40"], "does-not-fit"),
    (["--ranks", "33"], "does-not-fit"),
    (["--ranks-per-node", "3"], "does-not-fit"),
    (["--ranks", "31"], "invalid-value"),
    (["--with", "greeedy"], "unknown-value"),
    (["--with", "{kind: greedy, start: 1}"], None),
    (["--with", "orb"], "unsupported"),
    (["--nodes", "hosts"], "wrong-type"),
    (["--nodes", "same"], "duplicate"),
    (["--nodes", "far"], "unknown-name"),
    (["--nodes", "gone"], "file-not-found"),
    (["--hosts", "same"], "out-of-range"),
    (["--hosts", "doubled"], "duplicate"),
    (["--hosts", "/dev/zero"], "file-unreadable"),
    (["--nodes", "long"], "unknown-name"),
    (["--nodes", "nul\0"], "file-unreadable"),
    (["--out", "."], "invalid-value"),
    (["--out", ""], "invalid-value"),
    (["--out", "gone/job"], "file-unreadable"),
    (["--graph", "loops.csv"], "invalid-data-file"),
    (["--graph", "pairs.csv", "--ranks", "2"], "invalid-data-file"),
])  # fmt: skip
def test_mistakes_are_told_by_their_code(
    files: Path, capsys: pytest.CaptureFixture[str], more: list[str], code: str | None
) -> None:
    (files / "same").write_text("1\n1\n")
    (files / "doubled").write_text("a\n" * 16)
    (files / "long").write_text("9" * 5000)
    (files / "loops.csv").write_text("source,destination,weight\n0,0,5\n1,1,3\n")
    (files / "pairs.csv").write_text("source,destination,weight\n" + "\n".join(f"{a},{a ^ 1},1" for a in range(4)))
    (files / "far").write_text("1\n16\n")
    status, found = ran(capsys, *more)
    assert status == 1 and (code is None or found["errors"][0]["code"] == code)


@pytest.mark.parametrize("more", [
    ["--seed", "-1"], ["--unit-bytes", "0"], ["--unit-bytes", "-5"], ["--unit-bytes", str(10**20)], ["--ranks", "0"],
    ["--ranks-per-node", "0"],
])  # fmt: skip
def test_numbers_out_of_range_are_a_wrong_call(
    files: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    status, found = ran(capsys, *more)
    assert status == 2 and found["errors"][0]["code"] == "usage"


def test_the_unit_of_the_weights_does_not_matter(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A heavy ring, and light edges between all others: rounded to whole bytes all would be the same."""
    order = np.random.default_rng(2).permutation(32)
    heavy = {(int(order[place]), int(order[place - 1])) for place in range(32)}
    light = {(a, b) for a in range(32) for b in range(a) if not {(a, b), (b, a)} & heavy}
    found = []
    for factor in (1, 10**6):
        edges = [(*edge, 1.0 * factor) for edge in sorted(heavy)] + [(*edge, 0.001 * factor) for edge in sorted(light)]
        lines = [f"{a},{b},{weight:.9g}" for a, b, weight in edges]
        (files / "ring.csv").write_text("\n".join(["source,destination,weight", *lines]))
        found.append(ran(capsys, "--with", "greedy,exchange", "--out", f"job{factor}")[1]["mappings"])
    assert (files / "job1.cores").read_text() == (files / "job1000000.cores").read_text()
    for small, large in zip(*found, strict=True):
        for name in ("hop_bytes", "hop_bytes_bound", "link_max_bytes", "expected_load_ns", "bound_any_mapping_ns"):
            assert large[name] == pytest.approx(1e6 * small[name], rel=1e-9)
        assert large["hops_mean"] == pytest.approx(small["hops_mean"])
    # What the mapping with the least hops sends over a cable: every other message of the ring, and a little more.
    core = np.loadtxt(files / "job1.cores", dtype=int)
    at = np.stack(np.divmod(core // 2, 4), axis=1)
    far = np.abs(at[:, None] - at[None])
    hops = np.minimum(far, 4 - far).sum(axis=2)
    by_hand = sum(hops[a, b] for a, b in heavy) + 0.001 * sum(hops[a, b] for a, b in light)
    assert min(row["hop_bytes"] for row in found[0]) == pytest.approx(by_hand)


@pytest.mark.parametrize(("name", "taken"), [("ring.csv", "job.cores"), ("hosts", "job.openmpi")])
def test_nothing_that_is_read_is_overwritten(
    files: Path, capsys: pytest.CaptureFixture[str], name: str, taken: str
) -> None:
    (files / taken).symlink_to(files / name)
    before = (files / name).read_text()
    status, found = ran(capsys, "--hosts", "hosts", "--out", "job")
    assert status == 1 and found["errors"][0]["code"] == "invalid-value" and (files / name).read_text() == before
