"""How ``fabricstudy run`` starts Snakemake: invalid options in one line, and exit code 130 after Ctrl-C."""

import io
import re
import signal
import sys
from contextlib import redirect_stderr
from difflib import get_close_matches
from types import FrameType

from fabricstudy.core.errors import INTERRUPTED_CODE, FabricstudyError, exit_code_of

from .display import INTERRUPTED
from .jobs import read_jobs
from .snakefile import RESULTS, cancel_timers, check_points, check_triggers

_OTHER_WORK = (
    "dryrun", "touch", "unlock", "lint", "summary", "detailed_summary", "dag", "rulegraph", "filegraph", "d3dag",
    "list_rules", "list_target_rules", "list_changes", "archive", "cleanup_metadata", "cleanup_shadow",
    "delete_all_output", "delete_temp_output", "generate_unit_tests", "containerize", "report",
)  # fmt: skip
"""Options of Snakemake with which it makes no results."""


def main(studies: str, arguments: list[str]) -> int:
    """Run Snakemake with these arguments; return the exit code.

    `studies` are names, separated by commas. Raises FabricstudyError if some of their points failed.
    """
    from snakemake import cli  # slow to import; Ctrl-C meanwhile must not become an error of Snakemake
    from snakemake.exceptions import print_exception

    signal.signal(signal.SIGINT, _interrupt)
    said, done, makes_results = io.StringIO(), False, False
    try:
        with redirect_stderr(said):
            parser, args = cli.parse_args(arguments)
        check_triggers(args.rerun_triggers)
        if "fabricstudy" not in arguments:  # with our display, the name of the profile is noise
            sys.stderr.write(said.getvalue())
        done = cli.args_to_api(args, parser)
        makes_results = not any(getattr(args, option, None) for option in _OTHER_WORK)
    except SystemExit as end:
        if end.code != 2:
            raise
        raise _wrong_call(said.getvalue(), cli.get_argument_parser().format_usage()) from None
    except KeyboardInterrupt:
        pass  # INTERRUPTED is set
    except FabricstudyError:
        raise
    except Exception as error:
        print_exception(error)
    finally:
        cancel_timers()
    if INTERRUPTED.is_set():
        print("Interrupted.", file=sys.stderr)  # the Snakefile prints how to continue
        return INTERRUPTED_CODE
    if done and makes_results:  # Snakemake calls nothing of the Snakefile if nothing is to be done
        check_points({name: jobs for name in studies.split(",") if (jobs := read_jobs(RESULTS / name))})
    return 0 if done else 1


def _interrupt(number: int, frame: FrameType | None) -> None:
    INTERRUPTED.set()
    signal.default_int_handler(number, frame)


def _wrong_call(said: str, usage: str) -> FabricstudyError:
    """Return the error of Snakemake's argument parser, without its usage, with the most similar option."""
    problem = said.strip().rpartition("error: ")[2]
    wrong = re.search(r"unrecognized arguments: .*?(--[\w-]+)", problem)
    close = get_close_matches(wrong[1], set(re.findall(r"--[a-z-]+", usage)), 1) if wrong else []
    remedy = f"did you mean '{close[0]}'?" if close else "see fabricstudy run --help and snakemake --help"
    return FabricstudyError(f"{problem}; {remedy}", "usage")


if __name__ == "__main__":
    sys.exit(exit_code_of(lambda: main(sys.argv[1], sys.argv[2:]), "fabricstudy"))
