"""Pydantic's errors as messages for the user, with paths as in the study file."""

import re
from typing import Annotated, Any, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from fabricstudy.core.bundled_files import bundled_path
from fabricstudy.core.errors import is_misspelling, suggestion
from fabricstudy.core.kinds import members_of
from fabricstudy.core.model import ConfigError

from .dotted_paths import fields_of, model_of

_MAPPING = "a mapping of keys to values"
_NOT_A = {
    "int_type": "a whole number", "int_parsing": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "float_parsing": "a number", "finite_number": "a finite number",
    "bool_type": "true or false", "bool_parsing": "true or false", "string_type": "text",
    "tuple_type": "a list", "list_type": "a list",
    "dict_type": _MAPPING, "model_type": _MAPPING, "model_attributes_type": _MAPPING,
}  # fmt: skip
_BOUNDS = {
    "greater_than": ("gt", "too small", "use a value above"),
    "greater_than_equal": ("ge", "too small", "use at least"),
    "less_than": ("lt", "too large", "use a value below"),
    "less_than_equal": ("le", "too large", "use at most"),
}
_LENGTHS = {
    "too_short": ("min_length", "too few entries", "write at least {}"),
    "too_long": ("max_length", "too many entries", "write at most {}"),
    "string_too_short": ("min_length", "the text is too short", "use at least {} characters"),
    "string_too_long": ("max_length", "the text is too long", "use at most {} characters"),
}
_EXAMPLES = {
    "a whole number": "write digits only, like 4", "a number": "write it like 0.5",
    "a finite number": "write a number such as 1", "true or false": "write true or false",
    "text": "write text, in quotes if it looks like a number",
    "a list": "write a list: [a, b], or a line for each entry: - a", _MAPPING: "write it like {key: value}",
}  # fmt: skip

_PER_SECOND = re.compile(r"([0-9.]+)\s*([kMGT]?[bB])(?:it|yte)?(?:s?/s|ps)")
"""A bandwidth with a usual abbreviation that is not one of our units."""


def explain_errors(error: ValidationError, raw: Any, annotation: Any) -> ConfigError:
    """Return all mistakes of `raw`, a value as read, in which pydantic expected `annotation`.

    The first mistake has the others in its `others`.
    """
    by_path: dict[tuple[str, ...], list[ErrorDetails]] = {}
    # A misspelt key is also a missing one; only the misspelling is reported.
    rank = {"extra_forbidden": 0, "missing": 2}
    for detail in sorted(error.errors(include_url=False), key=lambda detail: rank.get(detail["type"], 1)):
        by_path.setdefault(_as_written(detail, raw), []).append(detail)
    # Pydantic reports a list with a broken entry as too short, too.
    paths = [path for path in by_path if not any(inner[: len(path)] == path for inner in by_path if inner != path)]
    first, *others = [
        mistake
        for path in paths
        if not _is_misspelt(path, by_path)
        for mistake in _explain(by_path[path], path, raw, annotation).below(*path).each()
    ]
    return first.changed(others=others)


def _is_misspelt(path: tuple[str, ...], by_path: dict[tuple[str, ...], list[ErrorDetails]]) -> bool:
    """Return whether a missing key has an unknown sibling that is probably a misspelling of it."""
    if by_path[path][0]["type"] != "missing":
        return False
    return any(
        detail["type"] == "extra_forbidden" and unknown[:-1] == path[:-1] and is_misspelling(unknown[-1], path[-1])
        for unknown, (detail, *_) in by_path.items()
        if unknown
    )


def _as_written(detail: ErrorDetails, raw: Any) -> tuple[str, ...]:
    """Return the location without what pydantic adds: members of unions, and expansions of shorthands."""
    location, path, tagged = detail["loc"], list[str](), False
    for number, key in enumerate(location):
        if isinstance(raw, dict):
            is_last = number == len(location) - 1
            if not tagged and raw.get("kind") == key and not (is_last and key in raw):
                tagged = True
                continue
            absent = detail["type"] == "missing" and is_last
            if key not in raw and not absent:
                continue
            raw = raw.get(key)
        elif isinstance(raw, list | tuple) and isinstance(key, int) and key < len(raw):
            raw = raw[key]
        else:
            break
        path.append(str(key))
        tagged = False
    return tuple(path)


