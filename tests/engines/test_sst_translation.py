"""What the adapter makes of a point for SST; needs no simulator."""

from __future__ import annotations

import json
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.failures import Unsupported
from fabricstudy.engine.point import Point
from fabricstudy.engine.sst import program as program_module
from fabricstudy.engine.sst.adapter import Sst
from fabricstudy.engine.sst.program import MODEL
from fabricstudy.engine.sst.system import RUN
from fabricstudy.engine.sst.traces import rank_layout, write_traces
from fabricstudy.engine.sst.wiring import wire
from fabricstudy.engine.sst.wiring.base import Wiring, cable_ends
from fabricstudy.engine.sst.wiring.graph import stepwise_table, valiant_table
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.valiant import Valiant
from fabricstudy.structure.load import link_loads
from fabricstudy.workload.messages import PlacedJob, WorkloadError

from ..machines import DRAGONFLY, job_of, place_jobs, point_on

TORUS = {"kind": "torus", "shape": [4, 3, 2], "bandwidth": "1 GB/s"}
MESH = {"kind": "mesh", "shape": [4, 3], "nodes_per_router": 2, "bandwidth": "1 GB/s"}
HYPERX = {"kind": "hyperx", "shape": [4, 3], "nodes_per_router": 2, "bandwidth": "1 GB/s"}
EXPRESS = {"kind": "express-mesh", "shape": [5, 4], "gap": 2, "bandwidth": "1 GB/s"}
TREE = {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}
SLIM_FLY = {"kind": "slim-fly", "q": 5, "nodes_per_router": 2, "bandwidth": "1 GB/s"}
UP = {"kind": "dimension-order", "tie": "positive"}


def point(machine: dict[str, Any] = DRAGONFLY, routing: Any = "minimal", engine: Any = "sst", **more: Any) -> Point:
    """Point with one job on all nodes."""
    return point_on(machine, routing, message="10 kB", engine=engine, **more)


def wired(machine: dict[str, Any], routing: Any = "minimal") -> tuple[Machine, Wiring]:
    """Build and wire a machine."""
    this = point(machine, routing)
    built = this.machine.build()
    return built, wire(this, built)


def why_not(machine: dict[str, Any], routing: Any = "minimal", **more: Any) -> str | None:
    """Reason for which SST cannot simulate a point."""
    this = point(machine, routing, **more)
    return Engine(Sst).unsupported(this, this.machine.build())


PERCS = {"kind": "percs", "supernodes": 5, "drawers_per_supernode": 2, "hubs_per_drawer": 2, "bandwidth": "1 GB/s"}
PERCS_BANDWIDTH = {"local": "5 GB/s", "remote": "5 GB/s", "global": "10 GB/s", "host": "24 GB/s"}

ALL = [
    (DRAGONFLY, "minimal", "merlin.dragonfly"),
    (DRAGONFLY | {"arrangement": "relative"}, {"kind": "valiant", "via": "group"}, "merlin.dragonfly"),
    (DRAGONFLY | {"arrangement": "circulant"}, {"kind": "ugal", "via": "group"}, "merlin.dragonfly"),
    (DRAGONFLY | {"links_per_group_pair": 3}, "adaptive", "merlin.dragonfly"),
    (PERCS | {"arrangement": "relative", "links_per_supernode_pair": 3}, "minimal", "merlin.dragonfly"),
    (PERCS, "valiant", "merlin.anytopo"),
    (TORUS, UP, "merlin.torus"),
    (TORUS | {"shape": [5, 3]}, "dimension-order", "merlin.torus"),
    (TORUS, "dimension-order", "merlin.anytopo"),
    (TORUS | {"wrap": [True, False, True]}, UP, "merlin.anytopo"),
    (TORUS | {"pair_cables": 2}, UP, "merlin.anytopo"),
    (DRAGONFLY | {"links_per_local_pair": 2, "bandwidth": "1 GB/s"}, "minimal", "merlin.anytopo"),
    (TORUS | {"links_per_pair": 2}, UP, "merlin.anytopo"),
    (MESH | {"links_per_pair": 2}, "dimension-order", "merlin.anytopo"),
    (HYPERX | {"links_per_pair": [1, 3]}, "dimension-order", "merlin.anytopo"),
    (MESH, "dimension-order", "merlin.mesh"),
    (MESH, "minimal", "merlin.anytopo"),
    (HYPERX, "dimension-order", "merlin.hyperx"),
    (HYPERX, "valiant", "merlin.hyperx"),
    (HYPERX, "adaptive", "merlin.hyperx"),
    (EXPRESS, "ugal", "merlin.anytopo"),
    (TREE, "d-mod-k", "merlin.fattree"),
    (TREE | {"pods": 2}, "adaptive", "merlin.fattree"),
    (SLIM_FLY, "valiant", "merlin.anytopo"),
]


