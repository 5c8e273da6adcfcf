"""Documentation of study files, generated from the models: ``python -m fabricstudy.study.document``.

It writes ``docs/reference.md`` and ``docs/schema/study.json``; a test fails when they are out of step.
"""

import argparse
import inspect
import json
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import jinja2
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from fabricstudy.core import quantities
from fabricstudy.core.kinds import Kind, extension_scope, kind_of, members_of
from fabricstudy.core.model import Model, Name, QuantityOrMapping, Written
from fabricstudy.core.quantities import Unit
from fabricstudy.machine.instances import INSTANCES

from .dotted_paths import fields_of
from .model import Study


def reference_page() -> str:
    """Return the text of docs/reference.md."""
    with extension_scope(""):
        sections = reference(Study, "")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fabricstudy.study"), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    keys = f"{sections}\n{_published()}"
    return environment.get_template("reference.md.j2").render(vars(quantities), keys=keys)


def family_paths() -> dict[type[Kind], str]:
    """Return where in a study the kinds of each family stand.

    Examples
    --------
    >>> from fabricstudy.workload.pattern.base import Pattern
    >>> family_paths()[Pattern]
    'jobs.*.pattern'
    """
    paths: dict[type[Kind], str] = {}
    seen: set[type[Model]] = set()
    queue: list[tuple[str, type[Model]]] = [("", Study)]
    for path, model in queue:
        for below, field in _below(path, model):
            for base in _bases(field.annotation):
                paths.setdefault(base, below)
            new = [member for member in members_of(field.annotation) if member not in seen]
            seen.update(new)
            queue += [(below, member) for member in new]
    return paths


def _bases(annotation: Any) -> list[type[Kind]]:
    """Return the families of which some member may stand where `annotation` does."""
    if isinstance(annotation, type):
        return [annotation] if issubclass(annotation, Kind) and annotation.is_family() else []
    return [base for part in get_args(annotation) for base in _bases(part)]


def reference(model: type[Model], path: str) -> str:
    """Return what docs/reference.md says, or would say, of a model that stands at `path`, and of what is below it."""
    return "\n".join(_sections(path, [model], _depths(model), set()))


def kind_schema(kind: type[Kind]) -> dict[str, Any]:
    """Return the JSON schema of a kind written as a mapping."""
    facts = kind.model_json_schema(by_alias=True)
    shared: dict[str, Any] = facts.pop("$defs", {})
    return {**_by_reference(facts, shared, top=True), **({"$defs": shared} if shared else {})}


def _published() -> str:
    header = "| name | what | source | not published, or modelled otherwise | written in full |"
    lines = ["## Published machines", "", header, "|---|---|---|---|---|"]
    for name, instance in INSTANCES.items():
        written = ", ".join(f"{key}: {value}" for key, value in instance.description.items())
        lines.append(f"| `{name}` | {instance.about} | {instance.source} | {instance.assumed} | `{{{written}}}` |")
    return "\n".join(lines) + "\n"


def schema() -> str:
    """Return the text of docs/schema/study.json."""
    with extension_scope(""):
        facts = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Study.model_json_schema(by_alias=True)}
    shared: dict[str, Any] = facts.pop("$defs", {})
    whole = {**_by_reference(facts, shared, top=True), "$defs": shared}
    return json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _by_reference(node: Any, shared: dict[str, Any], top: bool = False) -> Any:
    """Move models within a schema to `shared`: a family of kinds would stand wherever one of them may."""
    if isinstance(node, list):
        return [_by_reference(item, shared) for item in node]
    if not isinstance(node, dict):
        return node
    described = {key: _by_reference(item, shared) for key, item in node.items()}
    if top or "properties" not in node or "title" not in node:
        return described
    # A key may have a title or description beside the model's.
    name = node["title"]
    if shared.setdefault(name, described) != described:
        return described
    return {"$ref": f"#/$defs/{name}"}


def _depths(root: type[Model]) -> dict[type[Model], int]:
    """Return for each model the length of the shortest path to it from `root`, where it is described."""
    depth: dict[type[Model], int] = {root: 0}
    queue: list[type[Model]] = [root]
    for model in queue:
        for below in (member for field in fields_of(model).values() for member in members_of(field.annotation)):
            if below not in depth:
                depth[below] = depth[model] + 1
                queue.append(below)
    return depth


def _sections(
    path: str, models: list[type[Model]], depths: dict[type[Model], int], shown: set[type[Model]], depth: int = 0
) -> Iterator[str]:
    """Describe the models that may stand at `path`, then what stands below them."""
    new = [model for model in models if model not in shown and depths[model] == depth]
    shown.update(new)
    yield from (_section(path, model) for model in new)
    for below, field in ((below, field) for model in new for below, field in _below(path, model)):
        yield from _sections(below, members_of(field.annotation), depths, shown, depth + 1)


