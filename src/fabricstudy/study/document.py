"""Documentation of study files, generated from the models: ``python -m fabricstudy.study.document``.

It writes ``docs/reference.md`` and ``docs/schema/study.json``; a test compares them with the models.
"""

import argparse
import inspect
import json
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

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
    import jinja2

    with extension_scope(""):
        sections = reference(Study, "")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fabricstudy.study"), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    keys = f"{sections}\n{_published()}"
    return environment.get_template("reference.md.j2").render(vars(quantities), keys=keys)


def family_paths() -> dict[type[Kind], str]:
    """Return the path in a study of the kinds of each family.

    Examples
    --------
    >>> from fabricstudy.workload.pattern.base import Pattern
    >>> family_paths()[Pattern]
    'jobs.*.pattern'
    """
    families: dict[type[Kind], str] = {}
    for model, path in _outline(Study, "")[0].items():
        for below, field in _below(path, model):
            for base in _bases(field.annotation):
                families.setdefault(base, below)
    return families


def _bases(annotation: Any) -> list[type[Kind]]:
    """Return the families with members of type `annotation`."""
    if isinstance(annotation, type):
        return [annotation] if issubclass(annotation, Kind) and annotation.is_family() else []
    return [base for part in get_args(annotation) for base in _bases(part)]


def reference(root: type[Model], path: str) -> str:
    """Return the sections of docs/reference.md about a model at `path`, and about the models within it."""
    paths, groups = _outline(root, path)

    def sections(models: list[type[Model]]) -> Iterator[str]:
        yield from (_section(paths[model], model) for model in models)
        for group in (group for model in models for group in groups[model]):
            yield from sections(group)

    return "\n".join(sections([root]))


def _outline(root: type[Model], path: str) -> tuple[dict[type[Model], str], dict[type[Model], list[list[type[Model]]]]]:
    """Return the shortest path to each model within `root`, and the models first reached from each, by field."""
    paths, groups = {root: path}, dict[type[Model], list[list[type[Model]]]]()
    queue = [root]
    for model in queue:
        groups[model] = []
        for below, field in _below(paths[model], model):
            new = [member for member in dict.fromkeys(members_of(field.annotation)) if member not in paths]
            paths |= dict.fromkeys(new, below)
            groups[model].append(new)
            queue += new
    return paths, groups


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
    """Move models within a schema to `shared`, since a family of kinds would be repeated for each of its fields."""
    if isinstance(node, list):
        return [_by_reference(item, shared) for item in node]
    if not isinstance(node, dict):
        return node
    described = {key: _by_reference(item, shared) for key, item in node.items()}
    if top or "properties" not in node or "title" not in node:
        return described
    # A key may have a title or description in addition to the model's.
    name = node["title"]
    if shared.setdefault(name, described) != described:
        return described
    return {"$ref": f"#/$defs/{name}"}


def _below(path: str, model: type[Model]) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the fields of a model at `path`, each with the path of its values."""
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
    own = {key for name, field in model.model_fields.items() if name in of_model for key in (name, field.alias)}
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
    if isinstance(value, tuple):
        value = value[0] if len(value) == 1 else list(value)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _type(annotation: Any, metadata: list[Any]) -> str:
    """Return a type in words."""
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
    texts = (part if part == "label" else _type(part, []) for part in inner if part is not type(None))
    return " or ".join(dict.fromkeys(texts))


def _mapping(members: list[type[Model]], words: str) -> str:
    return f"{words} " + ", ".join(f"`{kind_of(m)}`" for m in members)


def _bounds(metadata: list[Any]) -> str:
    marks = [part for mark in metadata for part in (mark.metadata if isinstance(mark, FieldInfo) else [mark])]
    words = {"ge": "from", "gt": "above", "le": "to", "lt": "below"}
    return "".join(
        f" {word} {getattr(mark, name):,}" for name, word in words.items() for mark in marks if hasattr(mark, name)
    )


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