class TestWiring:
    @pytest.mark.parametrize(("machine", "routing", "component"), ALL)
    def test_each_port_has_one_thing_at_it(self, machine: dict[str, Any], routing: Any, component: str) -> None:
        built, wiring = wired(machine, routing)
        assert wiring.component == component
        tail, head = cable_ends(built)
        ports = wiring.cable_ports
        at_tail, at_head = (
            zip(tail.tolist(), ports[:, 0].tolist(), strict=True),
            zip(head.tolist(), ports[:, 1].tolist(), strict=True),
        )
        at_node = zip(built.node_router.tolist(), wiring.host_ports.tolist(), strict=True)
        taken = Counter([*at_tail, *at_head, *at_node])
        assert max(taken.values()) == 1
        assert len(taken) == 2 * built.cables + built.nodes
        assert all(0 <= port < wiring.ports[router] for router, port in taken)

    @pytest.mark.parametrize("arrangement", ["absolute", "relative", "circulant"])
    @pytest.mark.parametrize("copies", [1, 2])
    def test_the_list_of_global_ports_leads_where_the_cables_do(self, arrangement: str, copies: int) -> None:
        machine = DRAGONFLY | {"arrangement": arrangement, "links_per_group_pair": copies}
        built, wiring = wired(machine)
        leads, groups, each = wiring.of_router[0]["global_link_map"], 9, wiring.parameters["intergroup_per_router"]
        tail, head = cable_ends(built)
        for end, other, ports in ((tail, head, wiring.cable_ports[:, 0]), (head, tail, wiring.cable_ports[:, 1])):
            for router, peer, port in zip(end.tolist(), other.tolist(), ports.tolist(), strict=True):
                if port >= 2 + 3:  # after two nodes and three other routers
                    raw = leads[router % 4 * each + port - 5] % (groups - 1)
                    group = router // 4
                    absolute = raw + (raw >= group)
                    relative = (group + raw + 1) % groups
                    mode = wiring.parameters["global_route_mode"]
                    assert peer // 4 == (absolute if mode == "absolute" else relative)

    def test_bandwidths_of_a_dragonfly_by_class(self, tmp_path: Path) -> None:
        bandwidth = {"local": "1 GB/s", "global": "3 GB/s", "host": "2 GB/s"}
        run = written(tmp_path, point(DRAGONFLY | {"bandwidth": bandwidth}))
        router = run["router"]
        assert router["link_bw:group"] == "1000000000B/s" and router["link_bw:global"] == "3000000000B/s"
        assert router["link_bw:host"] == run["interface"]["link_bw"] == "2000000000B/s"
        assert router["xbar_bw"] == "4500000000B/s"

    @pytest.mark.parametrize(
        ("machine", "routing", "said"),
        [
            (TORUS | {"bandwidth": {"links": ["1 GB/s", "2 GB/s", "1 GB/s"], "host": "1 GB/s"}}, UP, "one bandwidth"),
            (EXPRESS | {"bandwidth": {"links": ["1 GB/s", "2 GB/s"], "host": "1 GB/s"}}, "minimal", "one bandwidth"),
            (TORUS | {"bandwidth": {"links": "1 GB/s", "host": "2 GB/s"}}, UP, "at most as fast"),
            (PERCS | {"bandwidth": PERCS_BANDWIDTH}, "minimal", None),
            (PERCS | {"bandwidth": PERCS_BANDWIDTH | {"local": "24 GB/s"}}, "minimal", "one bandwidth"),
            (PERCS | {"bandwidth": PERCS_BANDWIDTH}, "valiant", "one bandwidth"),
            (TREE, "minimal", "not support minimal routing"),
            (TREE | {"pods": 2, "core_cables": 2}, "d-mod-k", "one cable between"),
            (DRAGONFLY | {"kind": "dragonfly"}, "adaptive", None),
            (SLIM_FLY, "adaptive", "decides at each hop"),
            (TORUS, "adaptive", "decides at each hop"),
            (TORUS | {"shape": [24, 24, 12]}, "dimension-order", "too many for SST"),
        ],
    )
    def test_what_cannot_be_had_is_said(self, machine: dict[str, Any], routing: Any, said: str | None) -> None:
        reason = why_not(machine, routing)
        assert reason is None if said is None else reason is not None and said in reason


