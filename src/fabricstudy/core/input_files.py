"""Input files of a study, whose content, not name or location, is part of a point."""

import csv
import gzip
import hashlib
import io
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import Field, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.errors import Code, suggestion
from fabricstudy.core.model import ConfigError, Model, NoPhysics

MAX_INPUT_BYTES = 500_000_000
"""Size of a file, and of its unpacked content; lists of its cells need up to ten times as much memory."""

MAX_LINE_LENGTH = 20_000_000
"""Characters of a line: more than a row of any matrix that fits into a file."""

MAX_RANKS = 10_000_000
"""Ranks or tasks of a file: the nodes of the largest machine."""

MAX_TRAFFIC_BYTES = 2**62
"""Bytes of all messages of a file together; they fit into 64 bits."""

GZIP = b"\x1f\x8b"
"""First bytes of a file that is compressed by gzip."""

_WHOLE = re.compile(r"[-+]?[0-9]{1,30}")
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,4})?")

T = TypeVar("T")


class InputFileError(ConfigError):
    """A mistake in a file, at the position `where`: line and column."""

    def __init__(
        self, problem: str, remedy: str, where: str = "", value: object = None, code: Code = "file-unreadable"
    ) -> None:
        super().__init__(f"{where}: {problem}" if where else problem, remedy, (), value, code)
        self.where = where

    def within(self, where: str) -> "InputFileError":
        """Return the mistake with the position of a larger part, such as a file, before its own."""
        problem = self.problem.removeprefix(f"{self.where}: ") if self.where else self.problem
        position = f"{where}, {self.where}" if self.where else where
        return InputFileError(problem, self.remedy, position, self.value, self.code)

    def at_file_key(self, name: str, code: Code) -> ConfigError:
        """Return the mistake in the file of this name, at the key ``file`` of a kind."""
        location = f"{name}{', ' if self.where else ': '}"
        return self.changed(problem=location + self.problem, keys=("file",), code=code)


def position_text(line: int, column: int | None = None, name: str = "") -> str:
    """Return a position in a text as a phrase; line and column count from 1.

    Examples
    --------
    >>> position_text(3, 2, "count"), position_text(4)
    ('line 3, column 2 (count)', 'line 4')
    """
    position = f"line {line}" if column is None else f"line {line}, column {column}"
    return f"{position} ({name})" if name else position


def read_bytes(path: Path, most: int = MAX_INPUT_BYTES) -> bytes:
    """Return the content of a regular file of at most `most` bytes.

    Raises InputFileError, without the name of the file, if it is not one or cannot be read.
    """
    try:
        # A pipe would block until it has a writer, and a device may never end.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InputFileError("a pipe or a device", "give a regular file")
            if status.st_size > most:
                raise InputFileError(f"more than {most:,} bytes", "use a smaller file", code="file-too-large")
            data = file.read(status.st_size + 1)
    except InputFileError:
        raise
    except IsADirectoryError:
        raise InputFileError("a folder, not a file", "give a file") from None
    except FileNotFoundError:
        raise InputFileError("no such file", "check its name", "", str(path), "file-not-found") from None
    except (OSError, ValueError) as error:  # a name with a null character is a ValueError
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else type(error).__name__
        raise InputFileError(f"cannot be read ({reason})", "check its permissions", "", str(path)) from None
    if len(data) != status.st_size:
        raise InputFileError("changes while it is read", "name a file that no program is writing")
    return data


def unpacked(data: bytes) -> bytes:
    """Return the content of a file, compressed by gzip or not. Raises InputFileError if it is damaged or too large."""
    if not data.startswith(GZIP):
        return data
    content = io.BytesIO()
    try:
        # A file of some MB may expand to as many GB; a read of the limit at once would take its memory for any file.
        with gzip.open(io.BytesIO(data)) as file:
            while content.tell() <= MAX_INPUT_BYTES and (part := file.read(1 << 20)):
                content.write(part)
    except (OSError, EOFError, zlib.error) as error:
        problem = f"compressed by gzip, but damaged ({error})"
        raise InputFileError(problem, "download it again", code="file-unreadable") from None
    if content.tell() > MAX_INPUT_BYTES:
        problem = f"more than {MAX_INPUT_BYTES:,} bytes when decompressed"
        raise InputFileError(problem, "use a smaller file", code="file-too-large")
    return content.getvalue()


