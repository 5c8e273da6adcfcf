"""The command ``fabricstudy``: run studies with Snakemake; look at studies, engines, points and machines."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from importlib.metadata import version
from typing import Any

from fabricstudy.commands import compare, engines, kinds, machine, map, partitions, plan, point, run, schedule, status
from fabricstudy.errors import exit_code_of
from fabricstudy.home import use_own_programs


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; give the exit code."""
    args = _parser().parse_args(arguments)
    use_own_programs()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Labels of a study may hold letters that this terminal has not.
        sys.stdout.reconfigure(errors="backslashreplace")
    return exit_code_of(lambda: _run(args), "fabricstudy", args.json)


def _run(args: argparse.Namespace) -> int:
    try:
        result = args.command(args)
        if args.json:
            print(json.dumps(result, indent=1))
        else:
            args.show(result)
        sys.stdout.flush()
        return int(args.exit_code(result))
    except BrokenPipeError:  # whoever reads us, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fabricstudy", description=__doc__)
    parser.add_argument("--version", action="version", version=f"fabricstudy {version('fabricstudy')}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def named(name: str, work: Any) -> argparse.ArgumentParser:
        text = work.__doc__.splitlines()[0]
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=work, json=False, exit_code=lambda result: 0)
        return sub

    def command(name: str, work: Any, show: Any) -> argparse.ArgumentParser:
        sub = named(name, work)
        sub.set_defaults(show=show)
        sub.add_argument("--json", action="store_true", help="print for programs")
        return sub

    # All after the study is Snakemake's.
    run.add_run_arguments(named("run", run.run_study))
    plan.add_arguments(command("plan", plan.plan_study, plan.show_plan))
    status.add_arguments(command("status", status.study_status, status.show_status))
    command("engines", engines.list_engines, engines.show_engines)
    point.add_arguments(command("point", point.point_details, point.show_point))
    kinds.add_arguments(command("kinds", kinds.list_kinds, kinds.show_kinds))
    partitions.add_arguments(command("partitions", partitions.list_partitions, partitions.show_partitions))
    schedule.add_arguments(command("schedule", schedule.schedule_study, schedule.show_schedule))
    map.add_arguments(command("map", map.map_job, map.show_mapping))
    machine.add_arguments(command("machine", machine.describe_machines, machine.show_machines))
    run.add_where_arguments(command("where", run.where_it_is, run.show_place))
    compare.add_arguments(command("compare", compare.compare_runs, compare.show_comparison))
    return parser


if __name__ == "__main__":
    sys.exit(main())
