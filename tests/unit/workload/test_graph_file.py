"""Graphs of tasks from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from pydantic import ValidationError
from scipy.io import mmwrite
from scipy.sparse import coo_array

from fabricstudy.core.input_files import InputFileError
from fabricstudy.core.model import ConfigError
from fabricstudy.core.quantities import BASE_UNITS_CONTEXT
from fabricstudy.machine.base import Topology
from fabricstudy.workload.mapping import Mapping
from fabricstudy.workload.messages import WorkloadError
from fabricstudy.workload.pattern.base import Pattern
from fabricstudy.workload.pattern.task_graph import group_tasks, parse_graph, rank_messages, read_graph


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def edges_of(path: Path) -> set[tuple[int, int, float]]:
    graph, _ = read_graph(path)
    return set(zip(graph.source.tolist(), graph.destination.tolist(), graph.units.tolist(), strict=True))


def both(*edges: tuple[int, int, float]) -> set[tuple[int, int, float]]:
    return {one for a, b, w in edges for one in ((a, b, w), (b, a, w))}


# The four graphs of figure 2 of the manual of METIS 5.1.0, without, with edge, with vertex and with several weights.
METIS = {
    "plain": "7 11\n5 3 2\n1 3 4\n5 4 2 1\n2 3 6 7\n1 3 6\n5 4 7\n6 4\n",
    "edges": "7 11 001\n5 1 3 2 2 1\n1 1 3 2 4 1\n5 3 4 2 2 2 1 2\n2 1 3 2 6 2 7 5\n1 1 3 3 6 2\n"
    "5 2 4 2 7 6\n6 6 4 5\n",
    "vertices": "7 11 011\n4 5 1 3 2 2 1\n2 1 1 3 2 4 1\n5 5 3 4 2 2 2 1 2\n3 2 1 3 2 6 2 7 5\n1 1 1 3 3 6 2\n"
    "6 5 2 4 2 7 6\n2 6 6 4 5\n",
}
PLAIN = [(0, 1), (0, 2), (0, 4), (1, 2), (1, 3), (2, 3), (2, 4), (3, 5), (3, 6), (4, 5), (5, 6)]
WEIGHTS = [1, 2, 1, 2, 1, 2, 3, 2, 5, 2, 6]


@pytest.mark.parametrize("form", METIS)
def test_metis_graphs_of_its_manual(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, "g.graph", "% a comment\n" + METIS[form])
    weights = [1] * 11 if form == "plain" else WEIGHTS
    assert edges_of(path) == both(*((a, b, w) for (a, b), w in zip(PLAIN, weights, strict=True)))
    assert read_graph(path)[0].work.tolist() == ([4, 2, 5, 3, 1, 6, 2] if form == "vertices" else [1] * 7)


def test_a_metis_file_may_end_with_vertices_without_edges(tmp_path: Path) -> None:
    assert read_graph(written(tmp_path, "g.graph", "4 1\n2\n1\n\n\n"))[0].tasks == 4


@pytest.mark.parametrize("symmetric", ["general", "symmetric"])
def test_matrix_market_is_read_as_networkx_does(tmp_path: Path, symmetric: Any) -> None:
    rng = np.random.default_rng(1)
    dense = np.triu(rng.integers(0, 4, (9, 9)))
    dense = dense + dense.T if symmetric == "symmetric" else dense - 2 * dense.T
    mmwrite(tmp_path / "g.mtx", coo_array(dense), symmetry=symmetric)
    graph = nx.from_numpy_array(np.abs(dense), create_using=nx.DiGraph)
    expected = {(a, b, float(w)) for a, b, w in graph.edges.data("weight") if a != b}
    found, _ = read_graph(tmp_path / "g.mtx")
    assert edges_of(tmp_path / "g.mtx") == expected and found.loops == np.count_nonzero(dense.diagonal())


@pytest.mark.parametrize(("name", "text"), [
    ("g.csv", "0,5,0\n0,9,7\n1,0,0\n"), ("g.csv", "0 5 0\n0 9 7\n1 0 0\n"), ("g.dat", "0 5 0\n0 9 7\n1 0 0\n"),
    ("g.txt", "0, 5, 0\n0, 9, 7\n1, 0, 0\n"), ("g.csv", "source,destination,bytes\n0,1,5\n1,2,7\n2,0,1\n"),
])  # fmt: skip
def test_a_matrix_of_bytes_is_a_graph(tmp_path: Path, name: str, text: str) -> None:
    graph, _ = read_graph(written(tmp_path, name, text))
    assert (graph.tasks, graph.source.tolist(), graph.destination.tolist()) == (3, [0, 1, 2], [1, 2, 0])
    assert graph.units.tolist() == [5, 7, 1]


@pytest.mark.parametrize("text", [
    "3 2 001\n2 5\n1 5 3 7\n2 7\n", "source,destination,weight\n0,1,5\n1,0,5\n1,2,7\n2,1,7\n",
    "0 5 0\n5 0 7\n0 7 0\n", "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 5\n3 2 7\n",
    "source,destination,bytes\n0,1,5\n1,0,5\n1,2,7\n2,1,7\n",
])  # fmt: skip
@pytest.mark.parametrize("name", ["g", "g.out", "g.txt"])
def test_the_content_tells_the_format(tmp_path: Path, name: str, text: str) -> None:
    expected = {(0, 1, 5.0), (1, 0, 5.0), (1, 2, 7.0), (2, 1, 7.0)}
    assert edges_of(written(tmp_path, name, text)) == expected


def test_a_format_by_name_overrides_the_content(tmp_path: Path) -> None:
    assert parse_graph(Path("g"), b"1 2\n2 1\n").tasks == 2
    with pytest.raises(InputFileError):
        parse_graph(Path("g"), b"1 2\n2 1\n", "metis")


def test_csv_is_directed_and_loops_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "g.csv", "source,destination,weight\n0,1,5\n1,2,0.5\n\n2,2,9\n")
    assert edges_of(path) == {(0, 1, 5.0), (1, 2, 0.5)} and read_graph(path)[0].loops == 1


MTX = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(("name", "text"), [
    ("g.csv", "from,to,weight\n0,1,5\n"),
    ("g.csv", "source,destination,weight\n0,1\n"),
    ("g.csv", "0,1,5\n1,,3\n0,1,0\n"),
    ("g.csv", "source,destination,weight\n0,1,\n"),
    ("g.csv", "source,destination,weight\n0,1,-5\n"),
    ("g.csv", "source,destination,weight\n0,1,nan\n"),
    ("g.csv", "source,destination,weight\n-1,1,5\n"),
    ("g.csv", "source,destination,weight\n0,one,5\n"),
    ("g.csv", "source,destination,weight\n"),
    ("g.csv", ""),
    ("g.graph", ""),
    ("g.graph", "3 2\n2\n1 3\n2\n1\n"),
    ("g.graph", "3 3\n2\n1 3\n2\n"),
    ("g.graph", "3 2 001\n2 1\n1 1 3\n2 1\n"),
    ("g.graph", "3 2\n2\n1 4\n2\n"),
    ("g.graph", "3 2\n2\n1 x\n2\n"),
    ("g.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 1\n1 2 1.0\n"),
    ("g.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 nan\n"),
    ("g.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1.0\n"),
    ("g.mtx", "no matrix\n"),
    ("g.txt", "0 1\n"),
    ("g.csv", "source,destination,weight\n0,0,5\n1,1,3\n"),
    ("g.csv", "source,destination,weight\n0,1000000000000000,1\n"),
    ("g.csv", "source,destination,weight\n0,99999999999999999999999,1\n"),
    ("g.csv", "source,destination,weight\n0,1,1e308\n1,2,1e308\n"),
    ("g.csv", "source,destination,weight\n0,1,1e-300\n"),
    ("g.csv", f"source,destination,weight\n0,1,{'1' * 200_000}\n"),
    ("g.graph", "1000000000000 1\n2\n1\n"),
    ("g.graph", "300000000 1\n2\n1\n"),
    ("g.graph", "2 1\n2.5\n1\n"),
    ("g.graph", "3 2 001\n2 1\n1 2 3 4\n2 4\n"),
    ("g.graph", "3 2\n2 3\n1\n2\n"),
    ("g.graph", "2 1 010\n\n1 1\n"),
    ("g.mtx", f"{MTX}999999999999 999999999999 1\n1 2 5\n"),
    ("g.mtx", f"{MTX}4 4 99999999999\n1 2 5\n"),
    ("g.mtx", "%%MatrixMarket matrix array real general\n9000000 9000000\n1\n"),
])  # fmt: skip
def test_what_is_no_graph_is_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        read_graph(written(tmp_path, name, text))
    assert (refusal.value.code, refusal.value.keys) == ("invalid-data-file", ("file",))


@pytest.mark.parametrize(("name", "text", "where"), [
    ("g.csv", "source,destination,weight\n0,1,5\n\n0,-1,5\n", "line 4, column 2 (destination)"),
    ("g.csv", "source,destination,weight\n0,1,many\n", "line 2, column 3 (weight)"),
    ("g.csv", "0,1,5\n1,,3\n0,1,0\n", "line 2, column 2"),
    ("g.graph", "% a comment\n2 1\n2.5\n1\n", "line 3"),
    ("g.graph", "3 2 001\n2 1\n1 1 3 4\n2 5\n", "line 3"),
    ("g.mtx", MTX + "3 3 2\n1 2 1.0\n1 7 1.0\n", "line 4"),
])  # fmt: skip
def test_the_line_of_a_mistake_is_told(tmp_path: Path, name: str, text: str, where: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        read_graph(written(tmp_path, name, text))
    assert refusal.value.problem.startswith(f"{name}, {where}: ")


@pytest.mark.parametrize(("name", "text"), [
    ("g.csv", "source,destination,weight\n0,1,5\n"),
    ("g.graph", "2 1 001\n2 5\n1 5\n"),
    ("g.mtx", MTX + "2 2 1\n1 2 5\n"),
])  # fmt: skip
def test_a_byte_order_mark_and_the_ends_of_lines_change_nothing(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert (0, 1, 5.0) in edges_of(tmp_path / name)


@pytest.mark.parametrize("message", ["1 B", "4611686018427387904 B"])
def test_edges_that_no_whole_bytes_stand_for_are_refused(tmp_path: Path, message: str) -> None:
    written(tmp_path, "g.csv", "source,destination,weight\n0,1,1\n1,2,0.001\n2,3,0.001\n3,0,2\n0,2,0.1\n")
    context = {"folder": tmp_path}
    keys = {"kind": "task-graph", "file": "g.csv"}
    with pytest.raises(ValidationError) as refusal:
        Pattern.model_validate({**keys, "message": message}, context=context, by_alias=True, by_name=False)
    error = refusal.value.errors()[0]["ctx"]["error"]
    assert (error.code, error.keys) == ("out-of-range", ("message",))
    kind = Pattern.model_validate({**keys, "message": "1 kB"}, context=context, by_alias=True, by_name=False)
    size_bytes = kind.sends(4, np.random.default_rng(0)).size_bytes
    assert size_bytes is not None and sorted(size_bytes.tolist()) == [1, 1, 100, 1000, 2000]


def test_metis_groups_by_the_ratio_of_weights_below_1(tmp_path: Path) -> None:
    """Two heavy cliques with light edges between all their vertices: rounded, all edges would be the same."""
    edges = [(a, b, 1.0 if a % 2 == b % 2 else 0.001) for a in range(16) for b in range(a)]
    text = "\n".join(["source,destination,weight", *(f"{a},{b},{weight}" for a, b, weight in edges)])
    rank = group_tasks(read_graph(written(tmp_path, "g.csv", text))[0], 2, "metis")
    assert len({*rank[::2]}) == len({*rank[1::2]}) == 1


@pytest.mark.parametrize("name", ["gone.csv", "."])
def test_what_cannot_be_read_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        read_graph(tmp_path / name)
    assert refusal.value.code == "invalid-data-file"


def ring_file(folder: Path, tasks: int) -> Path:
    lines = [f"{t},{(t + 1) % tasks},2" for t in range(tasks)]
    return written(folder, "ring.csv", "\n".join(["source,destination,weight", *lines]))


@pytest.mark.parametrize("how", ["blocks", "metis"])
def test_a_ring_is_grouped_into_arcs(tmp_path: Path, how: str) -> None:
    graph, _ = read_graph(ring_file(tmp_path, 64))
    rank = group_tasks(graph, 8, how)
    assert np.bincount(rank).tolist() == [8] * 8
    messages = rank_messages(graph, 8, how, 10)
    assert len(messages) == 8 and set(messages.size_bytes.tolist()) == {20}
    with pytest.raises(ConfigError) as refusal:
        group_tasks(graph, 65, how)
    assert refusal.value.code == "invalid-data-file"


def pattern_of(folder: Path, **keys: Any) -> Pattern:
    ring_file(folder, 16)
    written_as = {"kind": "task-graph", "file": "ring.csv", "message": "1 kB", **keys}
    return Pattern.model_validate(written_as, context={"folder": folder})


def test_a_pattern_holds_the_digest_and_no_edges(tmp_path: Path) -> None:
    pattern = pattern_of(tmp_path, iterations=3)
    facts = pattern.physics()
    assert set(facts) == {"kind", "message_bytes", "iterations", "sha256", "vertices", "edges"}
    sends = pattern.sends(16, np.random.default_rng(0))
    assert sends.size_bytes is not None
    assert len(sends.source) == 48 == pattern.traffic_messages(16) and set(sends.size_bytes) == {2000}
    (tmp_path / "other").mkdir()
    assert pattern_of(tmp_path / "other", iterations=3).physics() == facts


def test_groups_of_vertices_are_taken_to_exchange_fewer_and_larger_messages(tmp_path: Path) -> None:
    pattern = pattern_of(tmp_path)
    (whole,), (grouped,) = pattern.traffic(16), pattern.traffic(2)
    assert grouped.messages * grouped.size_bytes == pytest.approx(whole.messages * whole.size_bytes, rel=1e-3)
    assert len(pattern.sends(2, np.random.default_rng(0)).source) <= grouped.messages < whole.messages


def test_a_mesh_of_many_vertices_on_few_ranks_can_be_mapped() -> None:
    """With all edges of the vertices for those of the ranks, an hour was predicted for what takes a second."""
    facts = {"file": "mesh.graph", "message": "1 kB", "sha256": "", "vertices": 32_768, "edges": 320_480}
    torus = Topology.model_validate({"kind": "torus", "shape": [8, 8, 16], "bandwidth": "1 GB/s"})
    exchange: Mapping = Mapping.model_validate("exchange")
    exchange.check_fit(torus, Pattern.model_validate({"kind": "task-graph", **facts}), 1024)


def test_a_record_does_not_say_where_the_study_lies(tmp_path: Path) -> None:
    """Nor does the reason of a refusal, which stands in the tables."""
    pattern = pattern_of(tmp_path)
    stored = pattern.model_dump(mode="json")
    assert str(tmp_path) not in json.dumps(stored)
    again = Pattern.model_validate(stored, context=BASE_UNITS_CONTEXT)
    assert again.physics() == pattern.physics() and again.traffic(16) == pattern.traffic(16)
    (tmp_path / "ring.csv").unlink()
    for of in (again, pattern):
        with pytest.raises(WorkloadError) as refusal:
            of.sends(16, np.random.default_rng(0))
        assert str(tmp_path) not in str(refusal.value)


def test_a_file_that_changed_since_is_refused(tmp_path: Path) -> None:
    pattern = pattern_of(tmp_path)
    written(tmp_path, "ring.csv", "source,destination,weight\n" + "\n".join(f"{t},{t + 1},1" for t in range(15)))
    with pytest.raises(WorkloadError):
        pattern.sends(16, np.random.default_rng(0))
    (tmp_path / "ring.csv").unlink()
    with pytest.raises(WorkloadError):
        pattern.sends(16, np.random.default_rng(0))


def test_more_ranks_than_vertices_are_refused_when_planned(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refusal:
        pattern_of(tmp_path).check_ranks(17)
    assert (refusal.value.code, refusal.value.keys) == ("invalid-data-file", ("file",))


def test_what_the_file_tells_may_not_be_written(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="unknown key"):
        pattern_of(tmp_path, edges=3)