class TestRoutes:
    @pytest.mark.parametrize(
        ("machine", "routing"), [(EXPRESS, Minimal()), (SLIM_FLY, Minimal()), (TORUS, Minimal()), (SLIM_FLY, Valiant())]
    )
    def test_shares_of_the_routes_are_the_analysed_loads(self, machine: dict[str, Any], routing: Any) -> None:
        built = point(machine).machine.build()
        minimal = stepwise_table(built, Minimal())
        table = valiant_table(minimal, built) if routing.kind == "valiant" else minimal
        link = {
            ends: number
            for number, ends in enumerate(zip(built.link_tail.tolist(), built.link_head.tolist(), strict=True))
        }
        loads = np.zeros(built.links)
        for source, of in table.items():
            for goal, ways in of.items():
                assert sum(share for share, _ in ways) == pytest.approx(1)
                for share, hops in ways:
                    # A router passes a packet to its node as soon as the last router of the route is reached.
                    until = hops[: hops.index(goal) + 1]
                    for at, to in zip((source, *until), until, strict=False):
                        loads[link[at, to]] += share
        node_of_router = {router: node for node, router in enumerate(built.node_router.tolist())}
        pairs = [(node_of_router[a], node_of_router[b]) for a in table for b in table[a]]
        source_node, goal_node = np.array(pairs).T
        expected = link_loads(built, source_node, goal_node, np.ones(len(pairs)), routing).link_bytes
        np.testing.assert_allclose(loads, expected, rtol=1e-9)

    def test_channels_suffice_for_the_longest_route(self) -> None:
        for routing, most in (("minimal", 4), ("ugal", 8)):
            _, wiring = wired(EXPRESS, routing)
            assert wiring.routes is not None
            ways = [way for text in wiring.routes for of in text.split("|") for way in of.split(":")[1].split(";")]
            longest = max(way.count(",") for way in ways)
            assert wiring.parameters["vcs_per_vn"] == 1 + longest * (2 if routing == "ugal" else 1) <= 1 + most


def written(folder: Path, this: Point, jobs: list[PlacedJob] | None = None) -> dict[str, Any]:
    """Prepare a point and give its run file."""
    machine = this.machine.build()
    argv = Engine(Sst).write(BuiltPoint(this, machine, jobs or place_jobs(this, machine)), folder)
    assert argv is not None and argv[1:] == [str(MODEL), "--", RUN]
    found: dict[str, Any] = json.loads((folder / RUN).read_text())
    return found