def text_of(data: bytes) -> str:
    """Return the text of a UTF-8 file, with or without a byte-order mark. Raises InputFileError if it is none."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        position = position_text(data.count(b"\n", 0, error.start) + 1)
        raise InputFileError("not UTF-8", "save it as UTF-8 text", position) from None


def split_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text one by one: a list of short ones needs twenty times the memory of the text."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def numbered_lines(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers, without the characters that end them.

    Raises InputFileError if it is not text, or a line is too long.
    """
    text = text_of(data).replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(split_lines(text), 1):
        if len(line) > MAX_LINE_LENGTH:
            problem = f"a line of {len(line):,} characters"
            raise InputFileError(problem, f"use at most {MAX_LINE_LENGTH:,}", position_text(number))
        yield number, line


def numbered_csv_rows(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file with the numbers of their lines; empty lines and comments (``#``) are left out.

    Raises InputFileError if the file is not text.

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
                remedy = "write commas between short cells"
                raise InputFileError(f"not CSV: {error}", remedy, position_text(number)) from None


def check_columns(number: int, names: list[str], known: Sequence[str]) -> None:
    """Raise InputFileError, with the position, for an unknown or duplicate column of a header."""
    for column, name in enumerate(names, 1):
        if name not in known or names.index(name) != column - 1:
            remedy = suggestion(name, known)
            raise InputFileError("unknown or duplicate column", remedy, position_text(number, column), name)


def check_width(number: int, row: list[str], head: list[str]) -> None:
    """Raise InputFileError, with the line, for a row whose length is not that of the header."""
    if len(row) != len(head):
        problem = f"{len(row)} cells in a table of {len(head)} columns"
        raise InputFileError(problem, "write one cell a column", position_text(number))


Where = str | tuple[int] | tuple[int, int, str]
"""A position in a file: as text, or as the arguments of `position_text`, which is then called for mistakes only."""


def whole(text: object, least: int, most: int, where: Where) -> int:
    """Return a whole number in decimal digits. Raises InputFileError if it is none, or out of range."""
    digits = str(text).strip() if isinstance(text, str | int) else ""
    if _WHOLE.fullmatch(digits) is None or not least <= int(digits) <= most:
        raise InputFileError("not a whole number in range", f"write one from {least} to {most}", _text(where), text)
    return int(digits)


def finite_number(text: str, least: float, most: float, where: Where) -> float:
    """Return a finite number. Raises InputFileError if it is none, or out of range."""
    if _NUMBER.fullmatch(text) is None or not least <= float(text) <= most:
        raise InputFileError("not a number in range", f"write one from {least:g} to {most:g}", _text(where), text)
    return float(text)


def _text(where: Where) -> str:
    return where if isinstance(where, str) else position_text(*where)


@lru_cache(maxsize=16)
def _read_once(
    paths: tuple[Path, ...], changed: tuple[int, ...], reader: Callable[[Path, bytes], T], code: Code
) -> tuple[T, str]:
    path = paths[0]
    try:
        data = read_bytes(path)
        name = path.with_suffix("") if path.suffix == ".gz" else path
        content, digest = reader(name, unpacked(data)), hashlib.sha256(data)
        for beside in paths[1:]:
            digest.update(hashlib.sha256(read_bytes(beside)).digest())
    except InputFileError as mistake:
        raise mistake.at_file_key(path.name, code) from None
    except MemoryError:
        raise InputFileError("larger than the memory", "use a smaller file").at_file_key(path.name, code) from None
    return content, digest.hexdigest()


def read(path: Path, reader: Callable[[Path, bytes], T], code: Code, beside: tuple[Path, ...] = ()) -> tuple[T, str]:
    """Return the result of `reader` for a file, and the SHA-256 of its bytes; read again only if the file changes.

    The file may include those in `beside`, whose digests are part of the result's. Raises ConfigError with the path
    ``file`` and this code if it cannot be read, or `reader` raises InputFileError.
    """
    files = (path, *beside)
    return _read_once(files, tuple(map(changed_ns, files)), reader, code)


def changed_ns(path: Path) -> int:
    """Return the modification time of a file, or -1 if it is missing."""
    try:
        return path.stat().st_mtime_ns
    except (OSError, ValueError):
        return -1


def folder_to_read(value: Any, info: ValidationInfo, derived: tuple[str, ...]) -> Path | None:
    """Return the study's folder if a study names a file in a kind, or None in a stored point.

    `derived` are keys that follow from the file. Raises ConfigError if the study sets one.
    """
    folder = (info.context or {}).get("folder")
    if folder is None or not isinstance(value, dict) or not isinstance(value.get("file"), str):
        return None
    for key in derived:
        if key in value:
            raise ConfigError("unknown key", "leave it out; it is read from the file", (key,), code="unknown-key")
    return Path(folder)


class FromFile(Model):
    """Base of kinds with an input file: its path, which is not part of a point, and its digest, which is."""

    READER: ClassVar[Any]
    """Static function that parses the path and the bytes of a file; raises InputFileError."""

    READERS: ClassVar[Mapping[str, Any]] = {}
    """The same for each value of the key `format`."""

    file: Annotated[str, NoPhysics] = Field(min_length=1, description="the file, relative to the study's folder")
    # A record does not show where a user's studies are.
    folder: SkipJsonSchema[Annotated[str, NoPhysics]] = Field("", exclude=True)
    sha256: SkipJsonSchema[str] = ""

    @classmethod
    def _read_file(cls, path: Path, written: Mapping[str, Any]) -> tuple[Any, str]:
        """Return content and digest; `written` are the keys of the kind, which may be wrong."""
        return read(path, cls.READERS.get(str(written.get("format")), cls.READER), "invalid-data-file")

    @classmethod
    def _facts(cls, content: Any, value: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
        """Return the fields that follow from the content and from the other keys as written; default: none."""
        return {}

    @model_validator(mode="before")
    @classmethod
    def _take_file(cls, value: Any, info: ValidationInfo) -> Any:
        context = info.context or {}
        if isinstance(value, dict) and "files_in" in context:
            return {**value, "folder": context["files_in"]}  # as it was planned
        folder = folder_to_read(value, info, ("folder", "sha256"))
        if folder is None:
            return value
        content, sha256 = cls._read_file(folder / value["file"], value)
        facts = cls._facts(content, value, context)
        folder_to_read(value, info, tuple(facts))
        return {**value, **facts, "folder": str(folder.resolve()), "sha256": sha256}

    def content(self) -> Any:
        """Return the content of the file.

        Raises ConfigError if it is missing or has changed since the study was planned, or the kind was read from a
        record.
        """
        if not self.folder:
            problem = f"the file {self.file} is relative to its study, which this record does not name"
            raise ConfigError(problem, "name the study with --study", code="results-damaged")
        try:
            content, sha256 = self._read_file(Path(self.folder) / self.file, dict(self))
        except ConfigError as error:
            # Without its value, which may be a path: the record of a failure does not show where the study is.
            raise ConfigError(f"the file {self.file}: {error.problem}", error.remedy, code=error.code) from None
        if sha256 != self.sha256:
            problem = f"the file {self.file} has changed since the study was planned"
            raise ConfigError(problem, "run the study again", code="study-changed")
        return content
