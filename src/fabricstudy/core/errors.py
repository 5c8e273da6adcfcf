"""Errors whose messages are written for the user."""

from __future__ import annotations

import difflib
import errno
import json
import math
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath
from traceback import walk_tb
from typing import Any, Literal

Code = Literal[
    # files
    "file-not-found", "file-unreadable", "file-too-large", "invalid-yaml", "invalid-data-file", "invalid-trace",
    "unsupported-format", "extension",
    # keys and their values
    "unknown-key", "missing-key", "conflicting-keys", "duplicate", "wrong-type", "out-of-range", "invalid-value",
    "unknown-value", "invalid-name", "unknown-name", "invalid-quantity",
    # what has to agree
    "invalid-machine", "does-not-fit", "unsupported", "not-comparable", "point-count",
    # the run
    "engine-missing", "points-failed", "study-changed", "results-damaged", "usage", "disk-full", "system", "other",
]  # fmt: skip
"""Error category. Codes are stable; messages are not."""

# Similarity of two words, from 0 to 1, from which one is suggested for the other.
LIKENESS = 0.6
OTHER_NAMES = {
    "dragonfly+": "megafly", "dragonfly-plus": "megafly", "flattened-butterfly": "hyperx", "clos": "fat-tree",
    "folded-clos": "fat-tree", "k-ary-n-tree": "xgft", "rail-only": "rails", "rail-optimized": "rails",
    "leaf-spine": "xgft", "spine-leaf": "xgft", "dor": "dimension-order", "xy": "dimension-order", "vlb": "valiant",
    "par": "ugal", "ugal-l": "ugal", "halo": "stencil", "nearest-neighbor": "stencil", "contiguous": "cluster",
    "bit-complement": "complement", "bitcomp": "complement", "alltoall": "all-to-all", "allreduce": "all-reduce",
    "p": "nodes_per_router", "concentration": "nodes_per_router", "a": "routers_per_group", "g": "groups",
    "dims": "shape", "dimensions": "shape",
}  # fmt: skip
"""Names in the literature for kinds and keys that have another name here."""
MAX_VALUES = 40

SHOWN = 20
"""Most mistakes of a study that are printed."""


class FabricstudyError(Exception):
    """An error with a message for the user and a `code` for programs and tests."""

    def __init__(self, message: str, code: Code = "other") -> None:
        self.code = code
        super().__init__(message)

    def each(self) -> Sequence[FabricstudyError]:
        """Return this mistake and those found together with it."""
        return (self,)

    def to_json(self) -> dict[str, Any]:
        return {"code": self.code, "message": str(self)}


class ConfigError(FabricstudyError, ValueError):
    """A mistake in a study, in one of its values, or in an input file.

    Parameters
    ----------
    problem, remedy : str
        What is wrong, in a sentence without a full stop, and what to write instead.
    keys : tuple of str
        Path of the value below the part that is checked; of a study such as ``("machine", "bandwidth", "global")``.
    value : object, optional
        The offending value as the file has it.
    others : sequence of ConfigError
        Further mistakes of the same part, each without `others`.
    file : str, optional
        The file.

    Examples
    --------
    >>> print(ConfigError("unknown unit", "write it like '1 GB/s'", ("machine", "bandwidth"), "1G", file="a.yaml"))
    a.yaml: machine.bandwidth: unknown unit (value: '1G'); write it like '1 GB/s'
    """

    def __init__(
        self,
        problem: str,
        remedy: str,
        keys: tuple[str, ...] = (),
        value: object = None,
        code: Code = "invalid-value",
        others: Sequence[ConfigError] = (),
        file: str | None = None,
    ) -> None:
        self.problem, self.remedy, self.keys, self.value, self.file = problem, remedy, keys, value, file
        self.others = tuple(others)
        super().__init__(problem, code)

    @property
    def path(self) -> str | None:
        """The keys as a dotted path; None without any."""
        return ".".join(self.keys) or None

    def __str__(self) -> str:
        more = len(self.others) + 1 - SHOWN
        lines = [error._line() for error in self.each()[:SHOWN]]
        return "\n".join([*lines, f"and {more} more mistakes"] if more > 0 else lines)

    def _line(self) -> str:
        location = "".join(f"{part}: " for part in (self.file, self.path) if part)
        value = "" if self.value is None else f" (value: {_shown(self.value)})"
        return f"{location}{self.problem}{value}; {self.remedy}"

    def each(self) -> Sequence[ConfigError]:
        return (self.changed(others=()) if self.others else self, *self.others)

    def changed(self, **facts: Any) -> ConfigError:
        """Return the mistake with other parameters."""
        names = ("problem", "remedy", "keys", "value", "code", "others", "file")
        return ConfigError(**{name: getattr(self, name) for name in names} | facts)

    def below(self, *keys: str, file: str | None = None) -> ConfigError:
        """Return the same mistakes with `keys` before their paths, and in `file` where they have none."""
        others = [error.below(*keys, file=file) for error in self.others]
        return self.changed(keys=(*keys, *self.keys), others=others, file=self.file or file)

    @staticmethod
    def of_extension(error: BaseException) -> ConfigError:
        """Return an exception of a study's extension as a mistake at its kind; raise any other one."""
        location = extension_location(error)
        if location is None:
            raise error
        problem = f"{PurePath(location[0]).name}, line {location[1]}: {first_line(error)}"
        return ConfigError(problem, "fix the extension there", code="extension")

    def to_json(self) -> dict[str, Any]:
        """Return this mistake alone as a JSON object."""
        value = self.value
        plain = value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
        shown = {name: getattr(self, name) for name in ("code", "file", "path", "problem", "remedy")}
        return shown | {"value": value if plain else _shown(value), "message": self._line()}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."


