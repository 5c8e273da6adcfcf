"""How well forecasts meet stored records, by engine, topology and routing; with ``--write`` fit the laws to them first.

``python -m benches.forecasts [RESULTS ...] [--write cpu [memory]]``; RESULTS are folders of results, ``results`` if
none is named. Memory has to be fitted to points of many sizes, such as those of ``benches/forecasts.yaml``.

A law is linear, and fitted such that the logarithms of forecasts and records agree. The records of a topology, a
routing and patterns weigh the root of their number together, and long ones weigh more than short ones. Half of the
machines, drawn by their ids, tell the error of a law that was fitted to the other half.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares, nnls

from fabricstudy.core.extensions import load_extensions
from fabricstudy.core.store import POINTS
from fabricstudy.engine.cost_model import CostModel, Fit, WorkCounts, load_cost_model, weighted_sum
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.point import point_from_json
from fabricstudy.engine.registry import engine_named

# Shorter runs tell more of the computer's noise than of the point, and smaller ones of the program's own size.
LEAST = {"cpu": 0.05, "memory": 10e6}
UNITS = {"cpu": "cpu_s", "memory": "memory_bytes"}
# Wall time over processor time above which others had the processor and its caches, too: the same points took 2 to 3
# times as many processor seconds then.
BUSY = 1.5
# Deviations of the logarithm above this one weigh less than their squares.
OUTLIER = 0.3
# What least squares set to 0 begins with this part of the whole.
LEAST_PART = 0.05
# How weights grow with the time of a point.
LONG_POWER = 0.25

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """A finished point, what its engine did for it, and what that took."""

    family: str
    """Topology and routing."""
    patterns: str
    machine_id: str
    program: str
    started: str
    work: WorkCounts
    cpu_s: float
    memory_bytes: float

    def took(self, what: str) -> float:
        """Return its seconds of "cpu", or bytes of "memory"."""
        return self.cpu_s if what == "cpu" else self.memory_bytes


def samples(results: Sequence[Path]) -> Iterator[tuple[str, Sample]]:
    """Read the points of stores that were done on one core of their own, each with its engine."""
    configs = Path(__file__).resolve().parents[1] / "configs"
    load_extensions([f"extensions/{path.name}" for path in (configs / "extensions").glob("*.py")], configs)
    for path in sorted(path for folder in results for path in (folder / POINTS).glob("*/*/record.json")):
        record = json.loads(path.read_bytes())
        engine = engine_named(record["engine"])
        if record["status"] != "done" or record.get("processes", 1) > 1 or not _law(engine):
            continue
        if record["wall_s"] > BUSY * record["cpu_s"]:
            continue
        point = point_from_json(record["point"])
        yield (
            record["engine"],
            Sample(
                f"{point.machine.kind}, {point.routing.kind}",
                " ".join(sorted({job.pattern.kind for job in point.jobs})) or "offered",
                record["machine_id"],
                record["version"],
                record["started"],
                engine.kind.work(point),
                record["cpu_s"] + record["overhead_cpu_s"],
                record["memory_bytes"] or 0.0,
            ),
        )


def _law(engine: Engine) -> CostModel | None:
    """Return the fitted cost model of an engine."""
    law = engine.kind.cost_model()
    return law if law and law.cpu_fit else None


def fitted(counts: Sequence[Mapping[str, float]], measured: Floats, weights: Floats) -> dict[str, float]:
    """Return the constant of each name, by least relative squares, then on logarithms, where outliers weigh less."""
    if not counts:
        return {}
    weights = weights / weights.mean()
    names = sorted({name for of_one in counts for name in of_one})
    each = np.array([[of_one.get(name, 0.0) for name in names] for of_one in counts])
    used = np.flatnonzero(each.any(axis=0)).tolist()
    names, each = [names[column] for column in used], each[:, used]
    first, _ = nnls(each / measured[:, None] * weights[:, None], weights)
    start = np.maximum(first, LEAST_PART * np.median(measured) / each.mean(axis=0) / len(names))

    def residuals(theta: Floats) -> Floats:
        found: Floats = weights * np.log(each @ np.exp(theta) / measured)
        return found

    theta = least_squares(residuals, np.log(start), loss="soft_l1", f_scale=OUTLIER).x
    # What makes up less than a thousandth of every record is nothing.
    part = (each * np.exp(theta) / (each @ np.exp(theta))[:, None]).max(axis=0)
    constants = zip(names, np.exp(theta), part, strict=True)
    return {name: rounded(value) for name, value, most in constants if most > 1e-3}


def fitted_to(given: Sequence[Sample], what: str) -> dict[str, float]:
    """Return the constants of "cpu" or "memory"."""
    those = [sample for sample in given if sample.took(what) > LEAST[what]]
    measured = np.array([sample.took(what) for sample in those])
    return fitted([getattr(sample.work, what) for sample in those], measured, weights(those))


def weights(given: Sequence[Sample]) -> Floats:
    """Return the weights of records; see the module."""
    number = Counter((sample.family, sample.patterns) for sample in given)
    return np.array([number[one.family, one.patterns] ** -0.5 * one.cpu_s**LONG_POWER for one in given])


def rounded(value: float) -> float:
    """Keep three digits."""
    return float(f"{value:.3g}")


def fit(given: Sequence[Sample], what: str, source: str) -> Fit:
    """Say how well a law does on machines that it was not fitted to."""
    halves = [[sample for sample in given if int(sample.machine_id[-1], 16) % 2 == half] for half in (0, 1)]
    ratios: dict[str, list[float]] = {"all": []}
    for half, other in (halves, halves[::-1]):
        constants = fitted_to(other, what)
        for sample in half:
            if sample.took(what) > LEAST[what]:
                ratio = weighted_sum(getattr(sample.work, what), constants) / sample.took(what)
                ratios["all"].append(ratio)
                ratios.setdefault(sample.family, []).append(ratio)
    return Fit(
        records=len(given),
        source=source,
        date=max(sample.started for sample in given)[:10],
        processor=processor(),
        programs=sorted({sample.program for sample in given}),
        ratio={name: spread(those) for name, those in sorted(ratios.items()) if those},
    )


def refitted(law: CostModel, given: Sequence[Sample], parts: Sequence[str], source: str) -> CostModel:
    """Return a law of which some parts are fitted anew."""
    fits = {f"{part}_fit": fit(given, part, source) for part in parts}
    return law.model_copy(update={UNITS[part]: fitted_to(given, part) for part in parts} | fits)


def spread(ratios: Sequence[float]) -> tuple[float, float, float]:
    """Return the median, and the ends of the range of 90 %."""
    low, middle, high = (round(float(part), 2) for part in np.quantile(ratios, [0.05, 0.5, 0.95]))
    return middle, low, high


def processor() -> str:
    """Name the processor, as Linux does."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def report(engine: str, given: Sequence[Sample], law: CostModel) -> None:
    """Print how far a law is off, by topology and routing."""
    print(f"{engine}: forecast over measured of {len(given)} records: median, range of 90 %, of all together")
    for what in LEAST:
        constants = getattr(law, UNITS[what])
        for name in ("all", *sorted({sample.family for sample in given})):
            those = [one for one in given if name in ("all", one.family) and one.took(what) > LEAST[what]]
            if those:
                forecasts = np.array([weighted_sum(getattr(one.work, what), constants) for one in those])
                measured = np.array([one.took(what) for one in those])
                middle, low, high = spread((forecasts / measured).tolist())
                of_all = forecasts.sum() / measured.sum()
                print(f"  {what:<7}{name:<30}{len(those):>6}{middle:>7}{low:>7}{high:>7}{of_all:>7.2f}")


def main(given: list[str] | None = None) -> None:
    """Fit if asked, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="*", type=Path, default=[Path("results")])
    parser.add_argument("--write", nargs="*", choices=[*UNITS], default=[], help="what to fit anew: cpu, memory")
    parser.add_argument("--source", default="stored records", help="of what studies they are, for the file")
    args = parser.parse_args(given)
    by_engine: dict[str, list[Sample]] = {}
    for engine, sample in samples(args.results):
        by_engine.setdefault(engine, []).append(sample)
    for name, own in sorted(by_engine.items()):
        program = engine_named(name)
        law = _law(program)
        assert law is not None
        if args.write:
            law = refitted(law, own, args.write, args.source)
            text = re.sub(r"\[[^\[\]{}]*\]", lambda row: " ".join(row[0].split()), law.model_dump_json(indent=1))
            Path(str(files(program.kind.__module__.rpartition(".")[0]) / "forecast.json")).write_text(text + "\n")
            load_cost_model.cache_clear()
        report(name, own, law)


if __name__ == "__main__":
    main()
