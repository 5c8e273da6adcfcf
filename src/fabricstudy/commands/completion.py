"""``fabricstudy completion``: scripts that complete commands in shells."""

import argparse
from string import Template

from fabricstudy.core.columns import TABLES
from fabricstudy.machine.instances import INSTANCES
from fabricstudy.workflow.pipeline import bundled_studies

_BASH = Template(
    """\
_fabricstudy() {
    local current="$${COMP_WORDS[COMP_CWORD]}" words
    if [ "$$COMP_CWORD" -eq 1 ]; then
        words="$commands"
    elif [ "$${COMP_WORDS[COMP_CWORD-1]}" = --table ]; then
        words="$tables $$($analyses)"
    elif [[ "$$current" == -* ]]; then
        case "$${COMP_WORDS[*]:1:2} " in
$cases
        esac
    else
        words="$names $$($own)"
        [ "$$COMP_CWORD" -ne 2 ] || case "$${COMP_WORDS[1]}" in
$verbs
        esac
    fi
    COMPREPLY=($$(compgen -W "$$words" -- "$$current"))
}
complete -o default -F _fabricstudy fabricstudy
"""
)
"""Of bash, and of zsh with its functions for bash; files are completed where no word fits."""
_OWN = "command find . configs -maxdepth 1 -name '*.y*ml' 2>/dev/null | sed 's|^\\./||'"
"""Prints the study files of the current folder."""
_ANALYSES = "command find results -name 'analysis-*.parquet' 2>/dev/null | sed 's|.*/||; s|.parquet$||'"
"""Prints the tables of analyses."""
_ZSH = "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "docs/commands.md says where each shell looks for it."
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def completion_script(args: argparse.Namespace) -> dict[str, str]:
    """Return a script that completes commands, options, studies, machines and tables in a shell."""
    from fabricstudy.cli import options_of_commands, summary, verbs  # which imports the commands when they are called

    options = options_of_commands()
    summaries = {name: summary(name) for name in options}
    names = [*bundled_studies(), *INSTANCES]
    if args.shell == "fish":
        return {"script": _fish(summaries, options, names)}
    nouns = list(dict.fromkeys(name.split()[0] for name in summaries))
    longest_first = sorted(options.items(), key=lambda item: -item[0].count(" "))
    script = _BASH.substitute(
        commands=" ".join(nouns), names=" ".join(names), own=_OWN,
        cases="\n".join(f'            "{name} "*) words="{" ".join(known)}" ;;' for name, known in longest_first),
        verbs="\n".join(f'            {noun}) words+=" {" ".join(verbs(noun))}" ;;' for noun in nouns if verbs(noun)),
        tables=" ".join(TABLES), analyses=_ANALYSES,
    )  # fmt: skip
    return {"script": (_ZSH if args.shell == "zsh" else "") + script}


def _fish(summaries: dict[str, str], options: dict[str, dict[str, str]], names: list[str]) -> str:
    lines = [f"complete -c fabricstudy -n {_fish_condition(name)} -f -a {name.split()[-1]}" for name in summaries]
    lines = [f"{line} -d {_quoted(text)}" for line, text in zip(lines, summaries.values(), strict=True)]
    lines.append(f"complete -c fabricstudy -n 'not __fish_use_subcommand' -a {_quoted(' '.join(names))}")
    lines.append(f"complete -c fabricstudy -l table -x -a {_quoted(' '.join([*TABLES, f'({_ANALYSES})']))}")
    for command, known in options.items():
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.split())
        begin = f"complete -c fabricstudy -n '{seen}'"
        lines += [f"{begin} -l {name[2:]} -d {_quoted(text)}" for name, text in known.items() if name.startswith("--")]
    return "\n".join(lines) + "\n"


def _fish_condition(name: str) -> str:
    """Return when the last word of a command completes: as the first word, or after its noun."""
    noun = name.rpartition(" ")[0]
    return f"'__fish_seen_subcommand_from {noun}'" if noun else "__fish_use_subcommand"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def show_script(result: dict[str, str]) -> None:
    print(result["script"], end="")