def read_trace(path: Path, starts_s: list[float] | None = None) -> list[tuple[Any, ...]]:
    """Read a trace call by call, as Ember's motif does; when each starts goes to `starts_s`."""
    data, at, calls = path.read_bytes(), 0, []

    def take(form: str) -> tuple[Any, ...]:
        nonlocal at
        values = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return values

    while at < len(data):
        (call, start_s) = take("Id")
        if starts_s is not None:
            starts_s.append(start_s)
        if call in (1, 2):
            calls.append(("init" if call == 1 else "finalize",))
        elif call in (4, 17):
            _, count, kind, peer, tag, world = take("QIIiiI")
            assert (kind, world) == (4, 0)
            request = take("Q") if call == 17 else ()
            calls.append(("send" if call == 4 else "receive", peer, tag, count, *request))
        else:
            assert call == 129
            (count,) = take("I")
            calls.append(("wait", *take(f"{count}Q")))
        assert take("di") == (0.0, 0)
    return calls


class TestTraces:
    def test_a_rank_posts_sends_and_waits(self, tmp_path: Path) -> None:
        job = job_of([5, 3], [(0, 0, 1, 100), (0, 0, 1, 200), (1, 1, 0, 300)])
        seats = rank_layout(job)
        assert seats.nodes.tolist() == [3, 5] and seats.cores == 1
        write_traces(tmp_path / "rank", job, seats, 1e9)
        # Rank 0 is on node 5, which is SST's rank 1.
        sender, receiver = read_trace(tmp_path / "rank.1"), read_trace(tmp_path / "rank.0")
        assert sender == [
            ("init",), ("send", 0, 0, 100), ("send", 0, 0, 200), ("receive", 0, 1, 300, 3), ("wait", 3), ("finalize",),
        ]  # fmt: skip
        assert receiver == [
            ("init",), ("receive", 1, 0, 100, 1), ("receive", 1, 0, 200, 2), ("wait", 1, 2), ("send", 1, 1, 300),
            ("finalize",),
        ]  # fmt: skip

    def test_all_messages_are_there_in_their_order(self, tmp_path: Path) -> None:
        this = point(jobs=[{"share": 1.0, "pattern": {"kind": "stencil", "message": "3 kB"}, "mapping": "random"}])
        (job,) = place_jobs(this, this.machine.build())
        seats = rank_layout(job)
        write_traces(tmp_path / "rank", job, seats, 1e9)
        messages = job.messages
        for rank in range(job.ranks):
            calls = read_trace(tmp_path / f"rank.{seats.sst_rank_of_rank[rank]}")
            own = messages.source == rank
            expected = seats.sst_rank_of_rank[messages.destination[own]].tolist()
            assert [call[1] for call in calls if call[0] == "send"] == expected
            posted = sorted(call[1] for call in calls if call[0] == "receive")
            assert posted == sorted(seats.sst_rank_of_rank[messages.source[messages.destination == rank]].tolist())
            waited = [request for call in calls if call[0] == "wait" for request in call[1:]]
            assert waited == [call[4] for call in calls if call[0] == "receive"]

    def test_nodes_with_fewer_ranks_have_idle_seats(self, tmp_path: Path) -> None:
        job = job_of([2, 2, 7], [(0, 0, 2, 10)])
        seats = rank_layout(job)
        assert (seats.cores, seats.seats, seats.sst_rank_of_rank.tolist()) == (2, 4, [0, 1, 2])
        write_traces(tmp_path / "rank", job, seats, 1e9)
        assert read_trace(tmp_path / "rank.3") == [("init",), ("finalize",)]


