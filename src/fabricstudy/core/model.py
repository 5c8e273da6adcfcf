"""Base of all models in a study, and the few types that they share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps
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

from fabricstudy.core.errors import ConfigError as ConfigError
from fabricstudy.core.errors import combine_errors
from fabricstudy.core.source import extension_digest

# YAML distinguishes numbers, text and true/false, so values are not converted.
Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict(), AllowInfNan(False)]
Flag = Annotated[bool, Strict()]


class Model(BaseModel):
    """Immutable model that refuses unknown keys; YAML keys are the aliases, attributes carry units."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, strict=False, defer_build=True)

    @classmethod
    def from_shorthand(cls, value: Any) -> Any:
        """Return the mapping that a shorthand stands for, or `value` itself if it is none.

        Where `kind` selects a model, the name of a kind alone stands for it with its default settings.
        """
        return {"kind": value} if isinstance(value, str) and "kind" in cls.model_fields else value

    def physics(self) -> dict[str, Any]:
        """Return what can change an outcome: `kind`, and what differs from its default, without names.

        A model can so get a new key without changing the id of points that do not set it. A kind of an extension also
        has the digest of its code, `code`, since two extensions may define kinds of the same name.

        Examples
        --------
        >>> from fabricstudy.workload.pattern.stencil import Stencil
        >>> Stencil.model_validate({"message": "1 kB", "iterations": 1, "periodic": True}).physics()
        {'kind': 'stencil', 'message_bytes': 1000, 'periodic': True}
        """
        model = type(self)
        code_digest = extension_digest(model.__module__)
        values = {name: _plain(getattr(self, name), dumped) for name, dumped in self.model_dump(mode="json").items()}
        defaults = _defaults(model)
        return ({"code": code_digest} if code_digest else {}) | {
            name: value
            for name, value in values.items()
            if name not in _names(model) and (name not in defaults or value != defaults[name])
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
    """Return the defaults of a model's fields, but for its kind, as `Model.physics` writes values."""
    defaults = {}
    for name, field in model.model_fields.items():
        if name != "kind" and not field.is_required():
            annotation: Any = field.annotation
            adapter = TypeAdapter[Any](Annotated[annotation, *field.metadata] if field.metadata else annotation)
            default = field.get_default(call_default_factory=True)
            default = adapter.validate_python(default) if field.validate_default else default
            defaults[name] = _plain(default, adapter.dump_python(default, mode="json"))
    return defaults


NoPhysics = "a name, or a way to run, which changes no outcome"
"""Marks a field that is not part of a point's physics."""


@contextmanager
def at_path(*keys: str, file: str | None = None) -> Iterator[None]:
    """Prepend `keys` to the path of a ConfigError that is raised in this context, and name its `file`."""
    try:
        yield
    except ConfigError as error:
        raise error.below(*keys, file=file) from None


def model_check(check: Callable[[Any], None]) -> Any:
    """Decorate a method that checks the fields of a model together, once each of them is valid."""

    @wraps(check)
    def checked(model: Any) -> Any:
        check(model)
        return model

    return model_validator(mode="after")(checked)


def check_all(checks: Iterable[Callable[[], object]]) -> None:
    """Run all checks and raise all of their mistakes as one."""
    mistakes = []
    for check in checks:
        try:
            check()
        except ConfigError as error:
            mistakes.append(error)
    if mistakes:
        raise combine_errors(mistakes)


@dataclass(frozen=True)
class Name:
    """Restricts a text to `pattern`, which `rule` describes for the user."""

    pattern: str
    rule: str
    longest: int = 64

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^{self.pattern}$"}

    def check(self, value: str) -> str:
        """Return `value`. Raises ConfigError if it does not match."""
        if len(value) > self.longest:
            problem = f"the name has {len(value)} characters"
            raise ConfigError(problem, f"use at most {self.longest}", value=value, code="out-of-range")
        if re.fullmatch(self.pattern, value) is None:
            raise ConfigError("invalid name", self.rule, value=value, code="invalid-name")
        return value


@dataclass(frozen=True)
class OrList:
    """States in the schema that a list may stand for a mapping, where a validator expands it."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [handler(schema), {"type": "array", "minItems": 1}]}


class QuantityOrMapping(Model):
    """A model for which one quantity may stand, which `from_shorthand` expands."""

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, value: Any) -> Any:
        return cls.from_shorthand(value)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, handler(schema)]}


@dataclass(frozen=True)
class Written:
    """How the reference describes a value whose type is not enough."""

    words: str
