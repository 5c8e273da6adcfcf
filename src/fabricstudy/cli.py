"""The command ``fabricstudy``: look at studies, engines, points and machines; Snakemake does the running."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fabricstudy.commands import kinds, partitions, schedule_arguments
from fabricstudy.engine.foreground import foreground
from fabricstudy.engine.point import PlannedPoint, machine_id, point_from_json
from fabricstudy.engine.registry import engine_named, engines
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.simulate import Stores
from fabricstudy.engine.validity import Validity, validity
from fabricstudy.errors import FabricstudyError, StudyError, exit_code_of
from fabricstudy.machine.base import Topology, published
from fabricstudy.machine.instances import INSTANCES
from fabricstudy.pipeline import BATCH_CPU_S, Pipeline, Seconds, pipelines, study_file
from fabricstudy.progress import PACE_S, Progress
from fabricstudy.structure.summary import structure
from fabricstudy.study.file import load_machine

WATCH_S = 5.0
# A look at a large store, or at one on a slow file system, takes at most so much of the time.
WATCH_SHARE = 0.05
BAR_COLUMNS = 60


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; give the exit code."""
    given = _parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Labels of a study may hold letters that this terminal has not.
        sys.stdout.reconfigure(errors="backslashreplace")
    return exit_code_of(lambda: _run(given), "fabricstudy", given.json)


def _run(given: argparse.Namespace) -> int:
    try:
        found = given.command(given)
        if given.json:
            print(json.dumps(found, indent=1))
        else:
            given.show(found)
        sys.stdout.flush()
        return int(given.exit_code(found))
    except BrokenPipeError:  # whoever reads us, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    return 0


def _seconds(text: str) -> float:
    try:
        return TypeAdapter(Seconds).validate_python(float(text))
    except (ValueError, ValidationError):
        raise argparse.ArgumentTypeError(f"{text}: not a number of seconds above 0") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fabricstudy", description=__doc__)
    parser.add_argument("--version", action="version", version=f"fabricstudy {version('fabricstudy')}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, run: Any, show: Any) -> argparse.ArgumentParser:
        text = run.__doc__.splitlines()[0]
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=run, show=show, exit_code=lambda found: 0)
        sub.add_argument("--json", action="store_true", help="print for programs")
        return sub

    def of_study(sub: argparse.ArgumentParser) -> None:
        sub.add_argument("study", help="name in configs/, or path to a study file")
        sub.add_argument(
            "--results", type=Path, default=Path("results"), help="folder of the stores (default: results)"
        )

    plan = command("plan", plan_study, show_plan)
    of_study(plan)
    plan.add_argument("--list", action="store_true", help="also list the points: id, experiment, labels, seed")
    plan.add_argument("--batch-cpu-s", type=_seconds, default=BATCH_CPU_S, help="predicted seconds a batch")
    status = command("status", study_status, show_status)
    of_study(status)
    status.add_argument("--watch", action="store_true", help=f"look again every {WATCH_S:g} s until nothing is left")
    command("engines", list_engines, show_engines)
    point = command("point", point_details, show_point)
    point.add_argument("point_id", help="id such as p0123456789ab")
    point.add_argument("--study", help="where to find a point that has not been simulated (name or path)")
    point.add_argument("--results", type=Path, default=Path("results"), help="folder of the stores (default: results)")
    point.add_argument("--run", action="store_true", help="simulate it now, whatever the store has, and keep all files")
    point.add_argument("--folder", type=Path, help="where to run it (default: a folder named like the point)")
    kinds.add_arguments(command("kinds", kinds.list_kinds, kinds.show_kinds))
    partitions.add_arguments(command("partitions", partitions.list_partitions, partitions.show_partitions))
    scheduling = command("schedule", schedule_study, show_schedule)
    of_study(scheduling)
    schedule_arguments.add_arguments(scheduling)
    machine = command("machine", describe_machines, show_machines)
    source = "study, YAML file that holds one machine, or published machine, like mira"
    machine.add_argument("source", metavar="FILE-or-STUDY", help=source)
    machine.add_argument("--all", action="store_true", help="all distinct machines of a study, not only its base")
    compare = command("compare", compare_runs, show_comparison)
    compare.add_argument("old", type=Path, metavar="OLD", help="folder of a run, its results/STUDY, or an artifact")
    compare.add_argument("new", type=Path, metavar="NEW", help="the same of the other run")
    compare.add_argument(
        "--tolerance",
        type=float,
        default=0.05,
        help="relative difference allowed between two versions of an engine (default: %(default)s)",
    )
    compare.add_argument("--csv", type=Path, help="also write all values, old against new, into this file")
    compare.set_defaults(exit_code=lambda found: 0 if found["agrees"] else 1)
    return parser