class TestRunFile:
    def test_jobs_by_node(self, tmp_path: Path) -> None:
        idle = {"share": 0.25, "pattern": "idle"}
        ring = {"share": 0.5, "allocation": "random", "pattern": {"kind": "ring", "message": "1 kB"}}
        this = point(jobs=[idle, ring])
        jobs = place_jobs(this, this.machine.build())
        (described,) = written(tmp_path, this, jobs)["jobs"]
        assert described["number"] == 1 and described["cores"] == 2
        assert described["nodes"] == sorted(set(jobs[1].node_of_rank.tolist()))
        assert described["motifs"] == ["SIRIUSTrace traceprefix=job1.traces/rank"]
        assert len(list((tmp_path / "job1.traces").iterdir())) == 72

    def test_nothing_is_run_for_jobs_that_send_nothing(self, tmp_path: Path) -> None:
        this = point(jobs=[{"share": 1.0, "pattern": "idle"}])
        machine = this.machine.build()
        jobs = place_jobs(this, machine)
        assert Engine(Sst).write(BuiltPoint(this, machine, jobs), tmp_path) == []
        assert Engine(Sst).result(BuiltPoint(this, machine, jobs), tmp_path, 0).job_runtime_ns == (0.0,)

    def test_two_jobs_on_a_node_are_refused(self, tmp_path: Path) -> None:
        this = point()
        jobs = [job_of([0, 1], [(0, 0, 1, 10)]), job_of([1, 2], [(0, 0, 1, 10)])]
        with pytest.raises(WorkloadError, match="jobs cannot share nodes"):
            Engine(Sst).write(BuiltPoint(this, this.machine.build(), jobs), tmp_path)

    def test_costs_of_mpi(self, tmp_path: Path) -> None:
        (tmp_path / "free").mkdir()
        (tmp_path / "default").mkdir()
        free = written(tmp_path / "free", point())
        assert free["mpi"]["ctrl.shortMsgLength"] == 10_000 and free["nic"]["txDelay_ns"] == 0
        assert free["mpi"]["ctrl.pqs.maxPostedShortBuffers"] == 512 + 143
        default = written(tmp_path / "default", point(engine={"kind": "sst", "mpi": "default"}))
        assert default["mpi"] == {} and default["nic"] == {"packetSize": "2000B"}

    def test_buffers_are_what_the_study_says_and_hold_four_packets(self, tmp_path: Path) -> None:
        assert "network.buffer" in (why_not(DRAGONFLY, network={"packet": "2 kB", "buffer": "7.999 kB"}) or "")
        # Three flits of 700 B for each packet.
        flits: Any = {"kind": "sst", "flit": "700 B"}
        network = {"packet": "2 kB", "buffer": "8 kB"}
        assert "8,400 B" in (why_not(DRAGONFLY, network=network, engine=flits) or "")
        assert why_not(DRAGONFLY, network=network) is None
        run = written(tmp_path, point(network=network))
        assert run["router"]["input_buf_size"] == "8000B" and run["interface"]["output_buf_size"] == "4000B"
        assert run["router"]["flit_size"] == "500B"

    def test_native_motifs(self, tmp_path: Path) -> None:
        pattern = {"kind": "stencil", "message": "3 kB", "iterations": 2}
        this = point(
            engine={"kind": "sst", "motifs": "native"}, jobs=[{"share": 1.0, "pattern": pattern, "mapping": "random"}]
        )
        (described,) = written(tmp_path, this)["jobs"]
        assert described["motifs"][0].startswith("Halo3D pex=4 pey=6 pez=6 ")
        (job,) = place_jobs(this, this.machine.build())
        lines = (tmp_path / described["map"]).read_text().splitlines()
        assert lines[0] == "[JOB 0 START]" and lines[-1] == "[JOB 0 END]"
        assert [int(line) for line in lines[1:-1]] == rank_layout(job).sst_rank_of_rank.tolist()

    @pytest.mark.parametrize("pattern", [
        "bisection", {"kind": "stencil", "periodic": True}, "ring", {"kind": "all-to-all", "sizes": "linear"},
    ])  # fmt: skip
    def test_patterns_without_a_motif(self, pattern: Any) -> None:
        of_kind = {"kind": pattern} if isinstance(pattern, str) else pattern
        jobs = [{"share": 1.0, "pattern": of_kind | {"message": "1 kB"}}]
        reason = why_not(DRAGONFLY, engine={"kind": "sst", "motifs": "native"}, jobs=jobs)
        assert reason is not None and "Ember has no motif" in reason

    def test_a_message_longer_than_a_trace_can_say(self) -> None:
        reason = why_not(DRAGONFLY, jobs=[{"share": 1.0, "pattern": {"kind": "ring", "message": "5 GB"}}])
        assert reason is not None and "at most 4,294,967,295 B" in reason

    def test_a_longer_block_than_a_trace_can_say(self, tmp_path: Path) -> None:
        """A mean of 2 GB is within the limit of 32 bits; the largest of the blocks is not."""
        pattern = {"kind": "all-gather", "message": "2 GB", "sizes": "power-law"}
        assert why_not(DRAGONFLY, jobs=[{"share": 1.0, "pattern": pattern}]) is None
        with pytest.raises(WorkloadError):
            written(tmp_path, point(jobs=[{"share": 1.0, "pattern": pattern}]))


