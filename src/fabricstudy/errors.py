"""Errors that are written for the user."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable


class FabricstudyError(Exception):
    """Base of every error whose message is written for the user."""


class StudyError(FabricstudyError):
    """A study file asks for something that cannot be.

    Parameters
    ----------
    problem : str
        What is wrong, in one sentence without a full stop.
    remedy : str
        What would be right.
    file : str, optional
        The study file.
    path : str, optional
        Dotted path in the file, such as ``machine.bandwidth.global``.
    value : object, optional
        The offending value as it stands in the file.

    Examples
    --------
    >>> print(StudyError("unknown unit", "write it like '1 GB/s'", "a.yaml", "machine.bandwidth", "1G"))
    a.yaml: machine.bandwidth: unknown unit (value: '1G'); write it like '1 GB/s'
    """

    def __init__(
        self, problem: str, remedy: str, file: str | None = None, path: str | None = None, value: object = None
    ) -> None:
        self.problem, self.remedy, self.file, self.path, self.value = problem, remedy, file, path, value
        super().__init__(problem)

    def __str__(self) -> str:
        place = "".join(f"{part}: " for part in (self.file, self.path) if part)
        shown = repr(self.value)
        if len(shown) > 120:
            shown = shown[:117] + "..."
        value = "" if self.value is None else f" (value: {shown})"
        return f"{place}{self.problem}{value}; {self.remedy}"


def exit_code_of(work: Callable[[], None]) -> int:
    """Run a command's work; print an error that its user can mend in one line, and give the exit code."""
    try:
        work()
    except FabricstudyError as error:
        print(error, file=sys.stderr)
    except OSError as error:  # a full disk, a file that is not there, no permission
        print(f"{error.filename or 'writing'}: {error.strerror or error}", file=sys.stderr)
    else:
        return 0
    return 1


def suggestion(wrong: object, known: Iterable[str]) -> str:
    """Say what was probably meant, and what there is."""
    options = sorted(known)
    close = difflib.get_close_matches(str(wrong), options, 1, 0.6)
    listed = ", ".join(options[:20]) + (", ..." if len(options) > 20 else "")
    return (f"did you mean '{close[0]}'? " if close else "") + f"known: {listed}"
