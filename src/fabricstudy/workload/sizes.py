"""Distributions of message sizes: what `message` of a pattern may be instead of one size."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Discriminator, Field, Tag, ValidationInfo, WithJsonSchema, model_validator

from fabricstudy.core import input_files
from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.core.input_files import InputFileError, finite_number, position_text, whole
from fabricstudy.core.kinds import Kind
from fabricstudy.core.model import ConfigError, Flag, NoPhysics, Number, Written, model_check
from fabricstudy.core.quantities import Size
from fabricstudy.core.returned import Returned

MAX_BYTES = 2**31 - 1
"""Largest message that engines accept; larger draws are cut to it."""

MAX_ROWS = 10_000
"""Maximum rows of a table, which are part of the point."""


class MessageSizes(Kind, family="message sizes"):
    """A distribution of message sizes, from which each message of a job draws its size independently, by seed."""

    def mean_bytes(self) -> float:
        """Return the mean of the distribution."""
        raise NotImplementedError

    def quantiles(self, shares: Floats) -> Floats:
        """Return the sizes that these shares of the messages, from 0 to below 1, do not exceed; float64 [shares]."""
        raise NotImplementedError

    def inverse(self) -> Floats:
        """Return the inverse distribution function as rows in which it is linear; float64 [rows, 3].

        A row has the share of the messages at its end, and the sizes at both ends. Here the rows are dense in the
        tails: steps of 1/64 of a standard normal variable.
        """
        from scipy.special import ndtr

        shares = ndtr(np.arange(-8 * 64, 8 * 64 + 1) / 64)
        shares[0], shares[-1] = 0.0, np.nextafter(1.0, 0.0)
        sizes = self._sizes_at(shares).clip(1, MAX_BYTES)
        shares[-1] = 1.0
        return np.stack([shares[1:], sizes[:-1], sizes[1:]], axis=1)

    def __int__(self) -> int:
        """Return the mean in whole bytes, of which costs are predicted."""
        returned = Returned(self, "mean_bytes")
        with returned.time_limit():
            (mean_bytes,) = returned.floats([self.mean_bytes()], "means", 1)
        return max(1, round(float(mean_bytes)))

    def _sizes_at(self, shares: Floats) -> Floats:
        returned = Returned(self, "quantiles")
        with returned.time_limit():
            return returned.floats(self.quantiles(shares), "sizes", len(shares))

    def draw(self, messages: int, rng: np.random.Generator) -> Ints:
        """Return the sizes of messages in whole bytes, at least 1; int64 [messages]."""
        return np.rint(self._sizes_at(rng.random(messages))).clip(1, MAX_BYTES).astype(np.int64)


class UniformMessageSizes(MessageSizes, kind="uniform"):
    """All whole sizes from `least` to `most` are equally likely."""

    least_bytes: Size = Field(alias="least", description="least size")
    most_bytes: Size = Field(alias="most", description="largest size")

    @model_check
    def _in_order(self) -> None:
        if self.least_bytes > self.most_bytes:
            raise ConfigError("the least size is above the largest", "swap the two", ("least",), code="out-of-range")

    def mean_bytes(self) -> float:
        return float(self.least_bytes + self.most_bytes) / 2

    def quantiles(self, shares: Floats) -> Floats:
        sizes: Floats = np.floor(self.least_bytes + shares * (self.most_bytes - self.least_bytes + 1))
        return sizes

    def inverse(self) -> Floats:
        return np.array([[1.0, self.least_bytes - 0.5, min(self.most_bytes, MAX_BYTES) + 0.5]])


class LognormalMessageSizes(MessageSizes, kind="lognormal"):
    """The logarithm of the size is normally distributed, with the standard deviation `sigma`."""

    mean: Size = Field(description="mean of the sizes, not of their logarithms")
    sigma: Number = Field(gt=0, le=4, description="standard deviation of the natural logarithm of the size")

    def mean_bytes(self) -> float:
        return float(self.mean)

    def quantiles(self, shares: Floats) -> Floats:
        from scipy.special import ndtri

        sizes: Floats = self.mean * np.exp(self.sigma * ndtri(shares) - self.sigma**2 / 2)
        return sizes


class MessageSizeTable(MessageSizes, kind="table"):
    """An empirical distribution: sizes, each with the share of the messages that are not larger.

    Between two rows the share grows linearly, at the beginning from 0 bytes; with `steps` only the sizes of the rows
    occur. The rows are in `cdf`, or in a text or CSV `file`: bytes and share, or per cent, in each line, as in files of
    web search (DCTCP) and data mining (VL2) that simulators of data centers share. The rows are part of the point.

    References
    ----------
    Alizadeh et al.: Data center TCP (DCTCP). SIGCOMM 2010, doi:10.1145/1851182.1851192.
    Greenberg et al.: VL2: a scalable and flexible data center network. SIGCOMM 2009, doi:10.1145/1592568.1592576.
    """

    cdf: Annotated[
        tuple[tuple[Size, Annotated[Number, Field(ge=0, le=1)]], ...],
        BeforeValidator(lambda value: tuple(value.items()) if isinstance(value, dict) else value),
        Written("{size: share}"),
        WithJsonSchema({"type": "object", "additionalProperties": {"type": "number"}}),
    ] = Field((), max_length=MAX_ROWS, description="share of the messages up to each size; the last is 1")
    file: Annotated[str | None, NoPhysics] = Field(
        None, description="file of the rows, relative to the study's folder, instead of cdf"
    )
    steps: Flag = Field(False, description="only the sizes of the rows occur, none in between")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any, info: ValidationInfo) -> Any:
        folder = input_files.folder_to_read(value, info, derived=("cdf",))
        if folder is None:
            return value
        rows = input_files.read(folder / value["file"], _rows, "invalid-data-file")[0]
        return {**value, "cdf": tuple((f"{size} B", share) for size, share in rows)}

    @model_check
    def _grows(self) -> None:
        sizes, shares = self._ends()
        if not self.cdf or np.any(np.diff(sizes) <= 0) or np.any(np.diff(shares) < 0) or shares[-1] != 1:
            problem = "sizes and shares do not grow from row to row up to the share 1"
            raise ConfigError(problem, "write them like {1 kB: 0.5, 1 MB: 1}", ("cdf",), code="out-of-range")

    def _ends(self) -> tuple[Floats, Floats]:
        """Return sizes and shares, from the share 0 on."""
        starts = [] if self.cdf and self.cdf[0][1] == 0 else [(0, 0.0)]
        sizes, shares = np.array([*starts, *self.cdf], dtype=np.float64).T
        return sizes, shares

    def inverse(self) -> Floats:
        sizes, shares = self._ends()
        rows = np.stack([shares[1:], sizes[1:] if self.steps else sizes[:-1], sizes[1:]], axis=1)
        return rows[np.diff(shares) > 0]

    def mean_bytes(self) -> float:
        sizes, shares = self._ends()
        of_rows = sizes[1:] if self.steps else (sizes[1:] + sizes[:-1]) / 2
        return float(np.diff(shares) @ of_rows)

    def quantiles(self, shares: Floats) -> Floats:
        sizes, ends = self._ends()
        return sizes[np.searchsorted(ends, shares, side="right")] if self.steps else np.interp(shares, ends, sizes)


def _rows(path: Path, data: bytes) -> list[tuple[int, float]]:
    """Return the rows of a file with shares from 0 to 1; a last share of 100 says that they are per cent."""
    rows = []
    for number, line in input_files.numbered_lines(data):
        words = line.replace(",", " ").split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2:
            raise InputFileError(f"{len(words)} numbers", "write bytes and share", position_text(number))
        rows.append((whole(words[0], 0, MAX_BYTES, (number,)), finite_number(words[1], 0, 100, (number,))))
    unit = 100 if rows and rows[-1][1] == 100 else 1
    # The first row may say that no message has 0 bytes.
    return [(size, share / unit) for size, share in rows[rows[:1] == [(0, 0.0)] :]]


SizeOrSizes = Annotated[
    Annotated[Size, Tag("size")] | Annotated[MessageSizes, Tag("sizes")],
    Discriminator(lambda value: "sizes" if isinstance(value, dict | MessageSizes) else "size"),
    Written("quantity in byte, like `100 kB`, or a distribution by its kind"),
]
"""One size, or a distribution; `int` returns the size or the mean."""
