"""The command ``fabricstudy``: run studies with Snakemake; look at studies, engines, points and machines."""

import argparse
import io
import json
import os
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import version
from typing import NoReturn

from fabricstudy.core.bundled_files import prepend_environment_path
from fabricstudy.core.errors import FabricstudyError, exit_code_of
from fabricstudy.core.log import enable_logging

_COMMANDS = {
    "run": ("run_study", None),
    "plan": ("summarise_plan", "show_plan"),
    "status": ("study_status", "show_status"),
    "engines": ("list_engines", "show_engines"),
    "point": ("point_details", "show_point"),
    "inputs": ("write_point_inputs", "show_point_inputs"),
    "kinds": ("list_kinds", "show_kinds"),
    "partitions": ("list_partitions", "show_partitions"),
    "schedule": ("schedule_study", "show_schedule"),
    "map": ("map_job", "show_mapping"),
    "machine": ("describe_machines", "show_machines"),
    "draw": ("draw_machine", "show_drawing"),
    "whatif": ("fail_parts", "show_losses"),
    "candidates": ("list_candidates", "show_candidates"),
    "where": ("find_resource", "show_path"),
    "compare": ("compare_runs", "show_comparison"),
}
"""Each command, which is a module of `fabricstudy.commands`, with what it does and what prints the result."""

_VERBOSE, _WHAT_IS_DONE = "--verbose", "say on standard error what is done"


class _Parser(argparse.ArgumentParser):
    """Tells what is wrong with a call as every other mistake is told, to programs, too."""

    def error(self, message: str) -> NoReturn:
        raise FabricstudyError(f"{message}; see {self.prog} --help", "usage")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; give the exit code."""
    called = sys.argv[1:] if arguments is None else arguments
    return exit_code_of(lambda: _run(called), "fabricstudy", "--json" in called)


def _run(arguments: list[str]) -> int:
    first = next((one for one in arguments if one != _VERBOSE), "")
    # Most commands load much that the others do not need.
    names = [first] if first in _COMMANDS else [] if first == "--version" else _COMMANDS
    args = _parser(names).parse_args(arguments)
    if args.verbose:
        enable_logging()
    prepend_environment_path()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Labels of a study may hold letters that this terminal has not.
        sys.stdout.reconfigure(errors="backslashreplace")
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
    return 0


def _parser(names: Iterable[str] = tuple(_COMMANDS)) -> _Parser:
    parser = _Parser(prog="fabricstudy", allow_abbrev=False, description=__doc__.replace("``", ""))
    parser.add_argument("--version", action="version", version=f"fabricstudy {version('fabricstudy')}")
    parser.add_argument(_VERBOSE, action="store_true", help=_WHAT_IS_DONE)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    for name in names:
        module = import_module(f"fabricstudy.commands.{name}")
        work, show = _COMMANDS[name]
        text = getattr(module, work).__doc__.splitlines()[0].replace("``", "")
        sub = commands.add_parser(name, allow_abbrev=False, help=text, description=text)
        # Its default is that of the whole parser.
        sub.add_argument(_VERBOSE, action="store_true", default=argparse.SUPPRESS, help=_WHAT_IS_DONE)
        sub.set_defaults(command=getattr(module, work), json=False, exit_code=lambda result: 0)
        if show is not None:  # else it becomes another program, which prints
            sub.set_defaults(show=getattr(module, show))
            sub.add_argument("--json", action="store_true", help="print for programs")
        if hasattr(module, "add_arguments"):
            module.add_arguments(sub)
    return parser


if __name__ == "__main__":
    sys.exit(main())
