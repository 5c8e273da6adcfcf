"""Snakemake as ``fabricstudy run`` starts it: a wrong option is told in one line; the exit code after Ctrl-C is 130."""

import io
import re
import signal
import sys
from contextlib import redirect_stderr
from difflib import get_close_matches
from types import FrameType

from fabricstudy.core.errors import INTERRUPTED_CODE, FabricstudyError, exit_code_of

from .display import INTERRUPTED


def main(arguments: list[str]) -> int:
    """Run Snakemake with these arguments; return the exit code."""
    from snakemake import cli  # takes seconds, in which Ctrl-C is none of its errors
    from snakemake.exceptions import print_exception

    signal.signal(signal.SIGINT, _interrupt)
    said, done = io.StringIO(), False
    try:
        with redirect_stderr(said):
            parser, args = cli.parse_args(arguments)
        if "fabricstudy" not in arguments:  # the name of its profile is for those who see all of its words
            sys.stderr.write(said.getvalue())
        done = cli.args_to_api(args, parser)
    except SystemExit as end:
        if end.code != 2:
            raise
        raise _wrong_call(said.getvalue(), cli.get_argument_parser().format_usage()) from None
    except KeyboardInterrupt:
        pass  # is told below
    except Exception as error:
        print_exception(error)
    if INTERRUPTED.is_set():
        print("Interrupted.", file=sys.stderr)  # the Snakefile says how to go on
        return INTERRUPTED_CODE
    return 0 if done else 1


def _interrupt(number: int, frame: FrameType | None) -> None:
    INTERRUPTED.set()
    signal.default_int_handler(number, frame)


def _wrong_call(said: str, usage: str) -> FabricstudyError:
    """Return Snakemake's complaint about its arguments, which it prints below its usage, and the option meant."""
    problem = said.strip().rpartition("error: ")[2]
    wrong = re.search(r"unrecognized arguments: .*?(--[\w-]+)", problem)
    close = get_close_matches(wrong[1], set(re.findall(r"--[a-z-]+", usage)), 1) if wrong else []
    remedy = f"did you mean '{close[0]}'?" if close else "see fabricstudy run --help and snakemake --help"
    return FabricstudyError(f"{problem}; {remedy}", "usage")


if __name__ == "__main__":
    sys.exit(exit_code_of(lambda: main(sys.argv[1:]), "fabricstudy"))
