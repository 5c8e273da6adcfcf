"""What the adapter makes of a point; needs no simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.bundled import MACHINE, OPERATIONS
from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.caminos.clock import bandwidth_divisors, clock, phit_bytes
from fabricstudy.engine.caminos.files import CONFIGURATION, configuration
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.failures import Unsupported
from fabricstudy.engine.point import Point
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.messages import PlacedJob

from ..machines import DRAGONFLY, job_of, point_on


def point(
    global_: str = "1 GB/s",
    latency: str = "40 ns",
    engine: Any = "caminos",
    routing: str = "minimal",
    message: str = "100 kB",
    pattern: str = "all-to-all",
    jobs: list[Any] | None = None,
    local: str = "1 GB/s",
) -> Point:
    """Point on the small dragonfly."""
    bandwidth = {"local": local, "global": global_, "host": "1 GB/s"}
    given = {"jobs": jobs} if jobs else {}
    machine = DRAGONFLY | {"bandwidth": bandwidth, "latency": latency}
    return point_on(machine, routing, pattern, message, seed=7, engine=engine, **given)


class TestGrid:
    @pytest.mark.parametrize(
        ("ratio", "divisors"),
        [(0.5, (1, 2)), (1, (1, 1)), (1.25, (5, 4)), (1.5, (3, 2)), (2.5, (5, 2)), (3.5, (7, 2)), (4, (4, 1))],
    )
    def test_the_ratios_of_the_studies(self, ratio: float, divisors: tuple[int, int]) -> None:
        assert bandwidth_divisors([1e9, ratio * 1e9]) == divisors

    @given(st.lists(st.floats(0.05, 1), min_size=1, max_size=3))
    def test_divisors_are_inverse_to_bandwidths_within_one_percent(self, bandwidths: list[float]) -> None:
        try:
            divisors = bandwidth_divisors(bandwidths)
        except Unsupported:
            return
        products = np.array(bandwidths) * divisors
        assert products.max() <= 1.0102 * products.min()
        assert max(divisors) <= 256

    @pytest.mark.parametrize("bandwidths", [[1.0, 1000.0], [1.0, 0.002]])
    def test_refusal_says_what_and_why(self, bandwidths: list[float]) -> None:
        with pytest.raises(Unsupported, match=r"ratio of integers up to 256 .* choose simpler"):
            bandwidth_divisors(bandwidths)


class TestClock:
    @settings(deadline=None)
    @given(st.floats(0.3, 5), st.floats(0.3, 5))
    def test_no_simulated_link_is_faster_than_the_true_one(self, local: float, global_: float) -> None:
        this = point(global_=f"{global_!r} GB/s", local=f"{local!r} GB/s")
        machine = this.machine.build()
        reason = Engine(Caminos).unsupported(this, machine)
        if reason is not None:
            assert "GB/s" in reason
            return
        units = clock(this, machine)
        for link, divisor in zip((*machine.classes, machine.host), units.divisors, strict=True):
            simulated_Bps = units.phit_bytes / (divisor * units.cycle_ns) * 1e9
            assert 0.9899 * link.bandwidth_Bps <= simulated_Bps <= link.bandwidth_Bps * (1 + 1e-12)

    def test_delay_is_the_phit_and_the_nearest_cycle_of_the_latencies(self) -> None:
        this = point(global_="2 GB/s", latency="1 us", engine={"kind": "caminos", "phit": "500 B"})
        units = clock(this, this.machine.build())
        # A cycle is 250 ns; the link's 1000 and the router's 100 ns are 4.4 of them.
        assert units.cycle_ns == 250
        assert units.delays == (2 + 4, 1 + 4, 2 + 4)

    def test_packets_are_never_longer_than_asked_for(self) -> None:
        units = clock(*self._with_phit("256 B"))
        assert units.packet_phits == 7
        assert units.buffer_phits == 250
        assert clock(*self._with_phit("2 kB")).packet_phits == 1

    @pytest.mark.parametrize("phit", ["2001 B", "4 kB", "1 MB"])
    def test_a_phit_above_the_packet_is_refused(self, phit: str) -> None:
        reason = Engine(Caminos).unsupported(*self._with_phit(phit))
        assert reason is not None and "engine.phit" in reason and "network.packet" in reason

    @pytest.mark.parametrize(("buffer", "fits"), [("1 B", False), ("4 kB", False), ("7999 B", False), ("8 kB", True)])
    def test_a_buffer_holds_four_packets_or_is_refused(self, buffer: str, fits: bool) -> None:
        this = point_on(DRAGONFLY, engine={"kind": "caminos", "phit": "2 kB"}, network={"buffer": buffer})
        reason = Engine(Caminos).unsupported(this, this.machine.build())
        assert (reason is None) == fits
        assert fits or "network.buffer" in str(reason)

    def test_a_phit_of_ours_grows_until_the_latency_fits(self) -> None:
        this = point(latency="1 ms", message="8 kB")
        units = clock(this, this.machine.build())
        assert units.phit_bytes == 2000  # 500 cycles, an eighth of a packet three times doubled
        assert max(units.delays) + max(units.divisors) <= 999

    def test_a_phit_of_ours_does_not_grow_beyond_the_packet(self) -> None:
        this = point(latency="10 ms")
        reason = Engine(Caminos).unsupported(this, this.machine.build())
        assert reason is not None and "network.packet" in reason

    def test_a_phit_of_the_study_does_not(self) -> None:
        this = point(latency="10 ms", engine={"kind": "caminos", "phit": "2 kB"})
        reason = Engine(Caminos).unsupported(this, this.machine.build())
        assert reason is not None and "choose a larger engine.phit" in reason

    def _with_phit(self, phit: str) -> tuple[Point, Machine]:
        this = point(engine={"kind": "caminos", "phit": phit})
        return this, this.machine.build()


class TestPhit:
    def test_it_is_an_eighth_of_a_packet_whatever_is_sent(self) -> None:
        assert {phit_bytes(point(message=size)) for size in ("1 B", "1 kB", "1 MB")} == {250}
        assert phit_bytes(point_on(DRAGONFLY, network={"packet": "2049 B"})) == 257

    @pytest.mark.parametrize(("message", "phit"), [("256 B", 32), ("2 kB", 250), ("3 kB", 188)])
    def test_messages_of_offered_traffic_have_equal_packets(self, message: str, phit: int) -> None:
        offered = {"traffic": "uniform", "load": 0.5, "message": message}
        assert phit_bytes(point_on(DRAGONFLY, jobs=[], offered=offered)) == phit

    def test_the_study_decides_if_it_says_so(self) -> None:
        assert phit_bytes(point(engine={"kind": "caminos", "phit": "300 B"})) == 300


class TestFiles:
    def job(self) -> PlacedJob:
        return job_of([3, 71], [(0, 0, 1, 1), (0, 1, 0, 1000), (1, 1, 0, 1001)])

    def test_machine_and_operations_in_words(self, tmp_path: Path) -> None:
        this = point(engine={"kind": "caminos", "phit": "500 B"})
        machine = this.machine.build()
        argv = Engine(Caminos).write(BuiltPoint(this, machine, [self.job()]), tmp_path)
        assert argv[1] == CONFIGURATION
        graph = (tmp_path / MACHINE).read_text().splitlines()
        assert graph[:6] == ["graph 1", "routers 36", "classes 2", "nodes 72", "0", "0"]
        assert graph[76] == "cables 90"
        cables = np.array([line.split() for line in graph[77:]], dtype=int)
        np.testing.assert_array_equal(cables[:, 0], machine.cable_tail)
        np.testing.assert_array_equal(cables[:, 1], machine.cable_head)
        np.testing.assert_array_equal(cables[:, 2], machine.cable_class)
        np.testing.assert_array_equal(cables[:, 3], machine.cable_count)
        assert (tmp_path / OPERATIONS).read_text() == (
            "operations 1\njobs 1\nranks 2\n3\n71\nstreams 2\noperations 10\n"
            # Of each rank a calc that begins a phase, what it sends, and what it gets in it.
            "0 0 0 0 0\n3 0 0 1 7\n2 0 0 0 6\n0 0 0 0 0\n2 0 0 0 9\n"
            "0 1 1 0 0\n3 1 1 2 2\n2 1 1 0 1\n0 1 1 0 0\n3 1 1 3 4\n"
            "dependencies 10\n0 1 0\n0 2 0\n1 3 0\n2 3 0\n3 4 0\n5 6 0\n5 7 0\n6 8 0\n7 8 0\n8 9 0\n"
        )

    def test_configuration(self) -> None:
        this = point("2 GB/s", routing="valiant")
        text = configuration(this, this.machine.build(), "TaskGraph {}")
        for part in (
            "random_seed: 7,",
            "virtual_channels: 6,",
            'Routes { kind: "valiant", by_hops: true, tie: "split", via: "router", detours: 1, progressive: false, '
            "class_weight: [1, 100], channels: 6, hop_classes: 6 }",
            "maximum_packet_size: 8,",
            "buffer_size: 256,",
            # A cycle is 125 ns: 140 ns of a cable and a router are one, and so are 90 ns at a node.
            "link_classes: [LinkClass { delay: 3, frequency_divisor: 2 }, "
            "LinkClass { delay: 2, frequency_divisor: 1 }, LinkClass { delay: 3, frequency_divisor: 2 }]",
        ):
            assert part in text
        ugal = configuration(point(routing="ugal"), this.machine.build(), "TaskGraph {}")
        assert "[LowestSinghWeight { extra_congestion: 8, " in ugal

    @pytest.mark.parametrize("parameter", [{"bias": 2.0}, {"threshold": "4 kB"}])
    def test_what_the_policies_of_caminos_have_not_is_refused(self, parameter: dict[str, Any]) -> None:
        this = point_on(DRAGONFLY, {"kind": "ugal"} | parameter)
        assert "routing.threshold" in (Engine(Caminos).unsupported(this, this.machine.build()) or "")
        default = point_on(DRAGONFLY, "ugal")
        assert Engine(Caminos).unsupported(default, default.machine.build()) is None


class TestProgram:
    def test_missing_program_is_said(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("FABRICSTUDY_CAMINOS", str(tmp_path / "absent"))
        probe = Engine(Caminos).probe()
        assert not probe.found and probe.reason is not None and "FABRICSTUDY_CAMINOS" in probe.reason

    def test_broken_program_is_said(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        program = tmp_path / "broken"
        program.write_text("#!/bin/sh\nexit 9\n")
        program.chmod(0o755)
        monkeypatch.setenv("FABRICSTUDY_CAMINOS", str(program))
        probe = Engine(Caminos).probe()
        assert not probe.found and probe.reason is not None and "--version failed" in probe.reason

    def test_another_program_is_another_fingerprint(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        prints = set()
        for name in ("one", "two"):
            program = tmp_path / name
            program.write_text(f"#!/bin/sh\necho caminos-lib {name}\n")
            program.chmod(0o755)
            monkeypatch.setenv("FABRICSTUDY_CAMINOS", str(program))
            prints.add(Engine(Caminos).program())
        assert len(prints) == 2


class TestPrediction:
    def test_more_work_costs_more(self) -> None:
        def cost(**given: Any) -> float:
            return Engine(Caminos).predict_cpu_s(point(**given))

        assert cost(message="200 kB") > 1.5 * cost(message="100 kB")
        assert cost(routing="valiant") > 1.5 * cost(routing="minimal")
        assert cost(engine={"kind": "caminos", "phit": "50 B"}) > 4 * cost()
        assert 0 < cost(jobs=[{"share": 1.0, "pattern": {"kind": "idle"}}]) < 0.1
