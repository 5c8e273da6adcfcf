"""Repetitions of the points of an experiment: a number, a list, or as many as a precision or a decision needs."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from fabricstudy.core.model import ConfigError, Model, Whole, Written, model_check
from fabricstudy.core.quantities import Duration

MAX_SEEDS = 10_000
DECIDED = "decided"


def read_percent(value: Any) -> Any:
    """Return a share that is written in percent."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*", value) if isinstance(value, str) else None
    if match is None or not 0.01 <= float(match[1]) <= 50:
        raise ConfigError("not a share", "write 0.01 to 50 %, such as 2 %", value=value, code="invalid-value")
    return float(match[1]) / 100


def _precision(value: Any) -> Any:
    return value if value == DECIDED else read_percent(value)


def _cpu_time(value: Any) -> Any:
    return value.replace("CPU-", "") if isinstance(value, str) else value


class Seeds(Model):
    """Seeds of each combination of values.

    With `until`, each combination has `from` seeds first, and up to `to` seeds if its result is not precise or not
    decided then. Both stages are jobs of the workflow; the second one simulates only what is needed.
    """

    listed: Annotated[tuple[Whole, ...], Written("list of whole numbers")] = Field(
        (), alias="list", description="the seeds; [1, 2, 3] is short for {list: [1, 2, 3]}, 3 for {list: [1, 2, 3]}"
    )
    first: Whole = Field(0, alias="from", ge=2, le=MAX_SEEDS, description="seeds of the first stage: 1, 2, ...")
    most: Whole = Field(0, alias="to", ge=2, le=MAX_SEEDS, description="most seeds of a combination")
    until: Annotated[float | str, BeforeValidator(_precision), Written("such as 2 %, or decided")] = Field(
        DECIDED,
        description="2 %: half width of the 95 % interval of the geometric mean of the runtime; decided: no claim and "
        "no order of the values of the axes in `decide` is undecided",
    )
    decide: tuple[str, ...] = Field((), description="axes whose values are ordered by runtime, all else equal")
    budget_cpu_s: Annotated[Duration | None, BeforeValidator(_cpu_time)] = Field(
        None, alias="budget", description="processor time of the second stage, such as 2 CPU-hours; default: no limit"
    )

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, value: Any) -> Any:
        if isinstance(value, dict | Seeds):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            if not 1 <= value <= MAX_SEEDS:
                remedy = f"write 1 to {MAX_SEEDS}, or a list of seeds"
                raise ConfigError("not a number of seeds", remedy, code="invalid-value")
            return {"list": range(1, value + 1)}
        if not isinstance(value, list | tuple) or not value:
            remedy = "write a number like 3, a list like [1, 2, 3], or {from: 5, to: 30, until: 2 %}"
            raise ConfigError("not a number of seeds", remedy, code="invalid-value")
        return {"list": value}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        listed = {"type": "array", "items": {"type": "integer"}}
        return {"anyOf": [{"type": "integer"}, listed, handler(schema)]}

    @model_check
    def _keys_fit(self) -> None:
        adaptive = self.model_fields_set - {"listed"}
        if self.listed and adaptive:
            raise ConfigError("a list with a rule", "write either list, or from, to and until", code="conflicting-keys")
        if not self.listed and not {"first", "most", "until"} <= adaptive:
            remedy = "write {from: 5, to: 30, until: 2 %}"
            raise ConfigError("a rule needs from, to and until", remedy, code="missing-key")
        for number, seed in enumerate(self.listed):
            if not 0 <= seed < 2**31:
                remedy = "use whole numbers from 0 to 2147483647"
                raise ConfigError("not a seed", remedy, (str(number),), seed, "invalid-value")
            if seed in self.listed[:number]:
                raise ConfigError("duplicate seed", "list each seed once", (str(number),), seed, "invalid-value")
        if self.most < self.first:
            raise ConfigError("fewer seeds than from", f"use {self.first} or more", ("to",), self.most, "out-of-range")
        if self.decide and self.until != DECIDED:
            raise ConfigError(
                "a precision orders no axis", f"write until: {DECIDED}", ("decide",), code="conflicting-keys"
            )

    @property
    def all(self) -> tuple[int, ...]:
        """Seeds that a combination may have; the first stage has the first ones."""
        return self.listed or tuple(range(1, self.most + 1))

    @property
    def most_estimated(self) -> int:
        """Seeds up to which the number that is needed is estimated."""
        return 10 * self.most

    @property
    def is_adaptive(self) -> bool:
        """Whether results decide how many seeds a combination has."""
        return self.most > self.first
