"""The command ``fabricstudy``: run studies with Snakemake; look at studies, engines, points and machines."""

import argparse
import io
import json
import os
import sys
import textwrap
from collections.abc import Collection
from importlib import import_module
from typing import Any, NoReturn

from fabricstudy import __version__
from fabricstudy.core.bundled_files import set_environment
from fabricstudy.core.errors import FabricstudyError, exit_code_of, suggestion
from fabricstudy.core.log import enable_logging

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("Write a study from a template.", "init my-study.yaml --template next-machine"),
    "list": ("List what is bundled.", "list machines"),
    "list kinds": ("List kinds, or the keys of one.", "list kinds torus"),
    "list engines": ("List the simulators that are found.", "list engines"),
    "list where": ("Print the path of a bundled file.", "list where configs"),
    "plan": ("Predict the cost of a study.", "plan my-study.yaml --list"),
    "plan validate": ("Check studies.", "plan validate my-study.yaml"),
    "run": ("Run a study with Snakemake.", "run quick --cores 4"),
    "status": ("Show the progress of a study.", "status quick --watch"),
    "report": ("Make the report of a study.", "report quick --open"),
    "report table": ("Write a table of results.", "report table quick jobs --out jobs.tex"),
    "point": ("Show or simulate one point.", "point p0123456789ab --study quick"),
    "point inputs": ("Write the input of a simulator.", "point inputs quick p0123456789ab --out input"),
    "schedule": ("Execute one run of a schedule.", "schedule torus-or-mesh-scheduling"),
    "map": (
        "Map the ranks of a job onto nodes.",
        "map --machine mira --graph tasks.graph --with exchange,linear --out ranks",
    ),
    "machine": ("Show machines.", "machine frontier"),
    "machine candidates": ("List possible machines.", "machine candidates --nodes 2000 --radix 36"),
    "machine draw": ("Draw a machine.", "machine draw frontier --out frontier.svg"),
    "machine export": ("Write a machine as a graph.", "machine export frontier --out frontier.graphml"),
    "machine partitions": ("List partitions of a grid machine.", "machine partitions mira"),
    "machine whatif": (
        "Show what a machine loses by faults.",
        "machine whatif fabric.topo --fail leaf-1 --fail '2 %' --out failed.svg",
    ),
    "trace": ("Describe or convert a trace.", "trace sweep.goal --machine frontier --write sweep.parquet"),
    "compare": ("Compare the tables of two runs.", "compare results-old/quick results/quick"),
    "clean": ("List or remove what no study needs.", "clean --delete"),
    "completion": ("Print a script for a shell.", "completion bash"),
}
"""The help and an example of each command.

Its last word is that of a module of `fabricstudy.commands`: `run` does the work, and `show` prints the result.
"""

_FORMER = {name.split()[-1]: name for name in COMMANDS if " " in name} | {"export": "machine export or report table"}
"""The present name of each command by its former one, which is answered for one version."""

_VERBOSE, _WHAT_IS_DONE = ("-v", "--verbose"), "log progress on standard error"
WIDTH = 78


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
    name = next((name for name in (" ".join(words[:2]), words[0]) if name in COMMANDS), None)
    if name is None and words[0] in _FORMER:
        raise FabricstudyError(f"{words[0]}: this command has another name; write {_FORMER[words[0]]}", "usage")
    if name is None and not words[0].startswith("-"):
        raise FabricstudyError(f"{words[0]}: no such command; {suggestion(words[0], COMMANDS)}", "usage")
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


def _parser(complete: Collection[str] = tuple(COMMANDS)) -> _Parser:
    """Return the parser of all commands, with the arguments of those that are to be `complete`."""
    parser = _Parser(
        prog="fabricstudy", allow_abbrev=False, add_help=False, usage="fabricstudy [--version] [-v] COMMAND ...",
        description="Run studies with Snakemake; inspect studies, points, engines and machines.",
        epilog="Options and an example of a command: fabricstudy COMMAND --help",
    )  # fmt: skip
    parser.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"fabricstudy {__version__}", help=argparse.SUPPRESS)
    parser.add_argument(*_VERBOSE, action="store_true", help=argparse.SUPPRESS)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", prog="fabricstudy")
    for name, (text, _) in COMMANDS.items():
        others = f" [{', '.join(verbs(name))}]" if verbs(name) else ""
        listed: dict[str, Any] = {} if " " in name else {"help": text + others}
        sub = commands.add_parser(name, allow_abbrev=False, description=text, **listed)
        if name in complete:
            add_arguments(sub, name)
    return parser


def verbs(noun: str) -> list[str]:
    """Return the second words of the commands of a noun."""
    return [name.split()[1] for name in COMMANDS if name.startswith(f"{noun} ")]


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the arguments of a command, and its description."""
    module = import_module(f"fabricstudy.commands.{name.split()[-1]}")
    # Inherit the default of the main parser.
    parser.add_argument(*_VERBOSE, action="store_true", default=argparse.SUPPRESS, help=_WHAT_IS_DONE)
    parser.set_defaults(command=module.run, json=False, exit_code=lambda result: 0, show=lambda result: None)
    if hasattr(module, "show"):  # else it prints itself
        parser.set_defaults(show=module.show)
        parser.add_argument("--json", action="store_true", help="print for programs")
    module.add_arguments(parser)
    parser.description = textwrap.fill(module.run.__doc__ or COMMANDS[name][0], WIDTH)  # none under python -OO
    about = f"{textwrap.fill(parser.epilog, WIDTH)}\n\n" if parser.epilog else ""
    about += "".join(f"see also: fabricstudy {name} {verb} --help\n" for verb in verbs(name))
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"{about}example: fabricstudy {COMMANDS[name][1]}"


if __name__ == "__main__":
    sys.exit(main())
