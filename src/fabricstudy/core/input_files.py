"""Files beside a study whose content, not their name or place, is part of a point."""

import csv
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.errors import Code, StudyError
from fabricstudy.core.model import ConfigError, Model, NoPhysics

MAX_BYTES = 500_000_000
"""Of a file, and of what is unpacked from one; lists of its cells take up to ten times as much memory."""

MAX_LINE_LENGTH = 20_000_000
"""Characters of a line: more cells than any matrix has that fits into a file."""

MAX_RANKS = 10_000_000
"""Ranks or tasks of a file: as many as the largest machine has nodes."""

MAX_TRAFFIC_BYTES = 2**62
"""Bytes of all messages of a file together, which 64 bits hold with one to spare."""

_WHOLE = re.compile(r"[-+]?[0-9]{1,30}")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?")

T = TypeVar("T")


class InputFileError(Exception):
    """What is wrong in a file.

    Parameters
    ----------
    problem, remedy : str
        As in `fabricstudy.core.errors.StudyError`.
    where : str
        Line and column, or what there is in their place.
    value : object, optional
        What stands there.
    code : str, optional
        If the file cannot be read at all, why.
    """

    def __init__(
        self, problem: str, remedy: str, where: str = "", value: object = None, code: Code = "file-unreadable"
    ) -> None:
        self.problem, self.remedy, self.where, self.value, self.code = problem, remedy, where, value, code
        super().__init__(problem)

    def in_file(self, name: str, code: Code) -> ConfigError:
        """Return the mistake in the file of this name, at the path ``file``."""
        place = f"{name}, {self.where}" if self.where else name
        return ConfigError(f"{place}: {self.problem}", self.remedy, ("file",), self.value, code)


def position_text(line: int, column: int | None = None, name: str = "") -> str:
    """Say where in a text something stands; both count from 1.

    Examples
    --------
    >>> position_text(3, 2, "count"), position_text(4)
    ('line 3, column 2 (count)', 'line 4')
    """
    place = f"line {line}" if column is None else f"line {line}, column {column}"
    return f"{place} ({name})" if name else place


def read_bytes(path: Path, most: int = MAX_BYTES) -> bytes:
    """Return the content of a regular file of at most so many bytes.

    Raises
    ------
    InputFileError
        If it is none, or cannot be read; without the name of the file.
    """
    try:
        # A pipe would wait for somebody who writes, and a device may never end.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InputFileError("a pipe or a device", "give a regular file")
            if status.st_size > most:
                raise InputFileError(f"more than {most:,} bytes", "take a smaller file", code="file-too-large")
            data = file.read(status.st_size + 1)
    except IsADirectoryError:
        raise InputFileError("a folder, not a file", "give a file") from None
    except FileNotFoundError:
        raise InputFileError("no such file", "check its name", "", str(path), "file-not-found") from None
    except (OSError, ValueError) as error:  # a name with a null character is a ValueError
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else type(error).__name__
        raise InputFileError(f"cannot be read ({reason})", "check its permissions", "", str(path)) from None
    if len(data) != status.st_size:
        raise InputFileError("it changes while it is read", "give a file that stays as it is")
    return data


def text_of(data: bytes) -> str:
    """Return the text of a file, in UTF-8 with or without a byte-order mark.

    Raises
    ------
    InputFileError
        If it is none.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = position_text(data.count(b"\n", 0, error.start) + 1)
        raise InputFileError("not UTF-8", "save it as UTF-8 text", place, code="file-unreadable") from None


def split_lines(text: str) -> Iterator[str]:
    """Give the lines of a text one by one: all at once, short ones take twenty times its memory."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def numbered_lines(data: bytes) -> Iterator[tuple[int, str]]:
    """Return the lines of a text with their numbers, without the characters that end them.

    Raises
    ------
    InputFileError
        If it is no text, or a line has more characters than any that is meant.
    """
    text = text_of(data).replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(split_lines(text), 1):
        if len(line) > MAX_LINE_LENGTH:
            raise InputFileError(
                f"a line of {len(line):,} characters", f"stay below {MAX_LINE_LENGTH:,}", position_text(number)
            )
        yield number, line


