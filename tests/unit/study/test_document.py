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

from fabricstudy.kinds import members_of
from fabricstudy.model import Model
from fabricstudy.study.document import main, readme, schema
from fabricstudy.study.file import load_study
from fabricstudy.study.model import Study
from fabricstudy.study.paths import fields_of
from fabricstudy.study.plan import plan

CONFIGS = Path(__file__).parents[3] / "configs"
EXAMPLE = readme().split("```yaml\n")[1].split("```")[0]


@pytest.mark.parametrize(("name", "text"), [("README.md", readme()), ("schema/study.json", schema())])
def test_in_step_with_the_models(name: str, text: str) -> None:
    kept = (CONFIGS / name).read_text(encoding="utf-8")
    diff = "\n".join(difflib.unified_diff(kept.splitlines(), text.splitlines(), name, "models", lineterm=""))
    assert not diff, f"run python -m fabricstudy.study.document\n{diff}"


def test_writes_both_files(tmp_path: Path) -> None:
    main([str(tmp_path)])
    assert (tmp_path / "README.md").read_text() == readme()
    assert (tmp_path / "schema" / "study.json").read_text() == schema()


def all_models(model: type[Model], seen: set[type[Model]]) -> Iterator[type[Model]]:
    """Give a model and all below it."""
    if model not in seen:
        seen.add(model)
        yield model
        for field in fields_of(model).values():
            for member in members_of(field.annotation):
                yield from all_models(member, seen)


@pytest.mark.parametrize("model", list(all_models(Study, set())), ids=lambda model: model.__name__)
def test_every_key_is_explained(model: type[Model]) -> None:
    """Every key has its own words in the models, and its row in the page."""
    page = readme()
    for key, field in fields_of(model).items():
        assert field.description or key == "kind", f"{model.__name__}.{key} has no description"
        if list(fields_of(model)) != ["kind"]:
            assert f"| `{key}` | " in page
        if field.description:
            assert field.description.replace("|", "\\|") in page


def test_example_is_a_study_with_the_points_it_says(tmp_path: Path) -> None:
    path = tmp_path / "example.yaml"
    path.write_text(EXAMPLE)
    assert len(plan(load_study(path)).rows) == 30


def test_schema_takes_the_example() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(schema()))
    jsonschema.validate(as_json(yaml.safe_load(EXAMPLE)), json.loads(schema()))


@pytest.mark.parametrize(
    "change",
    [{"machin": {}}, {"machine": {"kind": "torus"}}, {"routing": "no"}, {"study": "a b"}, {"jobs": []}, {"seeds": "3"}],
)
def test_schema_refuses(change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(as_json(yaml.safe_load(EXAMPLE) | change), json.loads(schema()))


def as_json(data: Any) -> Any:
    """Give what an editor sees: all keys are text."""
    return json.loads(json.dumps(data))
