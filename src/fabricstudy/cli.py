"""The command ``fabricstudy``: run studies with Snakemake; look at studies, engines, points and machines."""

import argparse
import io
import json
import os
import re
import sys
import textwrap
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from fabricstudy import __version__
from fabricstudy.core.bundled_files import set_environment
from fabricstudy.core.errors import FabricstudyError, exit_code_of, suggestion
from fabricstudy.core.log import enable_logging

_COMMANDS: dict[str, tuple[str, str | None, str]] = {
    "init": ("write_study", "show_written", "init my-study.yaml --template next-machine"),
    "list": ("list_bundled", "show_bundled", "list machines"),
    "validate": ("check_studies", "show_valid", "validate my-study.yaml"),
    "run": ("run_study", None, "run quick --cores 4"),
    "plan": ("summarise_plan", "show_plan", "plan my-study.yaml --list"),
    "status": ("study_status", "show_status", "status quick --watch"),
    "report": ("make_report", "show_report", "report quick --open"),
    "engines": ("list_engines", "show_engines", "engines"),
    "point": ("point_details", "show_point", "point p0123456789ab --study quick"),
    "inputs": ("write_point_inputs", "show_point_inputs", "inputs quick p0123456789ab --out input"),
    "kinds": ("list_kinds", "show_kinds", "kinds torus"),
    "partitions": ("list_partitions", "show_partitions", "partitions mira"),
    "schedule": ("schedule_study", "show_schedule", "schedule torus-or-mesh-scheduling"),
    "map": ("map_job", "show_mapping", "map --machine mira --graph tasks.graph --with exchange,linear --out ranks"),
    "machine": ("describe_machines", "show_machines", "machine frontier"),
    "draw": ("draw_machine", "show_drawing", "draw frontier --out frontier.svg"),
    "whatif": ("fail_parts", "show_losses", "whatif fabric.topo --fail leaf-1,spine-2 --fail '2 %' --out failed.svg"),
    "candidates": ("list_candidates", "show_candidates", "candidates --nodes 2000 --radix 36"),
    "trace": ("describe_trace", "show_trace", "trace sweep.goal --machine frontier --write sweep.parquet"),
    "export": ("export_file", "show_file", "export frontier --out frontier.graphml"),
    "where": ("find_resource", "show_path", "where configs"),
    "clean": ("clean_store", "show_unneeded", "clean --delete"),
    "completion": ("completion_script", "show_script", "completion bash"),
    "compare": ("compare_runs", "show_comparison", "compare results-old/quick results/quick"),
}
"""Each command, which is a module of `fabricstudy.commands`: what it does, what prints the result, and an example."""

_VERBOSE, _WHAT_IS_DONE = ("-v", "--verbose"), "log progress on standard error"
EPILOG_WIDTH = 78


class _Parser(argparse.ArgumentParser):
    """Tells what is wrong with a call as every other mistake is told, to programs, too."""

    def error(self, message: str) -> NoReturn:
        raise FabricstudyError(f"{message}; see {self.prog} --help", "usage")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; give the exit code."""
    called = sys.argv[1:] if arguments is None else arguments
    return exit_code_of(lambda: _run(called), "fabricstudy", "--json" in called)


def _run(arguments: list[str]) -> int:
    first = next((argument for argument in arguments if argument not in _VERBOSE), "--help")
    if first not in _COMMANDS and not first.startswith("-"):
        raise FabricstudyError(f"{first}: no such command; {suggestion(first, _COMMANDS)}", "usage")
    set_environment()
    # Only the called command is imported: most load much that the others do not need.
    args = _parser([first] if first in _COMMANDS else []).parse_args(arguments or [first])
    if args.verbose:
        enable_logging()
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


def _parser(complete: Collection[str] = tuple(_COMMANDS)) -> _Parser:
    """Return the parser of all commands, with the arguments of those that are to be `complete`."""
    parser = _Parser(prog="fabricstudy", allow_abbrev=False, description=__doc__.replace("``", ""))
    parser.add_argument("--version", action="version", version=f"fabricstudy {__version__}")
    parser.add_argument(*_VERBOSE, action="store_true", help=_WHAT_IS_DONE)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name in _COMMANDS:
        text = summary(name)
        sub = commands.add_parser(name, allow_abbrev=False, help=text, description=text)
        if name in complete:
            _complete(sub, name)
    return parser


def summary(name: str) -> str:
    """Return the first line about a command, without an import of its module."""
    source = Path(__file__).with_name("commands") / f"{name}.py"
    pattern = rf'^def {_COMMANDS[name][0]}\(.*\n    """(.*?)(?:"""|\n)'
    (text,) = re.findall(pattern, source.read_text(encoding="utf-8"), re.M)
    return str(text).replace("``", "")


def _complete(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the arguments of a command, and what it does."""
    work, show, example = _COMMANDS[name]
    module = import_module(f"fabricstudy.commands.{name}")
    # Its default is that of the whole parser.
    parser.add_argument(*_VERBOSE, action="store_true", default=argparse.SUPPRESS, help=_WHAT_IS_DONE)
    parser.set_defaults(command=getattr(module, work), json=False, exit_code=lambda result: 0)
    parser.set_defaults(show=lambda result: None)
    if show is not None:  # else it prints itself
        parser.set_defaults(show=getattr(module, show))
        parser.add_argument("--json", action="store_true", help="print for programs")
    if hasattr(module, "add_arguments"):
        module.add_arguments(parser)
    about = f"{textwrap.fill(parser.epilog, EPILOG_WIDTH)}\n\n" if parser.epilog else ""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"{about}example: fabricstudy {example}"


def options_of_commands() -> dict[str, dict[str, str]]:
    """Return the options of each command with their help."""
    options = {}
    for name in _COMMANDS:
        parser = argparse.ArgumentParser(add_help=False)
        _complete(parser, name)
        actions = (action for action in parser._actions if action.option_strings)
        options[name] = {action.option_strings[-1]: str(action.help).replace("%%", "%") for action in actions}
    return options


if __name__ == "__main__":
    sys.exit(main())
