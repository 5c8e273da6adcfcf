"""``fabricstudy completion``: scripts that complete commands in shells, and the words that they ask for."""

import argparse
from pathlib import Path

from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.columns import TABLES
from fabricstudy.machine.instances import INSTANCES

_BASH = """\
_fabricstudy() {
    COMPREPLY=($(fabricstudy completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _fabricstudy fabricstudy
"""
_SCRIPTS = {
    "bash": _BASH,
    "zsh": "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n" + _BASH,
    "fish": "complete -c fabricstudy -a '(fabricstudy completion words -- (commandline -cpo)[2..] (commandline -t))'\n",
}
"""Files are completed where no word fits."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "docs/commands.md says where each shell looks for it."
    help = "shell; or words, for which the scripts ask, with the words of a command line"
    parser.add_argument("shell", choices=(*_SCRIPTS, "words"), help=help)
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> dict[str, str]:
    """Print a script that completes commands, options, studies, machines and tables in a shell."""
    if args.shell != "words":
        return {"script": _SCRIPTS[args.shell]}
    *words, current = args.words or [""]
    found = {word: about for word, about in _candidates(words, current).items() if word.startswith(current)}
    return {"script": "".join(f"{word}\t{about}\n" for word, about in found.items())}


def _candidates(words: list[str], current: str) -> dict[str, str]:
    """Return what may follow the words of a command line, each with its help."""
    from fabricstudy.cli import COMMANDS, add_arguments, verbs

    if not words:
        return {name: about for name, (about, _) in COMMANDS.items() if " " not in name}
    name = next((name for name in (" ".join(words[:2]), words[0]) if name in COMMANDS), "")
    if current.startswith("-") and name:
        parser = argparse.ArgumentParser(add_help=False)
        add_arguments(parser, name)
        return {action.option_strings[-1]: str(action.help) for action in parser._actions if action.option_strings}
    found = {verb: COMMANDS[f"{name} {verb}"][0] for verb in verbs(name)} if len(words) == 1 else {}
    if name == "report table" and len(words) > 2:
        analyses = {path.stem for path in Path("results").glob("*/tables/analysis-*.parquet")}
        return dict.fromkeys([*TABLES, *sorted(analyses)], "table")
    own = [str(path) for pattern in ("*.y*ml", "configs/*.y*ml") for path in sorted(Path().glob(pattern))]
    bundled = sorted(path.stem for path in CONFIGS.glob("*.yaml"))
    return found | dict.fromkeys([*bundled, *own], "study") | dict.fromkeys(INSTANCES, "machine")


def show(result: dict[str, str]) -> None:
    print(result["script"], end="")
