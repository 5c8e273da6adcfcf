"""Dotted paths into a study: what they may name, and setting what they name.

A path such as ``jobs.*.pattern.message`` goes through keys and list positions; ``*`` means every position.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic.json_schema import SkipJsonSchema

from .base import ConfigError, Model, members_of

ROOTS = ("machine", "routing", "jobs", "network", "engine")
"""Parts of a study that a path may begin with."""


@dataclass(frozen=True)
class Step:
    """One key of a path, and how to expand a shorter way of writing the mapping that holds it."""

    key: str
    in_list: bool
    expand: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Path:
    """A path that some study could have."""

    text: str
    steps: tuple[Step, ...]

    @property
    def root(self) -> str:
        """The part of the study it belongs to."""
        return self.steps[0].key

    def covers(self, other: Path) -> bool:
        """Tell whether setting this path replaces all that setting `other` did."""
        pairs = zip(self.steps, other.steps, strict=False)
        return len(self.steps) <= len(other.steps) and all(a.key in ("*", b.key) for a, b in pairs)

    def touches(self, keys: tuple[str, ...]) -> bool:
        """Tell whether the path and the concrete path `keys` lie on one line."""
        pairs = zip(self.steps, keys, strict=False)
        return all(step.key == key or (step.in_list and step.key == "*") for step, key in pairs)


def fields_of(model: type[Model]) -> dict[str, FieldInfo]:
    """Give the fields that a study file may set, by their key in the file."""
    return {
        field.alias or name: field
        for name, field in model.model_fields.items()
        if not any(isinstance(mark, SkipJsonSchema) for mark in field.metadata)  # type: ignore[misc]
    }


def suggestion(wrong: object, known: Iterable[str]) -> str:
    """Say what was probably meant, and what there is."""
    options = sorted(known)
    close = difflib.get_close_matches(str(wrong), options, 1, 0.6)
    listed = ", ".join(options[:20]) + (", ..." if len(options) > 20 else "")
    return (f"did you mean '{close[0]}'? " if close else "") + f"known: {listed}"


def find_path(text: str, root: type[Model]) -> Path:
    """Read a dotted path.

    Raises
    ------
    ConfigError
        If no study could have the path.

    Examples
    --------
    >>> from fabricstudy.study.point import Point
    >>> find_path("jobs.*.mapping.kind", Point).root
    'jobs'
    """
    steps: list[Step] = []
    field: FieldInfo | None = None
    models = [root]
    for number, key in enumerate(text.split(".")):
        here = ".".join(text.split(".")[:number])
        if field is not None and _is_list(field.annotation):
            if key != "*" and not (key.isascii() and key.isdigit()):
                raise ConfigError(
                    f"'{here}' is a list", f"go on with a position from 0, or * for all: {here}.*", value=text
                )
            steps.append(Step(key, True))
            field = None
            continue
        known = _keys(models, only_roots=number == 0)
        if not known:
            raise ConfigError(f"'{here}' is a single value and has no part '{key}'", f"take '{here}'", value=text)
        if key not in known:
            where = f" in '{here}'" if here else ""
            raise ConfigError(f"no such path: there is no '{key}'{where}", suggestion(key, known), value=text)
        owner = next(model for model in models if key in fields_of(model))
        steps.append(Step(key, False, owner.from_shorthand))
        field = fields_of(owner)[key]
        models = [
            m for model in models if key in fields_of(model) for m in members_of(fields_of(model)[key].annotation)
        ]
    return Path(text, tuple(steps))


def _keys(models: list[type[Model]], only_roots: bool) -> list[str]:
    return [key for model in models for key in fields_of(model) if not only_roots or key in ROOTS]


def _is_list(annotation: Any) -> bool:
    if get_origin(annotation) is tuple:
        return True
    return any(_is_list(part) for part in get_args(annotation) if get_origin(annotation) is not dict)


def put(node: Any, path: Path, value: Any) -> Any:
    """Give a copy of `node` in which `path` holds `value`; what is not on the path is shared.

    Raises
    ------
    ConfigError
        If a list has no such position.
    """
    return _put(node, path, 0, value)


def _put(node: Any, path: Path, depth: int, value: Any) -> Any:
    if depth == len(path.steps):
        return value
    step = path.steps[depth]
    if step.in_list:
        items = list(node) if isinstance(node, list) else []
        if step.key != "*" and int(step.key) >= len(items):
            raise ConfigError(
                f"there is no position {step.key} in a list of {len(items)}", "count from 0", value=path.text
            )
        for index in range(len(items)) if step.key == "*" else (int(step.key),):
            items[index] = _put(items[index], path, depth + 1, value)
        return items
    if step.expand is not None:
        node = step.expand(node)
    copy = dict(node) if isinstance(node, dict) else {}
    copy[step.key] = _put(copy.get(step.key), path, depth + 1, value)
    return copy


def get(node: Any, path: Path) -> Any:
    """Give what stands at `path`, for ``*`` the value that all positions share, or None."""
    return _get(node, path.steps)


def _get(node: Any, steps: tuple[Step, ...]) -> Any:
    if not steps:
        return node
    step, rest = steps[0], steps[1:]
    if step.in_list:
        items = node if isinstance(node, list) else []
        chosen = items if step.key == "*" else items[int(step.key) : int(step.key) + 1]
        values = [_get(item, rest) for item in chosen]
        return values[0] if values and all(value == values[0] for value in values) else None
    if step.expand is not None:
        node = step.expand(node)
    return _get(node.get(step.key), rest) if isinstance(node, dict) else None
