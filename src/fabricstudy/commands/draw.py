"""``fabricstudy machine draw``: a machine as a picture, with the jobs and loads of a stored point if asked."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.store import point_store
from fabricstudy.engine.outcome import LINK_STALLS, LINKS, load_arrays
from fabricstudy.engine.point import machine_id
from fabricstudy.report.figure_style import STYLE, NothingToDraw
from fabricstudy.report.machine_picture import Scene, draw_machines
from fabricstudy.study.file import study_files
from fabricstudy.workflow.pipeline import find_study
from fabricstudy.workload.placing import job_of_node

from .common import (
    MACHINE_HELP,
    add_extensions,
    add_results,
    check_format,
    check_output_path,
    load_named_machine,
    machine_files,
    planned_point,
    progress_spinner,
    results_folder,
    with_extensions,
)

DATES: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}
"""Metadata without dates, so that equal machines have equal files."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Groups are drawn on a circle, grids as slices, trees by level. In large machines with groups, all cables "
        "between two groups are one line, whose width shows their number."
    )
    parser.add_argument(
        "machine", metavar="MACHINE", nargs="?", help=f"{MACHINE_HELP}; default with --load: the point's"
    )
    words = "colour nodes by job, and links by load, of a stored point"
    parser.add_argument("--load", nargs=2, metavar=("STUDY", "POINT"), help=words)
    parser.add_argument("--by", choices=("bytes", "stall"), default="bytes", help="link load (default: %(default)s)")
    parser.add_argument("--labels", action="store_true", help="label each router with its name and its nodes")
    parser.add_argument("--out", type=Path, required=True, help="file to write: .svg, .pdf or .png")
    add_results(parser)
    add_extensions(parser)


@with_extensions
def run(args: argparse.Namespace) -> dict[str, Any]:
    """Draw a machine into a file, with the jobs and the link loads of a stored point if asked."""
    check_format(args.out, DATES)
    read = study_files(find_study(args.load[0])) if args.load else []
    check_output_path(args.out, *read, *machine_files(args.machine))
    with progress_spinner("drawing"), mpl.rc_context(STYLE):
        scene = _of_point(args) if args.load else Scene(_named_machine(args.machine).build())
        scene = replace(scene, labels=args.labels)
        try:
            canvas, words, basis = draw_machines([scene], args.by if args.load else None)
        except NothingToDraw as reason:
            raise FabricstudyError(f"{args.load[1]}: {reason}; take another point, or leave --by out") from None
        canvas.savefig(args.out, dpi=200, metadata=DATES[args.out.suffix])
    return {"written": str(args.out), "shows": words, "legend": basis}


def _named_machine(source: str | None) -> Any:
    if source is None:
        raise FabricstudyError("no machine; name one, or a point with --load STUDY POINT", "unknown-name")
    return load_named_machine(source)


def _of_point(args: argparse.Namespace) -> Scene:
    planned = planned_point(*args.load)
    if args.machine is not None and machine_id(_named_machine(args.machine)) != planned.machine_id:
        problem = f"{planned.point_id} has another machine than {args.machine}"
        raise FabricstudyError(f"{problem}; leave the machine out to draw that of the point", "unknown-name")
    store = point_store(results_folder(args))
    damage = store.damage(planned.point_id)
    if damage:
        raise FabricstudyError(f"{damage}; run its study again", "results-damaged")
    record = store.record(planned.point_id)
    if record is None or record["status"] != "done":
        status = "not stored" if record is None else f"stored as {record['status']}"
        raise FabricstudyError(f"{planned.point_id} is {status} in {args.results}; run its study", "unknown-name")
    load = load_arrays(store.folder(planned.point_id))[LINKS if args.by == "bytes" else LINK_STALLS]
    if load is None:
        raise FabricstudyError(f"engine {record['engine']} reports no {args.by} of links", "conflicting-keys")
    machine = planned.point.machine.build()
    names = tuple(job.name for job in planned.point.jobs)
    return Scene(machine, names, job_of_node(planned.point, machine), load)


def show(result: dict[str, Any]) -> None:
    print(f"written: {result['written']}: {result['shows']}")
