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
from typing import Any, NoReturn

from fabricstudy import __version__
from fabricstudy.core.bundled_files import set_environment
from fabricstudy.core.errors import FabricstudyError, exit_code_of, suggestion
from fabricstudy.core.log import enable_logging

_COMMANDS: dict[str, tuple[str, str | None, str]] = {
    "init": ("write_study", "show_written", "init my-study.yaml --template next-machine"),
    "list": ("list_bundled", "show_bundled", "list machines"),
    "list kinds": ("list_kinds", "show_kinds", "list kinds torus"),
    "list engines": ("list_engines", "show_engines", "list engines"),
    "list where": ("find_resource", "show_path", "list where configs"),
    "plan": ("summarise_plan", "show_plan", "plan my-study.yaml --list"),
    "plan validate": ("check_studies", "show_valid", "plan validate my-study.yaml"),
    "run": ("run_study", None, "run quick --cores 4"),
    "status": ("study_status", "show_status", "status quick --watch"),
    "report": ("make_report", "show_report", "report quick --open"),
    "point": ("point_details", "show_point", "point p0123456789ab --study quick"),
    "point inputs": ("write_point_inputs", "show_point_inputs", "point inputs quick p0123456789ab --out input"),
    "schedule": ("schedule_study", "show_schedule", "schedule torus-or-mesh-scheduling"),
    "map": ("map_job", "show_mapping", "map --machine mira --graph tasks.graph --with exchange,linear --out ranks"),
    "machine": ("describe_machines", "show_machines", "machine frontier"),
    "machine draw": ("draw_machine", "show_drawing", "machine draw frontier --out frontier.svg"),
    "machine partitions": ("list_partitions", "show_partitions", "machine partitions mira"),
    "machine whatif": (
        "fail_parts",
        "show_losses",
        "machine whatif fabric.topo --fail leaf-1 --fail '2 %' --out failed.svg",
    ),
    "candidates": ("list_candidates", "show_candidates", "candidates --nodes 2000 --radix 36"),
    "trace": ("describe_trace", "show_trace", "trace sweep.goal --machine frontier --write sweep.parquet"),
    "export": ("export_file", "show_file", "export frontier --out frontier.graphml"),
    "clean": ("clean_store", "show_unneeded", "clean --delete"),
    "completion": ("completion_script", "show_script", "completion bash"),
    "compare": ("compare_runs", "show_comparison", "compare results-old/quick results/quick"),
}
"""Each command: what it does, what prints the result, and an example.

Its last word is that of a module of `fabricstudy.commands`.
"""

_FORMER = {name.split()[-1]: name for name in _COMMANDS if " " in name}
"""The present name of each command by its former one, which is answered for one version."""

_VERBOSE, _WHAT_IS_DONE = ("-v", "--verbose"), "log progress on standard error"
EPILOG_WIDTH, HELP_WIDTH = 78, 61


class _Parser(argparse.ArgumentParser):
    """Reports usage errors as every other error, also as JSON for programs."""

    def error(self, message: str) -> NoReturn:
        raise FabricstudyError(f"{message}; see {self.prog} --help", "usage")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; give the exit code."""
    called = sys.argv[1:] if arguments is None else arguments
    return exit_code_of(lambda: _run(called), "fabricstudy", "--json" in called)


def _run(arguments: list[str]) -> int:
    words = [argument for argument in arguments if argument not in _VERBOSE] or ["--help"]
    name = next((name for name in (" ".join(words[:2]), words[0]) if name in _COMMANDS), None)
    if name is None and words[0] in _FORMER:
        raise FabricstudyError(f"{words[0]}: this command has another name; write {_FORMER[words[0]]}", "usage")
    if name is None and not words[0].startswith("-"):
        raise FabricstudyError(f"{words[0]}: no such command; {suggestion(words[0], _COMMANDS)}", "usage")
    rest = list(arguments or words)
    for word in (name or "").split():
        rest.remove(word)
    set_environment()
    # Only the called command is imported: most load much that the others do not need.
    args = _parser([name] if name else []).parse_args([*([name] if name else []), *rest])
    if args.verbose:
        enable_logging()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Labels of a study may hold characters that this terminal cannot encode.
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
        text, others = summary(name), f" [{', '.join(verbs(name))}]" if verbs(name) else ""
        shown = textwrap.shorten(text, HELP_WIDTH - len(others), placeholder=" ...") + others
        listed: dict[str, Any] = {} if " " in name else {"help": shown}
        sub = commands.add_parser(name, allow_abbrev=False, description=text, **listed)
        if name in complete:
            _complete(sub, name)
    return parser


def verbs(noun: str) -> list[str]:
    """Return the second words of the commands of a noun."""
    return [name.split()[1] for name in _COMMANDS if name.startswith(f"{noun} ")]


def summary(name: str) -> str:
    """Return the first line about a command, without an import of its module."""
    source = Path(__file__).with_name("commands") / f"{name.split()[-1]}.py"
    pattern = rf'^def {_COMMANDS[name][0]}\(.*\n    """(.*?)(?:"""|\n)'
    (text,) = re.findall(pattern, source.read_text(encoding="utf-8"), re.M)
    return str(text).replace("``", "")


def _complete(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the arguments of a command, and what it does."""
    work, show, example = _COMMANDS[name]
    module = import_module(f"fabricstudy.commands.{name.split()[-1]}")
    # Inherit the default of the main parser.
    parser.add_argument(*_VERBOSE, action="store_true", default=argparse.SUPPRESS, help=_WHAT_IS_DONE)
    parser.set_defaults(command=getattr(module, work), json=False, exit_code=lambda result: 0)
    parser.set_defaults(show=lambda result: None)
    if show is not None:  # else it prints itself
        parser.set_defaults(show=getattr(module, show))
        parser.add_argument("--json", action="store_true", help="print for programs")
    if hasattr(module, "add_arguments"):
        module.add_arguments(parser)
    about = f"{textwrap.fill(parser.epilog, EPILOG_WIDTH)}\n\n" if parser.epilog else ""
    about += "".join(f"see also: fabricstudy {name} {verb} --help\n" for verb in verbs(name))
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
