"""The adapter and the front end together, on the real program."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.bundled import MACHINE, OPERATIONS, RESULT
from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.caminos.clock import clock
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.failures import EngineFailure
from fabricstudy.engine.point import Point
from fabricstudy.engine.traffic_files import whole_units
from fabricstudy.machine.graph import LinkClass, Machine
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.valiant import Valiant
from fabricstudy.structure.bound import load_time_ns
from fabricstudy.structure.load import link_loads
from fabricstudy.workload.messages import PlacedJob

from ..machines import DRAGONFLY, job_of, line, place_jobs, point_on, ring
from .run_caminos import ends, run, simulate

PROBE = Engine(Caminos).probe()
pytestmark = pytest.mark.skipif(not PROBE.found, reason=str(PROBE.reason))

PHIT = 500
PACKET = 1000


def point(routing: str = "minimal", seed: int = 1, phit: int = PHIT, **machine: Any) -> Point:
    """Point on a small dragonfly, without latencies."""
    bandwidth = {"local": "1 GB/s", "global": "2 GB/s", "host": "1 GB/s"}
    small = DRAGONFLY | {"bandwidth": bandwidth, "latency": "0 ns"} | machine
    return exact(small, routing, message="2 kB", seed=seed, phit=phit)


def exact(machine: dict[str, Any], routing: Any, phit: int = PHIT, **more: Any) -> Point:
    """Point without latencies and with short buffers."""
    network = {"packet": f"{PACKET} B", "buffer": "8 kB", "router_latency": "0 ns"}
    return point_on(machine, routing, network=network, engine={"kind": "caminos", "phit": f"{phit} B"}, **more)


class TestLinkLoads:
    @pytest.mark.parametrize("arrangement", ["absolute", "relative", "circulant"])
    def test_minimal_loads_are_those_of_the_analysis(self, tmp_path: Path, arrangement: str) -> None:
        this = point(arrangement=arrangement)
        machine = this.machine.build()
        jobs = place_jobs(this, machine)
        result, _ = simulate(tmp_path, this, jobs, machine)
        loads = link_loads(machine, *ends(jobs), Minimal())
        assert result.link_bytes is not None
        np.testing.assert_array_equal(result.link_bytes, loads.link_bytes)
        assert result.job_runtime_ns[0] is not None
        assert result.job_runtime_ns[0] >= load_time_ns(machine, loads)

    def test_messages_of_odd_sizes_count_whole_phits(self, tmp_path: Path) -> None:
        this = point()
        machine = this.machine.build()
        rng = np.random.default_rng(5)
        pairs = rng.permutation(72)
        messages = [(0, i, int(pairs[i]), int(rng.integers(1, 9000))) for i in range(72) if i != pairs[i]]
        jobs = [job_of(list(range(72)), messages)]
        result, written = simulate(tmp_path, this, jobs, machine)
        source, destination, size = ends(jobs)
        phits = link_loads(machine, source, destination, whole_units(size, PHIT), Minimal()).link_bytes
        np.testing.assert_array_equal(written["link_phits"], phits)
        assert result.link_bytes is not None
        # Bytes are shared out among the phits: the total is between that of the messages and that of full phits.
        assert result.link_bytes.sum() == pytest.approx(phits.sum() * size.sum() / whole_units(size, PHIT).sum())

    def test_valiant_finishes_and_meets_the_expected_loads(self, tmp_path: Path) -> None:
        this = point("valiant", phit=1000)
        machine = this.machine.build()
        jobs = place_jobs(this, machine)
        result, written = simulate(tmp_path, this, jobs, machine)
        loads = link_loads(machine, *ends(jobs), Valiant())
        assert result.link_bytes is not None
        # A link sees about 2,000 packets or more, so a deviation of 15 % would be seven times the standard one.
        np.testing.assert_allclose(result.link_bytes, loads.link_bytes, rtol=0.15)
        assert result.link_bytes.sum() == pytest.approx(loads.link_bytes.sum(), rel=0.01)
        assert len(written["packets_by_hops"]) == 7
        assert result.job_runtime_ns[0] is not None
        assert result.job_runtime_ns[0] >= 0.99 * load_time_ns(machine, loads)

    def test_parallel_cables_are_one_link_with_their_capacity_together(self, tmp_path: Path) -> None:
        streams = [job_of([0, 1, 2, 3], [(0, 0, 2, 200_000), (0, 1, 3, 200_000)])]
        single, _ = simulate(tmp_path / "one", point(), streams, line([1e9], nodes=2))
        double, _ = simulate(tmp_path / "two", point(), streams, line([1e9], count=2, nodes=2))
        assert single.link_bytes is not None and double.link_bytes is not None
        assert single.link_bytes.tolist() == double.link_bytes.tolist() == [400_000, 0]
        assert single.job_runtime_ns[0] is not None and double.job_runtime_ns[0] is not None
        assert single.job_runtime_ns[0] >= 400_000
        assert 200_000 <= double.job_runtime_ns[0] <= 230_000


class TestTimes:
    def expected_ns(self, size: int, machine: Machine) -> float:
        """Count by hand: a phit starts on a link at one of its ticks, and arrives one phit time of the link later."""
        units = clock(point(), machine)
        arrived = np.zeros(size // PHIT, dtype=int)
        host = units.divisors[-1]
        for divisor in (host, *units.divisors[:-1], host):
            tick = -1
            for phit, ready in enumerate(arrived):
                tick = max(tick + 1, -(-ready // divisor))
                arrived[phit] = (tick + 1) * divisor
        return float(arrived[-1]) * units.cycle_ns

    @pytest.mark.parametrize("slow", [1e9, 0.5e9, 0.25e9])
    @pytest.mark.parametrize("size", [500, 1000, 10_000])
    def test_one_message_over_one_link(self, tmp_path: Path, slow: float, size: int) -> None:
        machine = line([slow])
        result, _ = simulate(tmp_path, point(), [job_of([0, 1], [(0, 0, 1, size)])], machine)
        assert result.job_runtime_ns == pytest.approx((self.expected_ns(size, machine),))
        # n phits need n - 1 phit times of the slowest link and one of every link, and wait at most for a tick.
        times = PHIT / np.array([1e9, slow, 1e9]) * 1e9
        least = (size / PHIT - 1) * times.max() + times.sum()
        assert least <= result.job_runtime_ns[0] < least + times.max()

    def test_the_slowest_of_several_links_decides(self, tmp_path: Path) -> None:
        machine = line([2e9, 0.5e9, 3e9])
        result, _ = simulate(tmp_path, point(), [job_of([0, 3], [(0, 0, 1, 20_000)])], machine)
        assert result.job_runtime_ns == pytest.approx((self.expected_ns(20_000, machine),))

    def test_latency_is_added_once_a_link(self, tmp_path: Path) -> None:
        machine = line([1e9])
        far = Machine(**(machine.__dict__ | {"classes": (LinkClass("hop0", 1e9, 5000.0),)}))
        result, _ = simulate(tmp_path, point(), [job_of([0, 1], [(0, 0, 1, 1000)])], far)
        assert result.job_runtime_ns == pytest.approx((self.expected_ns(1000, machine) + 5000,))

    def test_ranks_of_a_node_share_its_link(self, tmp_path: Path) -> None:
        machine = line([4e9])
        ranks = job_of([0, 0, 1, 1], [(0, 0, 2, 10_000), (0, 1, 3, 10_000)])
        result, _ = simulate(tmp_path, point(), [ranks], machine)
        assert result.job_runtime_ns[0] is not None
        assert 20_000 <= result.job_runtime_ns[0] <= 20_000 + 4 * 500

    def test_ranks_of_a_node_take_turns(self, tmp_path: Path) -> None:
        # One job's rank has ten messages, the other's one: in turn, the one is not kept waiting for all ten.
        machine = line([4e9])
        many = job_of([0, 1], [(0, 0, 1, 1000)] * 10)
        one = job_of([0, 1], [(0, 0, 1, 1000)])
        result, _ = simulate(tmp_path, point(), [many, one], machine)
        assert result.job_runtime_ns[0] is not None and result.job_runtime_ns[1] is not None
        assert result.job_runtime_ns[1] <= 4000 < 11_000 <= result.job_runtime_ns[0]


class TestPhases:
    def test_a_phase_begins_when_the_ranks_own_messages_have_arrived(self, tmp_path: Path) -> None:
        once, _ = simulate(tmp_path / "once", point(), [job_of([0, 1], [(0, 0, 1, 5000)])], line([1e9]))
        chain = job_of([0, 1], [(0, 0, 1, 5000), (1, 1, 0, 5000), (2, 0, 1, 5000)])
        thrice, _ = simulate(tmp_path / "thrice", point(), [chain], line([1e9]))
        # The cycle in which a message arrives is the one in which the next is sent.
        assert once.job_runtime_ns[0] is not None
        assert thrice.job_runtime_ns[0] == pytest.approx(3 * once.job_runtime_ns[0])

    def test_there_is_no_barrier(self, tmp_path: Path) -> None:
        # Ranks 0 and 1 exchange a long message first, ranks 2 and 3 go through four phases meanwhile.
        pairs = [(0, 0, 1, 50_000)] + [(phase, 2, 3, 500) for phase in range(4)]
        machine = line([4e9], nodes=2)
        both, _ = simulate(tmp_path / "both", point(), [job_of([0, 2, 1, 3], pairs)], machine)
        alone, _ = simulate(tmp_path / "alone", point(), [job_of([0, 2], pairs[:1])], machine)
        assert both.job_runtime_ns[0] == pytest.approx(alone.job_runtime_ns[0], abs=1000)

    def test_a_message_of_a_later_phase_is_taken_early(self, tmp_path: Path) -> None:
        # Rank 0 is in phase 0 until the long message arrives; rank 1 sends it something for phase 1 at once.
        messages = [(0, 2, 0, 50_000), (1, 1, 0, 500)]
        result, written = simulate(tmp_path, point(), [job_of([0, 2, 3], messages)], line([4e9], nodes=2))
        assert written["ejected_phits"] == 101
        assert result.job_runtime_ns[0] is not None
        assert 50_000 <= result.job_runtime_ns[0] <= 53_000

    def test_messages_within_a_node_take_no_time_and_no_link(self, tmp_path: Path) -> None:
        inside = job_of([0, 0], [(0, 0, 1, 10**9), (1, 1, 0, 10**9)])
        mixed = job_of([0, 0, 1], [(0, 0, 1, 10**9), (0, 1, 0, 10**9), (1, 1, 2, 1000)])
        result, written = simulate(tmp_path, point(), [inside, mixed], line([1e9]))
        assert result.job_runtime_ns == pytest.approx((0.0, 2000.0))
        assert written["link_phits"] == [2, 0]


class TestMeanOfRanks:
    def test_question_and_answer_by_hand(self, tmp_path: Path) -> None:
        # 10 phits of 500 ns take (10 - 1 + 3) * 500 ns over three links, (10 - 1 + 2) * 500 ns in a router, and back.
        far, near = [(0, 0, 1, 5000), (1, 1, 0, 5000)], [(0, 2, 3, 5000), (1, 3, 2, 5000)]
        pairs = job_of([0, 3, 1, 2, 4], sorted([*far, *near]))
        result, written = simulate(tmp_path, point(), [pairs, job_of([5], [])], line([1e9], nodes=3))
        assert result.job_runtime_ns == (12_000.0, 0.0)
        # The fifth rank is idle, and the second job sends nothing.
        assert result.job_rank_mean_ns == (11_500.0, None)
        # Each rank sends one message, of half the time.
        assert result.job_message_mean_ns == (5_750.0, None)
        assert result.job_message_p99_ns == (6_000.0, None)
        cycle_ns = clock(point(), line([1e9], nodes=3)).cycle_ns
        assert np.multiply(written["rank_finish_cycles"], cycle_ns).tolist() == [12_000, 12_000, 11_000, 11_000, 0, 0]

    @pytest.mark.parametrize(("injected", "mean_ns"), [(1, 126_000), (16, 199_500)])
    def test_messages_that_share_a_link(self, tmp_path: Path, injected: int, mean_ns: float) -> None:
        # 50 us each, and 1 us for a phit to pass the two other links: one after the other they end at 51, 101, 151 and
        # 201 us; packet by packet in turn, a packet of 1 us apart, at 198, 199, 200 and 201 us.
        pairs = job_of([0, 0, 0, 0, 1, 1, 1, 1], [(0, rank, rank + 4, 50_000) for rank in range(4)])
        network = point().network.model_copy(update={"injected_messages": injected})
        result, _ = simulate(tmp_path, point().model_copy(update={"network": network}), [pairs], line([1e9]))
        assert result.job_runtime_ns == (201_000.0,)
        assert result.job_rank_mean_ns == (mean_ns,)
        # A sender ends when its only message has arrived.
        assert result.job_message_mean_ns == pytest.approx((mean_ns,), rel=1e-3)
        assert result.job_message_p99_ns == pytest.approx((201_000.0,), rel=1e-3)


class TestJobs:
    def test_jobs_finish_each_at_its_own_time(self, tmp_path: Path) -> None:
        machine = line([1e9], nodes=2)
        short, long = job_of([0, 2], [(0, 0, 1, 1000)]), job_of([1, 3], [(0, 0, 1, 9000)])
        result, _ = simulate(tmp_path, point(), [long, short], machine)
        assert result.job_runtime_ns[0] is not None and result.job_runtime_ns[1] is not None
        assert result.job_runtime_ns[1] < result.job_runtime_ns[0] / 2
        assert result.job_runtime_ns[0] >= 10_000  # both cross one link

    def test_an_idle_job_takes_no_time(self, tmp_path: Path) -> None:
        result, _ = simulate(tmp_path, point(), [job_of([0, 1], []), job_of([0, 1], [(0, 0, 1, 500)])], line([1e9]))
        assert result.job_runtime_ns == (0.0, 1500.0)

    def test_nothing_to_send_at_all(self, tmp_path: Path) -> None:
        result, _ = simulate(tmp_path, point(), [job_of([0, 1], [])], line([1e9]))
        assert result.job_runtime_ns == (0.0,)
        assert result.link_bytes is not None and not result.link_bytes.any()

    @pytest.mark.parametrize("routing", ["minimal", "valiant", "ugal"])
    def test_the_seed_decides(self, tmp_path: Path, routing: str) -> None:
        def once(name: str, seed: int) -> dict[str, Any]:
            this = point(routing, seed, phit=1000)
            machine = this.machine.build()
            # The same jobs for both seeds: the engine's own draws are what differs.
            return simulate(tmp_path / name, this, place_jobs(point(phit=1000), machine), machine)[1]

        first = once("first", 1)
        assert once("again", 1) == first
        assert once("other", 2) != first

    def test_ugal_is_between_minimal_and_valiant_in_hops(self, tmp_path: Path) -> None:
        def hops(routing: str) -> float:
            this = point(routing, phit=1000)
            machine = this.machine.build()
            _, written = simulate(tmp_path / routing, this, place_jobs(this, machine), machine)
            packets = np.array(written["packets_by_hops"])
            return float(packets @ np.arange(len(packets)) / packets.sum())

        assert hops("minimal") < hops("ugal") < hops("valiant")


class TestFailures:
    def prepared(self, folder: Path) -> tuple[Point, Machine, list[PlacedJob], list[str]]:
        this, machine, jobs = point(), line([1e9]), [job_of([0, 1], [(0, 0, 1, 5000)])]
        return this, machine, jobs, Engine(Caminos).write(BuiltPoint(this, machine, jobs), folder)

    def test_traffic_that_is_long_under_way_is_not_ended(self, tmp_path: Path) -> None:
        """Nothing reaches its node for 80 cables of 900 cycles each, more than the cycles after which all is stuck."""
        machine, jobs = line([1e9] * 80), [job_of([0, 80], [(0, 0, 1, 5000)])]
        far = replace(machine, classes=tuple(replace(of, latency_ns=900.0 * PHIT) for of in machine.classes))
        result, _ = simulate(tmp_path, point(), jobs, far)
        assert result.job_runtime_ns[0] == pytest.approx(80 * 900 * PHIT, rel=0.01)

    def test_deadlock_is_noticed(self, tmp_path: Path) -> None:
        # A ring of routers, each sending two hops on, with one virtual channel and buffers of one packet.
        nodes, machine = 6, ring(6)
        jobs = [job_of(list(range(nodes)), [(0, i, (i + 2) % nodes, 5_000_000) for i in range(nodes)])]
        argv = Engine(Caminos).write(BuiltPoint(point(), machine, jobs), tmp_path)
        path = tmp_path / argv[1]
        text = path.read_text()
        path.write_text(text.replace("channels: 3", "channels: 1").replace("hop_classes: 3", "hop_classes: 1"))
        assert run(argv, tmp_path) == 3
        assert "deadlock" in (tmp_path / "stderr").read_text()
        result, _ = simulate(tmp_path / "enough", point(), jobs, machine)
        assert result.job_runtime_ns[0] is not None
        assert result.job_runtime_ns[0] > 0

    @pytest.mark.parametrize(
        ("file", "old", "new", "said"),
        [
            (MACHINE, "graph 1", "graph 2", f"{MACHINE}:1: "),
            (MACHINE, "0 1 0 1", "0 7 0 1", f"{MACHINE}:8: "),
            (MACHINE, "0 1 0 1", "0 1 5 1", f"{MACHINE}:8: "),
            (MACHINE, "cables 1\n0 1 0 1\n", "cables 0\n", f"{MACHINE}: not every router"),
            (OPERATIONS, "3 0 0 10 3", "3 0 0 10", f"{OPERATIONS}:9: "),
            (OPERATIONS, "3 0 0 10 3", "3 0 0 10 3 4", f"{OPERATIONS}:9: "),
            (OPERATIONS, "3 0 0 10 3", "3 0 0 -10 3", f"{OPERATIONS}:9: "),
            (OPERATIONS, "3 0 0 10 3", "3 0 0 0 3", f"{OPERATIONS}: a send needs"),
            (OPERATIONS, "3 0 0 10 3", "3 2 0 10 3", f"{OPERATIONS}:9: "),
            (OPERATIONS, "3 0 0 10 3", "3 0 0 10 2", f"{OPERATIONS}: a send or receive"),
            (OPERATIONS, "dependencies 2", "dependencies 3", f"{OPERATIONS}:15: the file ends"),
            (OPERATIONS, "2 3 0\n", "2 3 0\n2 3 0\n", f"{OPERATIONS}:15: "),
            ("caminos.cfg", "Routes {", "Routse {", "caminos.cfg: "),
            ("caminos.cfg", "Configuration {", "Configuration", "caminos.cfg: "),
            ("caminos.cfg", "random_seed: 1,", "", "caminos.cfg: "),
            ("caminos.cfg", "graph", "grief", "machine.grief: cannot be read"),
        ],
    )
    def test_bad_files_are_named(self, tmp_path: Path, file: str, old: str, new: str, said: str) -> None:
        this, machine, jobs, argv = self.prepared(tmp_path)
        text = (tmp_path / file).read_text()
        assert old in text
        (tmp_path / file).write_text(text.replace(old, new))
        exit_code = run(argv, tmp_path)
        assert exit_code == 2 and not (tmp_path / RESULT).exists()
        with pytest.raises(EngineFailure, match=said):
            Engine(Caminos).result(BuiltPoint(this, machine, jobs), tmp_path, exit_code)

    @pytest.mark.parametrize(
        "content", ["", "{", "[]", "{}", '{"job_finish_cycles": "x"}', "\x00\xff", "null", "NAN", "NEGATIVE"]
    )
    def test_garbage_is_no_result(self, tmp_path: Path, content: str) -> None:
        this, machine, jobs, argv = self.prepared(tmp_path)
        assert run(argv, tmp_path) == 0
        good = (tmp_path / RESULT).read_text()
        for name, cycles in {"NAN": "[NaN]", "NEGATIVE": "[-1]"}.items():
            content = content.replace(name, re.sub(r'(?<="job_finish_cycles": )\[\d+\]', cycles, good))
        (tmp_path / RESULT).write_bytes(content.encode("latin-1"))
        with pytest.raises(EngineFailure, match="not a result"):
            Engine(Caminos).result(BuiltPoint(this, machine, jobs), tmp_path, 0)

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("job_finish_cycles", [5, 5]),
            ("rank_finish_cycles", [12]),
            ("rank_finish_cycles", [11, 11]),
            ("link_phits", [1]),
            ("injected_phits", 9),
            ("ejected_phits", 11),
        ],
    )
    def test_a_result_must_fit(self, tmp_path: Path, key: str, value: Any) -> None:
        this, machine, jobs, argv = self.prepared(tmp_path)
        assert run(argv, tmp_path) == 0
        written = json.loads((tmp_path / RESULT).read_text())
        (tmp_path / RESULT).write_text(json.dumps(written | {key: value}))
        with pytest.raises(EngineFailure):
            Engine(Caminos).result(BuiltPoint(this, machine, jobs), tmp_path, 0)

    def test_exit_without_result(self, tmp_path: Path) -> None:
        this, machine, jobs, _ = self.prepared(tmp_path)
        with pytest.raises(EngineFailure, match="not a result"):
            Engine(Caminos).result(BuiltPoint(this, machine, jobs), tmp_path, 0)

    def test_command_line(self, tmp_path: Path) -> None:
        *_, argv = self.prepared(tmp_path)
        assert run(argv[:1], tmp_path) == 2
        assert run([*argv, "more"], tmp_path) == 2
        assert run([argv[0], "absent.cfg", RESULT], tmp_path) == 2
        assert run([argv[0], "--version"], tmp_path) == 0
        assert "caminos-lib 0.6.3" in (tmp_path / "stdout").read_text()
        assert run([*argv[:2], "no/such/folder/result.json"], tmp_path) == 1


def test_units_of_the_fastest_class_make_the_clock() -> None:
    this = point()
    units = clock(this, line([1e9, 3.5e9], host_Bps=1e9))
    assert units.divisors == (7, 2, 7)
    assert units.cycle_ns == pytest.approx(PHIT / 7)
    assert units.crossbar_divisor == 2
