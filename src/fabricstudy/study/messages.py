"""Pydantic's errors as plain sentences, with paths as the user wrote them."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from .base import Broken, Model, members_of
from .paths import fields_of, suggestion

_NOT_A = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
}
_BOUNDS = {
    "greater_than": ("gt", "too small", "take a value above"),
    "greater_than_equal": ("ge", "too small", "take at least"),
    "less_than": ("lt", "too large", "take a value below"),
    "less_than_equal": ("le", "too large", "take at most"),
}
_EXAMPLES = {
    "a whole number": "write digits only, like 4",
    "a number": "write it like 0.5",
    "a finite number": "write a number such as 1",
    "true or false": "write true or false",
    "text": "write text, in quotes if it looks like a number",
    "a list": "write it like [1, 2]",
    "a mapping of keys to values": "write it like {key: value}",
}


class Mistake(Exception):
    """One thing wrong with a value: problem, remedy, path below the value, and the offending part of it."""

    def __init__(self, problem: str, remedy: str, path: tuple[str, ...], value: object) -> None:
        self.problem, self.remedy, self.path, self.value = problem, remedy, path, value
        super().__init__(problem)


def mistake(error: ValidationError, raw: Any, model: Any) -> Mistake:
    """Tell the first error about `raw` in plain words.

    Parameters
    ----------
    error : ValidationError
        What pydantic said.
    raw : object
        The value as read from the file.
    model : type
        Model or annotated union that was asked for.
    """
    details = sorted(error.errors(include_url=False), key=_rank)
    first = details[0]
    path = _written(first["loc"], raw)
    problem, remedy, below, value = _explain(first, path, raw, model)
    others = len({detail["loc"] for detail in details}) - 1
    if others:
        remedy += f" (and {others} more mistake{'s' if others > 1 else ''})"
    return Mistake(problem, remedy, (*path, *below), value)


def _rank(detail: ErrorDetails) -> int:
    # A misspelt key is also a missing one; the misspelling is what the user has to see.
    return {"extra_forbidden": 0, "missing": 2}.get(detail["type"], 1)


def _written(location: tuple[int | str, ...], raw: Any) -> tuple[str, ...]:
    """Drop what pydantic adds to a location: names of union members, and what a shorthand stands for."""
    path: list[str] = []
    for number, key in enumerate(location):
        last = number == len(location) - 1
        if isinstance(raw, dict):
            if key in raw:
                raw = raw[key]
            elif key == "[key]" or not last or str(raw.get("kind")) == key:
                continue
        elif isinstance(raw, list | tuple) and isinstance(key, int) and key < len(raw):
            raw = raw[key]
        else:
            break
        path.append(str(key))
    return tuple(path)


def _at(raw: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if isinstance(raw, dict):
            raw = next((value for name, value in raw.items() if str(name) == key), None)
        elif isinstance(raw, list | tuple):
            raw = raw[int(key)]
    return raw


def _model_at(path: tuple[str, ...], raw: Any, annotation: Any) -> type[Model] | None:
    """Find the model that describes the mapping at `path`."""
    for number, key in enumerate((*path, None)):
        members = members_of(annotation)
        if key is None:
            return _chosen(members, _at(raw, path))
        if key.isdigit():
            continue
        chosen = _chosen(members, _at(raw, path[:number]))
        fields = fields_of(chosen) if chosen else {}
        if key in fields:
            annotation = fields[key].annotation
    return None


def _chosen(members: list[type[Model]], raw: Any) -> type[Model] | None:
    kind = raw.get("kind") if isinstance(raw, dict) else raw
    named = [m for m in members if "kind" in m.model_fields and kind in getattr(m.model_fields["kind"].annotation, "__args__", ())]
    return (named or members or [None])[0]


def _explain(
    detail: ErrorDetails, path: tuple[str, ...], raw: Any, model: Any
) -> tuple[str, str, tuple[str, ...], object]:
    kind, context, value = detail["type"], detail.get("ctx", {}), _at(raw, path)
    shown = value if not isinstance(value, dict | list | tuple) else None
    if kind == "extra_forbidden":
        owner = _model_at(path[:-1], raw, model)
        return "unknown key", suggestion(path[-1], fields_of(owner) if owner else ()), (), path[-1]
    if kind == "missing":
        owner = _model_at(path[:-1], raw, model)
        field = fields_of(owner).get(path[-1]) if owner else None
        about = f" ({field.description})" if field is not None and field.description else ""
        return f"the key '{path[-1]}' is missing", f"add {path[-1]}: ...{about}", (), None
    if kind == "union_tag_not_found":
        known = _expected(members_kinds(path, raw, model))
        return "the key 'kind' is missing", f"add kind: one of {known}", ("kind",), None
    if kind == "union_tag_invalid":
        names = re.findall(r"'([^']*)'", str(context.get("expected_tags")))
        below = ("kind",) if isinstance(value, dict) else ()
        return "unknown kind", suggestion(context.get("tag"), names), below, context.get("tag")
    if kind == "literal_error":
        names = re.findall(r"'([^']*)'", str(context.get("expected")))
        return "not one of the possible values", suggestion(value, names), (), value
    if kind in _BOUNDS:
        name, problem, remedy = _BOUNDS[kind]
        return problem, f"{remedy} {context[name]}", (), shown
    if kind in _NOT_A:
        wanted = _NOT_A[kind]
        return f"not {wanted}", _EXAMPLES[wanted], (), "nothing" if value is None else value
    if kind == "too_short":
        return "too few entries", f"give at least {context['min_length']}", (), value
    if kind == "too_long":
        return f"{context.get('actual_length')} entries are too many", f"give at most {context['max_length']}", (), None
    if kind == "string_too_short":
        return "an empty text", "write something", (), value
    if kind == "string_too_long":
        return "too long a text", f"use at most {context['max_length']} characters", (), value
    if kind == "value_error":
        return _own(context["error"], shown)
    return detail["msg"].rstrip("."), "see configs/README.md", (), shown


def members_kinds(path: tuple[str, ...], raw: Any, model: Any) -> list[str]:
    """Give the kinds that may stand at `path`."""
    return []


def _expected(names: list[str]) -> str:
    return ", ".join(names)


def _own(error: Exception, shown: object) -> tuple[str, str, tuple[str, ...], object]:
    if isinstance(error, Broken):
        return error.problem, error.remedy, error.path, shown if error.value is None else error.value
    problem, _, remedy = str(error).partition("; ")
    return problem, remedy or "see configs/README.md", (), shown
