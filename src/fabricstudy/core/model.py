"""Base of all models in a study, and the few types that they share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from typing import Annotated, Any

from pydantic import (
    AllowInfNan,
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Strict,
    TypeAdapter,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

from fabricstudy.core.errors import Code, StudyError, combine_errors, extension_location, first_line
from fabricstudy.core.source import extension_digest

# YAML tells numbers, text and true/false apart, so none of them is taken for another.
Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict(), AllowInfNan(False)]
Flag = Annotated[bool, Strict()]


class Model(BaseModel):
    """Immutable model that refuses unknown keys; YAML keys are the aliases, attributes carry units."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, strict=False, defer_build=True)

    @classmethod
    def from_shorthand(cls, value: Any) -> Any:
        """Return the mapping for which a shorter way of writing stands, or `value` itself if it is none.

        Where `kind` tells models apart, a kind's name alone stands for it with its default settings.
        """
        return {"kind": value} if isinstance(value, str) and "kind" in cls.model_fields else value

    def physics(self) -> dict[str, Any]:
        """Return what can change an outcome: `kind`, and whatever differs from its default, but no names.

        Leaving defaults out lets a model get a new key without changing the id of any point that does not use it. What
        an extension adds has the digest of its code, `code`: two extensions may have different kinds of one name.

        Examples
        --------
        >>> from fabricstudy.workload.pattern.stencil import Stencil
        >>> Stencil.model_validate({"message": "1 kB", "iterations": 1, "periodic": True}).physics()
        {'kind': 'stencil', 'message_bytes': 1000, 'periodic': True}
        """
        of_extension = extension_digest(type(self).__module__)
        written = {name: _plain(getattr(self, name), dumped) for name, dumped in self.model_dump(mode="json").items()}
        defaults = _defaults(type(self))
        return ({"code": of_extension} if of_extension else {}) | {
            name: value
            for name, value in written.items()
            if name not in _names(type(self)) and (name == "kind" or name not in defaults or value != defaults[name])
        }


def _plain(value: Any, dumped: Any) -> Any:
    """Return the physics of models within a value, and other values as they were dumped."""
    if isinstance(value, Model):
        return value.physics()
    if isinstance(value, tuple) and any(isinstance(item, Model) for item in value):
        return [_plain(item, dumped_item) for item, dumped_item in zip(value, dumped, strict=True)]
    return dumped


@cache
def _names(model: type[Model]) -> frozenset[str]:
    return frozenset(name for name, field in model.model_fields.items() if NoPhysics in field.metadata)


@cache
def _defaults(model: type[Model]) -> dict[str, Any]:
    """Return the defaults of a model's fields as `Model.physics` writes values."""
    defaults = {}
    for name, field in model.model_fields.items():
        if not field.is_required():
            annotation: Any = field.annotation
            kind: TypeAdapter[Any] = TypeAdapter(
                Annotated[annotation, *field.metadata] if field.metadata else annotation
            )
            default = field.get_default(call_default_factory=True)
            default = kind.validate_python(default) if field.validate_default else default
            defaults[name] = _plain(default, kind.dump_python(default, mode="json"))
    return defaults


NoPhysics = "a name, or a way to run, which changes no outcome"
"""Marks a field that is no part of a point's physics."""


class ConfigError(ValueError):
    """What is wrong with a value: problem, remedy, and where below the value; the file joins later.

    Parameters
    ----------
    problem, remedy : str
        As in `fabricstudy.core.errors.StudyError`.
    path : tuple of str
        Keys from the validated value to the offending one.
    value : object, optional
        The offending value.
    code : str
        As in `fabricstudy.core.errors.StudyError`.
    others : sequence of ConfigError
        Further mistakes below the same value, each without `others` of its own.
    """

    def __init__(
        self,
        problem: str,
        remedy: str,
        path: tuple[str, ...] = (),
        value: object = None,
        code: Code = "invalid-value",
        others: Sequence[ConfigError] = (),
    ) -> None:
        self.problem, self.remedy, self.path, self.value, self.code = problem, remedy, path, value, code
        self.others = tuple(others)
        super().__init__(f"{problem}; {remedy}")

    def each(self) -> tuple[ConfigError, ...]:
        """Return this mistake, and those that were found together with it."""
        return (self, *self.others)

    def below(self, *keys: str) -> ConfigError:
        """Return the same mistakes as seen from further above, where `keys` lead to the value."""
        others = [error.below(*keys) for error in self.others]
        return ConfigError(**vars(self) | {"path": (*keys, *self.path), "others": others})

    @staticmethod
    def of_extension(error: Exception) -> ConfigError:
        """Return what an extension of the study raised as a mistake at its kind; raise what is none of an extension."""
        place = extension_location(error)
        if place is None:
            raise error
        problem = f"{PurePath(place[0]).name}, line {place[1]}: {first_line(error)}"
        return ConfigError(problem, "fix the extension there", code="extension")

    def in_study(self, file: str | None = None) -> StudyError:
        """Return the same mistakes as those of a study file."""
        others = [error.in_study(file) for error in self.others]
        return StudyError(**vars(self) | {"file": file, "path": ".".join(self.path) or None, "others": others})


def check_all(checks: Iterable[Callable[[], object]]) -> None:
    """Run all checks, and refuse everything that they refuse at once.

    Raises StudyError without the name of the file.
    """
    mistakes = []
    for check in checks:
        try:
            check()
        except ConfigError as error:
            mistakes.append(error.in_study())
        except StudyError as error:
            mistakes.append(error)
    if mistakes:
        raise combine_errors(mistakes)


@dataclass(frozen=True)
class Name:
    """Restricts a text to `pattern`; `rule` says the pattern in words, but for its length."""

    pattern: str
    rule: str
    longest: int = 64

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check the text after pydantic's own checks."""
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the text by its pattern."""
        return {"type": "string", "pattern": f"^{self.pattern}$"}

    def check(self, value: str) -> str:
        """Return `value` back if it matches.

        Raises
        ------
        ConfigError
            If it does not.
        """
        if len(value) > self.longest:
            remedy = f"take at most {self.longest}"
            raise ConfigError(f"the name has {len(value)} characters", remedy, value=value, code="out-of-range")
        if re.fullmatch(self.pattern, value) is None:
            raise ConfigError("not a name that can be used here", self.rule, value=value, code="invalid-name")
        return value


@dataclass(frozen=True)
class OrList:
    """Says in the schema that a list may stand for a mapping, where a validator writes it out."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe both ways of writing."""
        return {"anyOf": [handler(schema), {"type": "array", "minItems": 1}]}


class QuantityOrMapping(Model):
    """A model for which one quantity may stand; `from_shorthand` says what it then is."""

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, value: Any) -> Any:
        return cls.from_shorthand(value)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe both ways of writing."""
        return {"anyOf": [{"type": "string"}, handler(schema)]}


@dataclass(frozen=True)
class Written:
    """How a value is written, for the documentation, where its type does not tell."""

    words: str