def _pipeline(study: str, batch_cpu_s: float = BATCH_CPU_S) -> Pipeline:
    if "," in study and not Path(study).is_file():
        raise FabricstudyError(f"{study}: several studies; give one, and call again for each", "several-studies")
    with _sign_of_life(f"planning {study}"):
        (pipeline,) = pipelines(study, batch_cpu_s=batch_cpu_s).values()
        return pipeline


@contextmanager
def _sign_of_life(words: str) -> Iterator[None]:
    """Show in a terminal that something is going on; a study of 100,000 points takes its time."""
    with Console(stderr=True).status(words):
        yield


def _results(given: argparse.Namespace) -> Path:
    """Give the folder of the stores, which need not be there yet."""
    folder: Path = given.results
    if folder.exists() and not folder.is_dir():
        raise FabricstudyError(f"{folder}: not a folder; give the folder `results` of a run", "not-a-folder")
    return folder


def plan_study(given: argparse.Namespace) -> dict[str, Any]:
    """Count a study's points, those kept from earlier runs, its batches and the predicted CPU time."""
    results = _results(given)
    pipeline = _pipeline(given.study, given.batch_cpu_s)
    new = [point for point in pipeline.plan.points.values() if not _kept(point, results)]
    limits = pipeline.plan.study.limits
    engines = {point.point.engine.kind for point in pipeline.plan.points.values()}
    found = {
        "study": pipeline.name,
        "points": len(pipeline.plan.points),
        "rows": len(pipeline.plan.rows),
        "new": len(new),
        "kept": len(pipeline.plan.points) - len(new),
        "machines": len(pipeline.plan.machines),
        "batches": len(pipeline.batches),
        "analyses": len(pipeline.analyses),
        "schedules": len(pipeline.plan.study.schedules),
        "runs": len(pipeline.plan.runs),
        "runs_cpu_s": round(sum(chunk.cpu_s for chunk in pipeline.run_chunks.values()), 1),
        "cpu_s": round(sum(_cost(point) for point in new), 1),
        "over_time": sum(_cost(point) > limits.time_s for point in new),
        "over_memory": sum((_memory_bytes(point) or 0) > limits.memory_bytes for point in new),
        "missing_engines": sorted(name for name in engines if not engine_named(name).probe().found),
    }
    if given.list:
        found["list"] = [
            {"point_id": row.point_id, "experiment": row.experiment, **row.labels, "seed": row.seed}
            for row in pipeline.plan.rows
        ]
    return found


def schedule_study(given: argparse.Namespace) -> dict[str, Any]:
    """Run one run of a study's schedule in the foreground: who waits for what."""
    from fabricstudy.commands.schedule import run_schedule

    return run_schedule(given, _pipeline(given.study).plan, _results(given))


def show_schedule(found: dict[str, Any]) -> None:
    """Print what `schedule_study` found."""
    from fabricstudy.commands.schedule import show_schedule

    show_schedule(found)


def _kept(point: PlannedPoint, results: Path) -> bool:
    return validity(Stores(results).points.record(point.point_id), point.point) is not Validity.INVALID


def _cost(point: PlannedPoint) -> float:
    return engine_named(point.point.engine.kind).predict_cpu_s(point.point)


def _memory_bytes(point: PlannedPoint) -> float | None:
    return engine_named(point.point.engine.kind).predict_memory_bytes(point.point)


