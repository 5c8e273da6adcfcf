"""Dotted paths into a study, such as ``jobs.*.pattern.message``: keys and list positions, ``*`` for every position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.errors import suggestion
from fabricstudy.core.kinds import members_of
from fabricstudy.core.model import ConfigError, Model

_SEED = "seed"
"""The key of repetitions: it is set by `seeds`, and no path leads to it."""


@dataclass(frozen=True)
class PathStep:
    """One key of a path; `owners` are the models that have it, each with the models that its value may be."""

    key: str
    in_list: bool
    owners: dict[type[Model], list[type[Model]]] = field(default_factory=dict)


@dataclass(frozen=True)
class DottedPath:
    """A path that some study could have."""

    text: str
    steps: tuple[PathStep, ...]

    @property
    def root(self) -> str:
        """The first key, which is a part of the study."""
        return self.steps[0].key

    def covers(self, other: DottedPath) -> bool:
        """Return whether setting this path overwrites all that setting `other` does."""
        pairs = zip(self.steps, other.steps, strict=False)
        return len(self.steps) <= len(other.steps) and all(a.key in ("*", b.key) for a, b in pairs)

    def touches(self, keys: tuple[str, ...]) -> bool:
        """Return whether this path and the concrete path `keys` lead to each other."""
        pairs = zip(self.steps, keys, strict=False)
        return all(step.key == key or (step.in_list and step.key == "*") for step, key in pairs)


def model_of(value: Any, models: Sequence[type[Model]]) -> type[Model]:
    """Return the model of a value by its `kind`; the first one if none has this kind."""
    written = models[0].from_shorthand(value)
    kind = written.get("kind") if isinstance(written, dict) else written
    with_kind = (model for model in models if "kind" in model.model_fields)
    named = (model for model in with_kind if kind in get_args(model.model_fields["kind"].annotation))
    return next(named, models[0])


def fields_of(model: type[Model]) -> dict[str, FieldInfo]:
    """Return the fields that a study file may set, by their key."""
    return {
        field.alias or name: field
        for name, field in model.model_fields.items()
        if not any(isinstance(mark, SkipJsonSchema) for mark in field.metadata)  # type: ignore[misc]
    }


@lru_cache(maxsize=4096)
def parse_path(text: str, root: type[Model]) -> DottedPath:
    """Parse a dotted path. Raises ConfigError if no study could have it.

    Examples
    --------
    >>> from fabricstudy.engine.point import Point
    >>> parse_path("jobs.*.mapping.kind", Point).root
    'jobs'
    """
    steps: list[PathStep] = []
    info: FieldInfo | None = None
    models, keys = [root], text.split(".")
    for number, key in enumerate(keys):
        here = ".".join(keys[:number])
        if info is not None and _is_list(info.annotation):
            if key != "*" and not (key.isascii() and key.isdigit()):
                remedy = f"add a position from 0, or * for all: {here}.*"
                raise ConfigError(f"'{here}' is a list", remedy, value=text, code="unknown-name")
            steps.append(PathStep(key, True))
            info = None
            continue
        allowed = [key for model in models for key in fields_of(model) if number or key != _SEED]
        if not allowed:
            problem = f"'{here}' is a single value and has no part '{key}'"
            raise ConfigError(problem, f"write '{here}'", value=text, code="unknown-name")
        if key not in allowed:
            problem = f"no such path: there is no '{key}'" + (f" in '{here}'" if here else "")
            raise ConfigError(problem, suggestion(key, allowed), value=text, code="unknown-name")
        fields = {model: fields_of(model)[key] for model in models if key in fields_of(model)}
        # The models at the end of a path are not needed, and may be many kinds to import.
        ends = number == len(keys) - 1
        owners = {model: [] if ends else members_of(info.annotation) for model, info in fields.items()}
        steps.append(PathStep(key, False, owners))
        info = next(iter(fields.values()))
        models = list(dict.fromkeys(member for below in owners.values() for member in below))
    return DottedPath(text, tuple(steps))


def _is_list(annotation: Any) -> bool:
    if get_origin(annotation) is tuple:
        return True
    return any(_is_list(part) for part in get_args(annotation) if get_origin(annotation) is not dict)


def set_at_path(node: Any, path: DottedPath, value: Any, depth: int = 0, allowed: Sequence[type[Model]] = ()) -> Any:
    """Return a copy of `node` with `value` at `path`; everything else is shared.

    `node` is at the step `depth` of the path, and has one of the models `allowed`. Raises ConfigError if a list has no
    such position.
    """
    if depth == len(path.steps):
        return value
    step = path.steps[depth]
    if step.in_list:
        items = list(node) if isinstance(node, list) else []
        if step.key != "*" and int(step.key) >= len(items):
            problem = f"there is no position {step.key} in a list of {len(items)}"
            raise ConfigError(problem, "count from 0", value=path.text, code="unknown-name")
        for index in range(len(items)) if step.key == "*" else (int(step.key),):
            items[index] = set_at_path(items[index], path, value, depth + 1, allowed)
        return items
    owner = model_of(node, [model for model in step.owners if model in allowed] or list(step.owners))
    node = owner.from_shorthand(node)
    copy = dict(node) if isinstance(node, dict) else {}
    copy[step.key] = set_at_path(copy.get(step.key), path, value, depth + 1, step.owners[owner])
    return copy
