"""How well forecasts meet stored records, by engine and study; with ``--write`` fit the laws to the records first.

``python -m benches.forecasts [--write] [RESULTS ...]``; RESULTS are folders of results, ``results`` if none is named.
Each law is fitted by least squares on the logarithms; half of the machines, drawn by their ids, tell the error of a law
that was fitted to the other half.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares, nnls

from fabricstudy.core.store import POINTS, Store
from fabricstudy.engine.forecast import Fit, Law, Work, cpu_s, law_of, memory_bytes, ports, routers_passed, slowness
from fabricstudy.engine.point import Point, point_from_json
from fabricstudy.engine.program_engine import ProgramEngine
from fabricstudy.engine.registry import engine_named

ENGINES = ("caminos", "sst", "codes")
# Shorter runs tell more of the machine's noise than of the point, and smaller ones of the program's own size.
LEAST_CPU_S, LEAST_MEMORY_BYTES = 0.1, 10e6
LONG_CPU_S = 1.0
# Pulls factors to 1 as strongly as a record that is off by so much.
PULL = 0.05
CATEGORIES = ("routing", "topology", "pattern")

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """A finished point, what its engine did for it, and what that took."""

    point: Point
    machine_id: str
    program: str
    work: Work
    cpu_s: float
    memory_bytes: float | None


def samples(results: list[Path]) -> Iterator[tuple[str, Sample]]:
    """Read the finished points of stores, each with its engine."""
    for folder in results:
        store = Store(folder / POINTS, "point_id")
        for identity in sorted(store.inodes()):
            record = store.record(identity)
            if record is None or record["status"] != "done" or record["engine"] not in ENGINES:
                continue
            if record.get("processes", 1) > 1:  # what a point takes on one core
                continue
            point, engine = point_from_json(record["point"]), record["engine"]
            work = engine_named(engine).work(point)
            if not work.carried:
                continue
            took = record["cpu_s"], record["memory_bytes"]
            yield engine, Sample(point, record["machine_id"], record["version"], work, *took)


def names(given: list[Sample], which: str) -> list[str]:
    """Give the names that occur in one part of the work."""
    return sorted({name for sample in given for name in getattr(sample.work, which)})


def counts(given: list[Sample], which: str, columns: list[str]) -> Floats:
    """Give one part of the work, [samples, columns]."""
    return np.array([[getattr(sample.work, which).get(name, 0.0) for name in columns] for sample in given])


def fit_cpu(given: list[Sample]) -> dict[str, Any]:
    """Fit the constants of processor time."""
    given = [sample for sample in given if sample.cpu_s > LEAST_CPU_S]
    once, patterns = names(given, "once"), names(given, "carried")
    routings = sorted({sample.point.routing.kind for sample in given})
    topologies = sorted({sample.point.machine.kind for sample in given})
    done, sent = counts(given, "once", once), counts(given, "carried", patterns)
    routing = np.array([routings.index(sample.point.routing.kind) for sample in given])
    topology = np.array([topologies.index(sample.point.machine.kind) for sample in given])
    passed = np.array([routers_passed(sample.point) for sample in given])
    crowd = np.log(np.maximum(1, sent.sum(axis=1) / [sample.point.machine.nodes for sample in given]))
    slow = np.log([slowness(sample.point) for sample in given])
    wide = np.log([ports(sample.point) for sample in given])
    size = np.log([sample.work.unit_bytes for sample in given])
    measured = np.log([sample.cpu_s for sample in given])
    ends = np.cumsum([len(once), 5, len(routings), len(topologies)])

    def residuals(theta: Floats) -> Floats:
        each, (unit, *powers), by_routing, by_topology, by_pattern = np.split(theta, ends)
        carried = sent @ np.exp(by_pattern) * passed
        factor = np.exp(
            unit + by_routing[routing] + by_topology[topology] + np.stack([crowd, slow, wide, size], axis=1) @ powers
        )
        predicted: Floats = np.log(done @ np.exp(each) + carried * factor)
        return np.concatenate([predicted - measured, PULL * theta[ends[0] + 1 :]])

    start = np.zeros(ends[-1] + len(patterns))
    start[: len(once)] = np.log(0.01 / np.maximum(1, done.mean(axis=0)))
    start[len(once)] = np.log(1e-6)
    theta = least_squares(residuals, start, loss="soft_l1", f_scale=0.3).x
    each, (unit, crowd_power, slow_power, port_power, size_power), *factors = np.split(theta, ends)
    named = zip(CATEGORIES, (routings, topologies, patterns), factors, strict=True)
    return {
        "once_s": constants(once, np.exp(each)),
        "unit_s": rounded(np.exp(unit)),
        "crowd_power": rounded(crowd_power),
        "slow_power": rounded(slow_power),
        "port_power": rounded(port_power),
        "size_power": rounded(size_power),
    } | {name: constants(kinds, np.exp(values)) for name, kinds, values in named}


def fit_memory(given: list[Sample]) -> dict[str, float]:
    """Fit the constants of memory: by least relative squares, then on the logarithms, where few outliers weigh less."""
    given = [sample for sample in given if (sample.memory_bytes or 0) > LEAST_MEMORY_BYTES]
    columns = names(given, "memory")
    measured = np.array([sample.memory_bytes for sample in given])
    each = counts(given, "memory", columns)
    first, _ = nnls(each / measured[:, None], np.ones(len(given)))
    used = first > 0
    logarithms = least_squares(
        lambda theta: np.log(each[:, used] @ np.exp(theta) / measured), np.log(first[used]), loss="soft_l1", f_scale=0.2
    )
    found = np.zeros(len(columns))
    found[used] = np.exp(logarithms.x)
    return constants(columns, found)


def rounded(value: float) -> float:
    """Keep three digits."""
    return float(f"{value:.3g}")


def constants(columns: list[str], values: Floats) -> dict[str, float]:
    """Name constants; those that are next to nothing are left out."""
    return {name: rounded(value) for name, value in zip(columns, values, strict=True) if value > 1e-12}


def fit(given: list[Sample]) -> Law:
    """Fit a law, and say how well it does on machines that it has not seen."""
    halves = [[sample for sample in given if int(sample.machine_id[-1], 16) % 2 == half] for half in (0, 1)]
    unseen = [
        (sample, law) for half, law in zip(halves, map(_fitted, reversed(halves)), strict=True) for sample in half
    ]
    long = [(sample, law) for sample, law in unseen if sample.cpu_s > LONG_CPU_S] or unseen
    cpu = [factor(_cpu_s(sample, law), sample.cpu_s) for sample, law in long]
    memory = [
        factor(memory_bytes(sample.work, law), sample.memory_bytes)
        for sample, law in unseen
        if (sample.memory_bytes or 0) > LEAST_MEMORY_BYTES
    ]
    described = Fit(
        records=len(given),
        programs=sorted({sample.program for sample in given}),
        processor=processor(),
        cpu_error_median=rounded(np.median(cpu)),
        cpu_error_95=rounded(np.quantile(cpu, 0.95)),
        memory_error_95=rounded(np.quantile(memory, 0.95)),
    )
    return _fitted(given).model_copy(update={"fit": described})


def _fitted(given: list[Sample]) -> Law:
    none = Fit(records=0, programs=[], processor="", cpu_error_median=1, cpu_error_95=1, memory_error_95=1)
    return Law.model_validate({**fit_cpu(given), "memory_bytes": fit_memory(given), "fit": none})


def factor(predicted: float, measured: float | None) -> float:
    """By what factor two values differ, 1 or more."""
    ratio = predicted / (measured or 1.0)
    return max(ratio, 1 / ratio)


def processor() -> str:
    """Name the processor, as Linux does."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def report(engine: str, given: list[Sample], law: Law) -> None:
    """Print how far the law is off."""
    measured, forecast = sum(sample.cpu_s for sample in given), sum(_cpu_s(sample, law) for sample in given)
    print(f"{engine}: {len(given)} records, {measured:.0f} s measured, {forecast / measured:.2f} of it forecast")
    spread(
        f"points above {LONG_CPU_S:g} s",
        [factor(_cpu_s(sample, law), sample.cpu_s) for sample in given if sample.cpu_s > LONG_CPU_S],
    )
    large = [sample for sample in given if (sample.memory_bytes or 0) > LEAST_MEMORY_BYTES]
    spread("memory", [factor(memory_bytes(sample.work, law), sample.memory_bytes) for sample in large])
    for kind in sorted({sample.point.machine.kind for sample in given}):
        those = [sample for sample in given if sample.point.machine.kind == kind]
        measured, forecast = sum(sample.cpu_s for sample in those), sum(_cpu_s(sample, law) for sample in those)
        print(f"  {kind:<14}{len(those):>6} records{measured:>9.1f} s, {forecast / measured:.2f} of it forecast")


def spread(what: str, factors: list[float]) -> None:
    """Print how far forecasts are off."""
    if factors:
        middle, most, largest = np.quantile(factors, [0.5, 0.95, 1])
        over = np.mean(np.array(factors) > 2)
        off = f"off by {middle:.2f} (median), {most:.2f} (95 %), {largest:.2f} (most)"
        print(f"  {what}: {len(factors)}, {off}; {over:.1%} by more than 2")


def _cpu_s(sample: Sample, law: Law) -> float:
    return cpu_s(sample.point, sample.work, law)


def main(given: list[str] | None = None) -> None:
    """Fit if asked, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="*", type=Path, default=[Path("results")])
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args(given)
    by_engine: dict[str, list[Sample]] = {}
    for engine, sample in samples(args.results):
        by_engine.setdefault(engine, []).append(sample)
    for engine, own in sorted(by_engine.items()):
        program = engine_named(engine)
        assert isinstance(program, ProgramEngine)
        if args.write:
            text = fit(own).model_dump_json(indent=1)
            Path(str(files(program.package) / "forecast.json")).write_text(text + "\n")
            law_of.cache_clear()
        report(engine, own, law_of(program.package))


if __name__ == "__main__":
    main()