def _at(raw: Any, path: tuple[str, ...]) -> Any:
    """Return the value at a path, or None."""
    for key in path:
        if isinstance(raw, dict):
            raw = next((value for name, value in raw.items() if str(name) == key), None)
        elif isinstance(raw, list | tuple):
            raw = raw[int(key)]
    return raw


def _fields_at(path: tuple[str, ...], raw: Any, annotation: Any) -> dict[str, FieldInfo]:
    """Return the fields of the value at a path, or none if it is not a model."""
    for number, key in enumerate(path):
        container = _container(annotation)
        if container is not None:
            annotation = get_args(container)[-1 if get_origin(container) is dict else 0]
            continue
        models = members_of(annotation)
        fields = fields_of(model_of(_at(raw, path[:number]), models)) if models else {}
        if key not in fields:
            return {}
        annotation = fields[key].annotation
    models = members_of(annotation)
    return fields_of(model_of(_at(raw, path), models)) if models else {}


def _container(annotation: Any) -> Any:
    if get_origin(annotation) in (dict, tuple):
        return annotation
    if get_origin(annotation) is Annotated:
        return _container(get_args(annotation)[0])
    return None


def _explain(details: list[ErrorDetails], path: tuple[str, ...], raw: Any, annotation: Any) -> ConfigError:
    # Of a union, the mistake in the member that the value was meant to be.
    detail = next((detail for detail in details if detail["type"] == "value_error"), details[0])
    kind, context, value = detail["type"], detail.get("ctx", {}), _at(raw, path)
    shown = None if isinstance(value, dict | list | tuple) else value
    if kind in ("extra_forbidden", "missing"):
        key = str(detail["loc"][-1])
        holder = path[:-1] if path and path[-1] == key else path
        fields = _fields_at(holder, raw, annotation)
        about = f" ({fields[key].description})" if key in fields and fields[key].description else ""
        mistake = ConfigError("this key is missing", f"add {key}: ...{about}", code="missing-key")
        if kind == "extra_forbidden":
            mistake = ConfigError(f"unknown key '{key}'", suggestion(key, fields), code="unknown-key")
        return mistake if len(path) > len(holder) else mistake.below(key)
    if kind == "union_tag_invalid":
        kinds = re.findall(r"'([^']*)'", str(context["expected_tags"]))
        tag = context["tag"]
        return ConfigError("unknown kind", suggestion(tag, kinds), ("kind",), tag, "unknown-value")
    if kind == "union_tag_not_found":
        return ConfigError("this key is missing", "add kind: ...", ("kind",), code="missing-key")
    if kind == "literal_error":
        names = re.findall(r"'([^']*)'", str(context["expected"]))
        remedy = suggestion(value, names) if names else f"use {context['expected']}"
        return ConfigError("not one of the possible values", remedy, value=shown, code="unknown-value")
    if kind in _BOUNDS:
        name, problem, remedy = _BOUNDS[kind]
        bound = context[name]
        text = f"{bound:g}" if isinstance(bound, float) else str(bound)
        field = _fields_at(path[:-1], raw, annotation).get(path[-1]) if path else None
        about = f" ({field.description})" if field is not None and field.description else ""
        return ConfigError(problem, f"{remedy} {text}{about}", value=shown, code="out-of-range")
    if kind in _NOT_A:
        names = list(dict.fromkeys(_NOT_A[detail["type"]] for detail in details if detail["type"] in _NOT_A))
        if value is None:
            return ConfigError("no value", _EXAMPLES[names[0]], code="missing-key")
        remedy = (
            "write one label, such as 4 or fast" if {"text", "true or false"} <= set(names) else _EXAMPLES[names[0]]
        )
        return ConfigError(f"not {' or '.join(names)}", remedy, value=value, code="wrong-type")
    if kind in _LENGTHS:
        name, problem, remedy = _LENGTHS[kind]
        return ConfigError(problem, remedy.format(context[name]), value=shown, code="out-of-range")
    if kind == "value_error":
        error = context["error"]
        if isinstance(error, ConfigError):
            value = shown if error.value is None and not error.keys else error.value
            rate = _PER_SECOND.fullmatch(str(value)) if "B/s'" in error.remedy else None
            remedy = f"{error.remedy} (or '{rate[1]} {rate[2]}/s': b is a bit, B a byte)" if rate else error.remedy
            return error.changed(remedy=remedy, value=value)
    problem = str(context["error"]) if kind == "value_error" else detail["msg"].rstrip(".")
    return ConfigError(problem, f"see {bundled_path('docs/reference.md')}", value=shown, code="invalid-value")