def combine_errors(mistakes: Sequence[ConfigError]) -> ConfigError:
    """Return one error for several mistakes; the first one leads.

    Examples
    --------
    >>> print(combine_errors([ConfigError("a", "b"), ConfigError("c", "d")]))
    a; b
    c; d
    """
    first, *others = [mistake for error in mistakes for mistake in error.each()]
    return first.changed(others=others)


INTERRUPTED_CODE = 128 + signal.SIGINT
"""Exit code after Ctrl-C."""


def exit_code_of(work: Callable[[], int | None], program: str = "", as_json: bool = False) -> int:
    """Run a command, print the mistakes that its user can fix, and return the exit code.

    With `as_json` the mistakes go to standard output as ``{"errors": [...]}``, otherwise to standard error, one a line,
    each after the name of the `program`. The code is 1, or 2 for a wrong call.
    """
    try:
        return work() or 0
    except KeyboardInterrupt:
        return INTERRUPTED_CODE
    except FabricstudyError as error:
        mistake = error
    except OSError as error:
        mistake = _of_the_system(error)
    except (Exception, SystemExit) as error:
        mistake = ConfigError.of_extension(error)
    if as_json:
        print(json.dumps({"errors": [error.to_json() for error in mistake.each()]}, indent=1))
    else:
        sys.stderr.writelines(f"{program and f'{program}: '}{line}\n" for line in str(mistake).splitlines())
    return 2 if mistake.code == "usage" else 1


def extension_location(error: BaseException) -> tuple[str, int] | None:
    """Return file and line of a study's extension where an error was raised, or None if elsewhere."""
    from fabricstudy.core.source import EXTENSIONS

    frames = list(walk_tb(error.__traceback__))
    locations = [
        (frame.f_code.co_filename, line)
        # A signal may end the program while an extension works.
        for frame, line in frames[-1 if isinstance(error, SystemExit) else 0 :]
        if str(frame.f_globals.get("__name__")).startswith(EXTENSIONS)
    ]
    if not locations and error.__cause__ is not None:  # StopIteration in a generator
        return extension_location(error.__cause__)
    return locations[-1] if locations else None


def first_line(error: BaseException) -> str:
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _of_the_system(error: OSError) -> FabricstudyError:
    """Return an error of the operating system: a full disk, a missing file, no permission."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    # A write that finds no room does not know the name of its file.
    where = error.filename or ("writing" if full else None)
    reason = error.strerror or str(error) or type(error).__name__
    return FabricstudyError(f"{where}: {reason}" if where else reason, "disk-full" if full else "system")


def suggestion(wrong: object, known: Iterable[str]) -> str:
    """Return a remedy: the closest known name, and the known names."""
    options = sorted(set(known))
    other_name = OTHER_NAMES.get(str(wrong).lower(), "")
    close = [other_name] if other_name in options else difflib.get_close_matches(str(wrong), options, 1, LIKENESS)
    listed = ", ".join(options[:MAX_VALUES]) + (", ..." if len(options) > MAX_VALUES else "")
    return (f"did you mean '{close[0]}'? " if close else "") + f"known: {listed}"


def is_misspelling(wrong: str, meant: str, likeness: float = LIKENESS) -> bool:
    """Return whether a word is probably a misspelling of `meant`."""
    return bool(difflib.get_close_matches(wrong, [meant], 1, likeness))