def _below(path: str, model: type[Model]) -> Iterator[tuple[str, FieldInfo]]:
    """Return the fields of a model that stands at `path`, each with the path of what may stand in it."""
    for key, field in fields_of(model).items():
        origin = get_origin(field.annotation)
        inside = ".*" if origin is tuple else ".NAME" if origin is dict else ""
        yield (f"{path}.{key}" if path else key) + inside, field


def _section(path: str, model: type[Model]) -> str:
    fields = fields_of(model)
    kind = f", kind `{kind_of(model)}`" if _has_tag(model) else ""
    title = f"### `{path}`{kind}" if path else "### The file"
    about = inspect.cleandoc(model.__doc__ or "").replace("``", "`")
    if list(fields) == ["kind"]:
        return f"{title}\n\n{about} It has no other keys.\n"
    lines = [title, "", about, "", "| key | type | default | meaning |", "|---|---|---|---|"]
    of_model = inspect.get_annotations(model)
    own = {one for name, field in model.model_fields.items() if name in of_model for one in (name, field.alias)}
    for key, field in sorted(fields.items(), key=lambda item: (item[0] != "kind", item[0] not in own)):
        meaning = field.description or ("selects this kind" if _is_tag(field) else "")
        cells = (f"`{key}`", _type(field.annotation, field.metadata), _default(key, field), meaning)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _has_tag(model: type[Model]) -> bool:
    return "kind" in model.model_fields and _is_tag(model.model_fields["kind"])


def _is_tag(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1


def _default(key: str, field: FieldInfo) -> str:
    if key == "kind" and _is_tag(field):
        return "**required**"
    if field.default_factory is not None:
        value = field.default_factory()  # type: ignore[call-arg]
        if isinstance(value, Model):
            return f"`{value.kind}`" if hasattr(value, "kind") else "as its keys"
        return "none"
    if field.default is PydanticUndefined:
        return "**required**"
    if field.default is None or field.default in ((), ""):
        return "none"
    value = field.default
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]  # one for all
    if isinstance(value, tuple):
        value = list(value)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _type(annotation: Any, metadata: list[Any]) -> str:
    """Write a type in words."""
    for mark in metadata:
        if isinstance(mark, Unit):
            return f"quantity in {mark.name}, like `{mark.example}`"
        if isinstance(mark, Name):
            return "name"
        if isinstance(mark, Written):
            return mark.words
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(inner[0], [*inner[1:], *metadata])
    if origin is Literal:
        return "`" + "`, `".join(map(str, inner)) + "`"
    if origin in (Union, types.UnionType):
        choices = [part for part in inner if part is not type(None)]
        return _type(choices[0], metadata) if len(choices) == 1 else _union(annotation, inner, metadata)
    if origin is tuple:
        each = _type(inner[0], [])
        return f"list of {each}" if inner[-1] is Ellipsis else f"list of {len(inner)}: {each}"
    if origin is dict:
        return f"mapping of names to {_type(inner[1], [])}"
    if isinstance(annotation, type) and issubclass(annotation, Model):
        if issubclass(annotation, Kind) and annotation.is_family():
            return _mapping(members_of(annotation), annotation.words)
        return "quantity, or mapping" if issubclass(annotation, QuantityOrMapping) else "mapping"
    words = {int: "whole number", float: "number", bool: "true or false", str: "text", Any: "any value"}
    return words[annotation] + _bounds(metadata)


def _union(annotation: Any, inner: tuple[Any, ...], metadata: list[Any]) -> str:
    members = members_of(annotation)
    if {bool, int, float, str} <= set(inner):
        inner = ("label", *(part for part in inner if part not in (bool, int, float, str)))
    if members and all(map(_has_tag, members)):
        return _mapping(members, "mapping of kind")
    return " or ".join(
        dict.fromkeys(part if part == "label" else _type(part, []) for part in inner if part is not type(None))
    )


def _mapping(members: list[type[Model]], words: str) -> str:
    return f"{words} " + ", ".join(f"`{kind_of(m)}`" for m in members)


def _bounds(metadata: list[Any]) -> str:
    marks = [part for mark in metadata for part in (mark.metadata if isinstance(mark, FieldInfo) else [mark])]
    words = {"ge": "from", "gt": "above", "le": "to", "lt": "below"}
    bounds = (
        f" {word} {getattr(mark, name):,}" for name, word in words.items() for mark in marks if hasattr(mark, name)
    )
    return "".join(bounds)


def main(arguments: list[str] | None = None) -> None:
    """Write both files below a folder."""
    parser = argparse.ArgumentParser(prog="python -m fabricstudy.study.document", description=main.__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("docs"), help="folder of the pages")
    folder: Path = parser.parse_args(arguments).folder
    (folder / "schema").mkdir(parents=True, exist_ok=True)
    (folder / "reference.md").write_text(reference_page(), encoding="utf-8")
    (folder / "schema" / "study.json").write_text(schema(), encoding="utf-8")


if __name__ == "__main__":
    main()