def show_plan(found: dict[str, Any]) -> None:
    """Print what `plan_study` found."""
    print(f"study     {found['study']}")
    for row in found.get("list", ()):
        print(*row.values(), sep="\t")
    if found["analyses"]:
        print(f"analyses  {found['analyses']} without simulation")
    if found["runs"]:
        cost = f"predicted {found['runs_cpu_s'] / 60:.1f} CPU-minutes"
        print(f"runs      {found['runs']} of {found['schedules']} schedules, {cost}")
    print(f"points    {found['points']} on {found['machines']} machines, for {found['rows']} rows of the tables")
    print(f"new       {found['new']}")
    print(f"kept      {found['kept']} (simulated before)")
    print(f"batches   {found['batches']}")
    print(f"predicted {found['cpu_s'] / 3600:.2f} CPU-hours ({found['cpu_s'] / 60:.1f} CPU-minutes) for the new points")
    for limit, count in (("time", found["over_time"]), ("memory", found["over_memory"])):
        if count:
            print(
                f"warning   {count} of the new points are predicted to pass limits.{limit} and would not be done; "
                "raise it, or make them smaller"
            )
    for engine in found["missing_engines"]:
        print(f"warning   engine {engine} is missing, its points will be skipped; see: fabricstudy engines")


def study_status(given: argparse.Namespace) -> dict[str, Any]:
    """Count what is done, failed and left of a study, and estimate the time left."""
    progress = Progress(_pipeline(given.study), _results(given))
    found, pause_s = _look(progress)
    if given.watch and _possible(found):
        # Standard output is for the result; elsewhere than in a terminal, nothing but the end is shown.
        console = Console(stderr=given.json, highlight=False)
        with Live(Text(_progress_text(found)), console=console, auto_refresh=False, transient=True) as live:
            while _possible(found):
                time.sleep(pause_s)
                found, pause_s = _look(progress)
                live.update(Text(_progress_text(found)), refresh=True)
    return found


def _look(progress: Progress) -> tuple[dict[str, Any], float]:
    """Give what is found, and how long to wait before the next look."""
    start = time.monotonic()
    found = progress.look()
    return found, max(WATCH_S, (time.monotonic() - start) / WATCH_SHARE)


def show_status(found: dict[str, Any]) -> None:
    """Print what `study_status` found."""
    print(_progress_text(found))


def _progress_text(found: dict[str, Any]) -> str:
    """A bar and three short lines, which fit a terminal of 80 columns."""
    runs = f"{found['study']}: {found['runs_done']} of {found['runs']} runs of schedules done" if found["runs"] else ""
    if not found["points"]:
        return runs or f"{found['study']}: nothing to simulate, analyses alone"
    ended = found["points"] - found["left"]
    width = BAR_COLUMNS * ended // found["points"]
    kinds = ", ".join(f"{count} {status}" for status, count in found["failures"].items())
    return (
        f"[{'#' * width}{'.' * (BAR_COLUMNS - width)}] {100 * ended // found['points']} %\n"
        f"{found['study']}: {found['done']} of {found['points']} points done\n"
        f"{found['failed']} failed{f' ({kinds})' if kinds else ''}\n"
        f"{found['left']} left{_time_left(found) if _possible(found) else ''}"
        + (f"\n{runs}" if runs else "")
        + (f"\n{found['unavailable']} of them need {_listed(found['missing_engines'])}" if found["unavailable"] else "")
    )


def _possible(found: dict[str, Any]) -> int:
    """Points that are left and whose engine is here."""
    return int(found["left"] - found["unavailable"])


def _listed(engines: list[str]) -> str:
    return f"{' and '.join(engines)}, not found here (fabricstudy engines)"


def _time_left(found: dict[str, Any]) -> str:
    work = f", about {_duration(found['left_cpu_s'])} of processor time"
    if found["left_s"] is None:
        return f"{work} (none ended in the last {_duration(PACE_S)})"
    return f"{work}, {_duration(found['left_s'])} at this pace"


def _duration(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.{0 if seconds >= 10 * size else 1}f} {unit}"
    return f"{seconds:.0f} s"


def list_engines(given: argparse.Namespace) -> list[dict[str, Any]]:
    """List the simulators: found or not, version, and why not."""
    probes = [engine_named(name).probe() for name in engines()]
    return [{"name": p.name, "found": p.found, "version": p.version, "reason": p.reason} for p in probes]


def show_engines(found: list[dict[str, Any]]) -> None:
    """Print what `list_engines` found."""
    for engine in found:
        state = f"found, {engine['version']}" if engine["found"] else f"not found: {engine['reason']}"
        print(f"{engine['name']:10} {state}")


