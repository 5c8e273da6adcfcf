"""Write docs/man/fabricstudy.1, the manual page of the command, from its parser; a wheel installs it."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from fabricstudy import __version__, cli

PAGE = Path(__file__).resolve().parents[1] / "docs/man/fabricstudy.1"
COMMON = ("help", "verbose", "json")
END = """\
.SH OPTIONS OF ALL COMMANDS
.TP
.BR \\-h ", " \\-\\-help
Show the arguments of a command.
.TP
.BR \\-v ", " \\-\\-verbose
Log progress on standard error.
.TP
.B \\-\\-json
Print one JSON value for programs (not \\fBrun\\fR).
.SH EXIT STATUS
0: success. 1: an error, or compared runs differ. 2: a wrong command line.
.SH FILES
.TP
.I results/
The store of simulated points, and the plan and tables of each study.
.TP
.I reports/STUDY/index.html
The report of a study.
.SH SEE ALSO
.BR snakemake (1)
.PP
The pages in the folder that "fabricstudy list where docs" prints.
"""


def man_page() -> str:
    """Return the page in the macros of man(7)."""
    parser = cli._parser()
    (subparsers,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    lines = [
        f'.TH FABRICSTUDY 1 "" "fabricstudy {__version__}" "User Commands"',
        ".SH NAME", r"fabricstudy \- compare HPC networks by simulation",
        ".SH SYNOPSIS", r".B fabricstudy", r".I COMMAND", r".RI [ OPTIONS ]",
        ".SH DESCRIPTION", _text(parser.description or ""),
        ".SH COMMANDS",
    ]  # fmt: skip
    for name, sub in subparsers.choices.items():
        about, _, example = (sub.epilog or "").rpartition("example: ")
        lines += [f".SS {name}", _text(sub.description or ""), *filter(None, [_text(about)]), ".PP", ".nf"]
        lines += [r"\fBusage:\fR " + _text(usage(sub)), r"\fBexample:\fR " + _text(example), ".fi"]
        for action in sub._actions:
            if action.help and action.dest not in COMMON:
                lines += [".TP", rf"\fB{_text(_name(action))}\fR", _text(action.help % {"default": action.default})]
    return "\n".join(lines) + "\n" + END


def usage(parser: argparse.ArgumentParser) -> str:
    """Return the usage of a command without its options, which the page describes below it."""
    names = [_name(action) for action in parser._actions if not action.option_strings]
    return " ".join([parser.prog, "[OPTIONS]", *names])


def _name(action: argparse.Action) -> str:
    names = action.option_strings or [action.dest.upper() if action.metavar is None else str(action.metavar)]
    value = action.metavar or (",".join(map(str, action.choices)) if action.choices else action.dest.upper())
    takes = bool(action.option_strings) and action.nargs != 0
    return ", ".join(names) + (f" {value}" if takes else "")


def _text(text: str) -> str:
    """Escape what roff would take for a request or a hyphen."""
    escaped = re.sub(r"\s+", " ", text).strip().replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^([.'])", r"\\&\1", escaped)


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(man_page(), encoding="utf-8")