class TestLooking:
    def test_absent(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.delenv("SST_CORE_HOME", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        probe = Engine(Sst).probe()
        assert not probe.found and probe.reason is not None
        assert "no program sst" in probe.reason and "SST_CORE_HOME" in probe.reason and "envmodules" in probe.reason

    def test_home_without_it(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("SST_CORE_HOME", str(tmp_path))
        assert "has no bin/sst" in str(Engine(Sst).probe().reason)

    def test_without_elements(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        script(tmp_path / "bin" / "sst", 'echo "SST-Core Version (14.1.0)"')
        script(tmp_path / "bin" / "sst-config", "exit 1")
        monkeypatch.setenv("SST_CORE_HOME", str(tmp_path))
        assert "no element library merlin, firefly, hermes, ember" in str(Engine(Sst).probe().reason)

    def test_elements_where_sst_config_says(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        script(tmp_path / "bin" / "sst", 'echo "SST-Core Version (14.1.0)"')
        script(tmp_path / "bin" / "sst-config", f"echo {tmp_path}/elsewhere")
        (tmp_path / "elsewhere").mkdir()
        for name in program_module.ELEMENTS:
            (tmp_path / "elsewhere" / f"lib{name}.so").touch()
        monkeypatch.setenv("SST_CORE_HOME", str(tmp_path))
        assert Engine(Sst).probe().version == "SST 14.1.0"
        # Another build is another simulator.
        before = Engine(Sst).program()
        (tmp_path / "elsewhere" / "libmerlin.so").write_text("another build")
        assert Engine(Sst).program() != before

    def test_a_program_that_fails(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        script(tmp_path / "bin" / "sst", "exit 1")
        monkeypatch.setenv("SST_CORE_HOME", str(tmp_path))
        assert "--version failed" in str(Engine(Sst).probe().reason)


def script(path: Path, body: str) -> None:
    """Write an executable shell script."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_cost_grows_with_the_traffic() -> None:
    def cost(message: str, routing: str = "minimal") -> float:
        return Engine(Sst).predict_cpu_s(point_on(DRAGONFLY, routing, message=message, engine="sst"))

    assert cost("5 kB") < cost("50 kB") < cost("50 kB", "valiant")


CUBE = {"kind": "torus", "shape": [8, 8, 8], "bandwidth": "1 GB/s"}
LARGE_DRAGONFLY = DRAGONFLY | {"groups": 17, "routers_per_group": 8}
LARGE = CUBE | {"shape": [16, 16, 16]}
PAIRWISE = {"kind": "all-to-all", "algorithm": "pairwise"}


@pytest.mark.parametrize(
    ("machine", "routing", "pattern", "message", "engine", "measured_MB", "measured_s"),
    [
        # Processor seconds of the program, 23 November 2026, with the SST and on the computer of the law's records.
        (DRAGONFLY, "minimal", "all-to-all", "2 kB", {}, 190, None),
        (DRAGONFLY, "minimal", "all-to-all", "50 kB", {}, 1216, None),
        (DRAGONFLY, "minimal", {"kind": "all-to-all", "iterations": 3}, "20 kB", {}, 574, 13.7),
        (DRAGONFLY, "minimal", PAIRWISE, "20 kB", {}, 126, 3.1),
        (DRAGONFLY, "valiant", "bisection", "10 kB", {}, 242, None),
        (DRAGONFLY, "minimal", "stencil", "1 MB", {}, 1555, 3.9),
        (DRAGONFLY, "minimal", "all-to-all", "20 kB", {"mpi": "default"}, 386, 2.8),
        (DRAGONFLY, "minimal", "all-to-all", "20 kB", {"motifs": "native"}, 128, 2.3),
        (CUBE, UP, "stencil", "20 kB", {}, 313, None),
        (CUBE, UP, "all-to-all", "1 kB", {}, 949, None),
        (LARGE, UP, "ring", "10 kB", {}, 1110, 9.5),
        (TREE | {"radix": 8}, "d-mod-k", "all-to-all", "5 kB", {}, 228, None),
        (LARGE_DRAGONFLY, "minimal", "all-to-all", "2 kB", {}, 1318, None),
        (SLIM_FLY | {"nodes_per_router": 4}, "minimal", "all-to-all", "5 kB", {}, 411, None),
    ],
)
def test_cost_is_predicted_as_it_was_measured(
    machine: dict[str, Any],
    routing: Any,
    pattern: Any,
    message: str,
    engine: dict[str, str],
    measured_MB: float,
    measured_s: float | None,
) -> None:
    this = point_on(machine, routing, pattern, message, engine={"kind": "sst", **engine})
    assert Engine(Sst).predict_memory_bytes(this) == pytest.approx(measured_MB * 1e6, rel=0.15)
    if measured_s is not None:
        # The law has no factor for the algorithm of an all-to-all, nor for SST's own motifs and costs of MPI.
        assert 0.5 < Engine(Sst).predict_cpu_s(this) / measured_s < 2


def test_buffers_of_all_jobs_are_as_long_as_the_longest_message() -> None:
    def buffers(first: str, second: str) -> float:
        jobs = [{"share": 0.5, "pattern": {"kind": "all-to-all", "message": size}} for size in (first, second)]
        return Sst.work(point_on(DRAGONFLY, engine="sst", jobs=jobs)).memory["byte of a buffer"]

    assert buffers("1 kB", "100 kB") == buffers("100 kB", "100 kB")
    # Two jobs of 72 ranks; each rank has 71 receives and 5 buffers to spare.
    assert buffers("1 kB", "100 kB") == 2 * 72 * (71 + 5) * 100_000


def test_unsupported_is_raised_by_the_wiring() -> None:
    with pytest.raises(Unsupported):
        wired(TREE, "valiant")


@pytest.mark.parametrize(
    ("buffer", "flit", "fits"),
    [
        ("16 kB", "250 B", False),
        ("16 kB", "156 B", True),
        ("16 kB", "157 B", False),
        ("64 kB", "500 B", True),
        ("50 kB", "500 B", False),
    ],
)
def test_ugal_is_refused_where_sst_would_never_detour(buffer: str, flit: str, fits: bool) -> None:
    this = point_on(
        DRAGONFLY,
        {"kind": "ugal", "via": "group"},
        engine={"kind": "sst", "flit": flit},
        network={"buffer": buffer, "packet": "1 kB"},
    )
    # Merlin adds 50 flits to the queue of a detour, and an output holds half of the buffer.
    assert (Engine(Sst).unsupported(this, this.machine.build()) is None) == fits
