"""The generated documentation of study files."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from fabricstudy.core.kinds import members_of
from fabricstudy.core.model import Model
from fabricstudy.study.document import main
from fabricstudy.study.dotted_paths import fields_of
from fabricstudy.study.file import load_study
from fabricstudy.study.model import Study
from fabricstudy.study.plan import plan

CONFIGS, DOCS = (Path(__file__).parents[3] / name for name in ("configs", "docs"))
REFERENCE = (DOCS / "reference.md").read_text(encoding="utf-8")
SCHEMA = jsonschema.Draft202012Validator(json.loads((DOCS / "schema/study.json").read_text(encoding="utf-8")))
EXAMPLE = REFERENCE.split("```yaml\n")[1].split("```")[0]


def test_both_files_are_in_step_with_the_models(tmp_path: Path) -> None:
    main([str(tmp_path)])
    for name in ("reference.md", "schema/study.json"):
        kept, text = ((folder / name).read_text(encoding="utf-8") for folder in (DOCS, tmp_path))
        diff = "\n".join(difflib.unified_diff(kept.splitlines(), text.splitlines(), name, "models", lineterm=""))
        assert not diff, f"run python -m fabricstudy.study.document\n{diff}"
        assert kept == text


def all_models(model: type[Model], seen: set[type[Model]]) -> Iterator[type[Model]]:
    """Return a model and all below it, without those of extensions that other tests import."""
    if model not in seen and model.__module__.startswith("fabricstudy."):
        seen.add(model)
        yield model
        for field in fields_of(model).values():
            for member in members_of(field.annotation):
                yield from all_models(member, seen)


@pytest.mark.parametrize("model", list(all_models(Study, set())), ids=lambda model: model.__name__)
def test_every_key_is_explained(model: type[Model]) -> None:
    """Every key has its own words in the models, and its row in the page."""
    for key, field in fields_of(model).items():
        assert field.description or key == "kind", f"{model.__name__}.{key} has no description"
        if list(fields_of(model)) != ["kind"]:
            assert f"| `{key}` | " in REFERENCE
        if field.description:
            assert field.description.replace("|", "\\|") in REFERENCE


def test_example_is_a_study_with_the_points_it_says(tmp_path: Path) -> None:
    path = tmp_path / "example.yaml"
    path.write_text(EXAMPLE)
    assert len(plan(load_study(path)).rows) == 30


def test_schema_takes_the_example() -> None:
    SCHEMA.check_schema(SCHEMA.schema)
    SCHEMA.validate(as_json(yaml.safe_load(EXAMPLE)))


@pytest.mark.parametrize(
    "change",
    [{"machin": {}}, {"machine": {"kind": "torus"}}, {"routing": "no"}, {"study": "a b"}, {"jobs": []}, {"seeds": "3"}],
)
def test_schema_refuses(change: dict[str, Any]) -> None:
    assert not SCHEMA.is_valid(as_json(yaml.safe_load(EXAMPLE) | change))


def as_json(data: Any) -> Any:
    """Return what an editor sees: all keys are text."""
    return json.loads(json.dumps(data))