def numbered_csv_rows(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Give the rows of a CSV file with the numbers of their lines; empty lines and comments (``#``) are left out.

    Raises
    ------
    InputFileError
        If the file is no text.

    Examples
    --------
    >>> list(numbered_csv_rows(b"a, b\\n# no\\n1,2\\n"))
    [(1, ['a', 'b']), (3, ['1', '2'])]
    """
    for number, line in numbered_lines(data):
        if line.strip() and not line.startswith("#"):
            try:
                yield number, [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True))]
            except csv.Error as error:  # a cell above `csv.field_size_limit`
                raise InputFileError(
                    f"not CSV: {error}", "write commas between short cells", position_text(number)
                ) from None


def check_width(number: int, row: list[str], head: list[str]) -> None:
    """Refuse a row with other cells than the head of its file has columns.

    Raises
    ------
    InputFileError
        With its line.
    """
    if len(row) != len(head):
        raise InputFileError(
            f"{len(row)} cells below {len(head)} columns", "write one cell a column", position_text(number)
        )


Where = str | tuple[int] | tuple[int, int, str]
"""A place in a file: in words, or as `position_text` takes it, so that words are made for mistakes alone."""


def whole(text: object, least: int, most: int, where: Where) -> int:
    """Read a whole number in decimal digits.

    Raises
    ------
    InputFileError
        If it is none, or out of range.
    """
    words = str(text).strip() if isinstance(text, str | int) else ""
    if _WHOLE.fullmatch(words) is None or not least <= int(words) <= most:
        raise InputFileError("not a whole number that can be", f"write one from {least} to {most}", _words(where), text)
    return int(words)


def number(text: str, least: float, most: float, where: Where) -> float:
    """Read a finite number.

    Raises
    ------
    InputFileError
        If it is none, or out of range.
    """
    if _NUMBER.fullmatch(text) is None or not least <= float(text) <= most:
        raise InputFileError("not a number that can be", f"write one from {least:g} to {most:g}", _words(where), text)
    return float(text)


def _words(where: Where) -> str:
    return where if isinstance(where, str) else position_text(*where)


def reader_for_suffix(readers: dict[str, Callable[[bytes], T]], path: Path) -> Callable[[bytes], T]:
    """Give the reader for the end of a file's name.

    Raises
    ------
    InputFileError
        If there is none.
    """
    if path.suffix not in readers:
        raise InputFileError(
            f"no format of ours ends in '{path.suffix}'", f"let its name end in one of {', '.join(readers)}"
        )
    return readers[path.suffix]


@lru_cache(maxsize=16)
def _kept(path: Path, changed: int, reader: Callable[[Path, bytes], T], code: Code) -> tuple[T, str]:
    try:
        data = read_bytes(path)
        return reader(path, data), hashlib.sha256(data).hexdigest()
    except InputFileError as mistake:
        raise mistake.in_file(path.name, code) from None
    except MemoryError:
        raise InputFileError("more than the memory holds", "take a smaller file").in_file(path.name, code) from None


def read(path: Path, reader: Callable[[Path, bytes], T], code: Code) -> tuple[T, str]:
    """Give what `reader` makes of a file, and the SHA-256 of its bytes; read once while the file stays as it is.

    Raises
    ------
    ConfigError
        With the path ``file`` and this code, if it cannot be read or `reader` raises a `InputFileError`.
    """
    return _kept(path, changed_ns(path), reader, code)


def changed_ns(path: Path) -> int:
    """Give what changes with a file, so that it is read once while it stays; -1 if it is not there."""
    try:
        return path.stat().st_mtime_ns
    except (OSError, ValueError):
        return -1


def folder_to_read(value: Any, info: ValidationInfo, told: tuple[str, ...]) -> Path | None:
    """Give the study's folder if a kind is written there with a file to read now; None if not.

    Parameters
    ----------
    value : any value
        As written, or as it stands in a stored point.
    info : pydantic.ValidationInfo
        Whose context has the folder while a study is read.
    told : tuple of str
        Keys that the file tells.

    Raises
    ------
    ConfigError
        If the study writes one of these.
    """
    folder = (info.context or {}).get("folder")
    if folder is None or not isinstance(value, dict) or not isinstance(value.get("file"), str):
        return None
    for key in told:
        if key in value:
            raise ConfigError("unknown key", "leave it out; the file tells it", (key,), code="unknown-key")
    return Path(folder)


class FromFile(Model):
    """What the kinds have that take a file: where it is, which a point does not hold, and its digest, which it does.

    A kind has `_read_file`, and in `_facts` gives the fields that follow from what it read.
    """

    file: Annotated[str, NoPhysics] = Field(min_length=1, description="the file, relative to the study's folder")
    # Where a user's studies lie is nobody else's matter: it stands in no record.
    folder: SkipJsonSchema[Annotated[str, NoPhysics]] = Field("", exclude=True)
    sha256: SkipJsonSchema[str] = ""

    @classmethod
    def _read_file(cls, path: Path) -> tuple[Any, str]:
        """Give the content of the file, and its digest: a call of `read`."""
        raise NotImplementedError

    @classmethod
    def _facts(cls, content: Any, value: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
        """Give the fields that follow from the content and from the other keys as they are written."""
        raise NotImplementedError

    @model_validator(mode="before")
    @classmethod
    def _take_file(cls, value: Any, info: ValidationInfo) -> Any:
        context = info.context or {}
        if isinstance(value, dict) and "files_in" in context:
            return {**value, "folder": context["files_in"]}  # as it was planned
        folder = folder_to_read(value, info, ("folder", "sha256"))
        if folder is None:
            return value
        content, sha256 = cls._read_file(folder / value["file"])
        facts = cls._facts(content, value, info.context or {})
        folder_to_read(value, info, tuple(facts))
        return {**value, **facts, "folder": str(folder.resolve()), "sha256": sha256}

    def content(self) -> Any:
        """Give the content of the file.

        Raises
        ------
        StudyError
            If it is gone, or has changed since the study was planned, or the kind was read from a record.
        """
        if not self.folder:
            problem = f"the file {self.file} is beside its study, which this record does not name"
            raise StudyError(problem, "name the study with --study", code="results-damaged")
        try:
            content, sha256 = self._read_file(Path(self.folder) / self.file)
        except ConfigError as error:
            # Without its value, which may be a path: a record of the failure says nothing of where the study lies.
            raise StudyError(f"the file {self.file}: {error.problem}", error.remedy, code=error.code) from None
        if sha256 != self.sha256:
            raise StudyError(
                f"the file {self.file} has changed since the study was planned",
                "run the study again",
                code="study-changed",
            )
        return content