def point_details(given: argparse.Namespace) -> dict[str, Any]:
    """Show one point with what is known of it, or simulate it in the foreground."""
    # First the study, which may have kinds of its own.
    limits = _pipeline(given.study).plan.study.limits if given.study else Limits()
    planned, record = _find_point(given.point_id, given.study, _results(given))
    if not given.run:
        folder = Stores(given.results).points.folder(planned.point_id) if record else None
        return {"point": planned.point.model_dump(mode="json"), "record": record, "folder": folder and str(folder)}
    folder = given.folder or Path(planned.point_id)
    if folder.exists() and any(folder.iterdir()):
        raise FabricstudyError(
            f"{folder}: not empty; name another folder with --folder, or remove it", "folder-not-empty"
        )
    return {"point": planned.point.model_dump(mode="json")} | foreground(planned, folder, limits)


def _find_point(point_id: str, study: str | None, results: Path) -> tuple[PlannedPoint, dict[str, Any] | None]:
    record = Stores(results).points.record(point_id)
    if record is not None:
        try:
            point = point_from_json(record.pop("point"))
        except ValidationError:
            problem = f"{point_id}: its record has kinds or keys that are not known here"
            raise FabricstudyError(f"{problem}; name the study with --study, for its extensions") from None
        return PlannedPoint(point_id, machine_id(point.machine), point), record
    if study is None:
        message = f"{point_id}: no such point in {results}/points; name its study with --study"
        raise FabricstudyError(message, "no-such-point")
    planned = _pipeline(study).plan.points.get(point_id)
    if planned is None:
        message = f"{point_id}: neither in {results}/points nor in the study {study}"
        raise FabricstudyError(message, "no-such-point")
    return planned, None


def show_point(found: dict[str, Any]) -> None:
    """Print what `point_details` found."""
    for key, value in found.items():
        text = value if isinstance(value, str) else json.dumps(value, indent=1)
        print(f"{key}: {text}")


def describe_machines(given: argparse.Namespace) -> Any:
    """Describe a machine: nodes, routers, cables, radix, diameter, mean hops, bisection."""
    configs = _machines(given.source, given.all)
    with _sign_of_life(f"analysing {len(configs)} machines"):
        found = [{"machine_id": machine_id(config)} | structure(config.build()).to_json() for config in configs]
    return found if given.all else found[0]


def _machines(source: str, every: bool) -> list[Topology]:
    if source in INSTANCES and not every:
        return [published(source)]
    try:
        file = study_file(source)
    except StudyError:
        known = f"published machines are {', '.join(INSTANCES)}"
        raise FabricstudyError(
            f"{source}: neither a study nor a .yaml file; see configs/ for the studies; {known}",
            "no-such-machine",
        ) from None
    return list(_pipeline(source).plan.machines.values()) if every else [load_machine(file)]


def show_machines(found: Any) -> None:
    """Print what `describe_machines` found."""
    table = Table(box=None)
    names = (
        "machine_id",
        "kind",
        "nodes",
        "routers",
        "cables",
        "radix",
        "diameter",
        "mean_hops",
        "bisection (GB/s)",
        "method",
    )
    for name in names:
        table.add_column(name, justify="left" if name in ("machine_id", "kind", "method") else "right")
    for machine in found if isinstance(found, list) else [found]:
        cut = machine["bisection"]
        low, high = cut["lower_Bps"] / 1e9, cut["upper_Bps"] / 1e9
        interval = f"{high:g}" if cut["exact"] else f"{low:.4g} to {high:.4g}"
        cells = [str(machine[name]) for name in names[:7]]
        table.add_row(*cells, f"{machine['mean_hops']:.3f}", interval, cut["method"])
    Console(width=160 if not sys.stdout.isatty() else None).print(table)


def compare_runs(given: argparse.Namespace) -> dict[str, Any]:
    """Compare the tables of two runs of a study value by value; the exit code says whether they agree."""
    from fabricstudy.artifact.compare import compare

    found = compare(given.old, given.new, given.tolerance)
    if given.csv:
        found.values().to_csv(given.csv, index=False)
    return found.to_json()


def show_comparison(found: dict[str, Any]) -> None:
    """Print what `compare_runs` found."""
    from fabricstudy.artifact.show import show

    show(found, Console(width=140 if not sys.stdout.isatty() else None))


if __name__ == "__main__":
    sys.exit(main())
