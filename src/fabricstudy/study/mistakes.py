"""Mistakes in the sweeps of a study that has others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fabricstudy.core.errors import combine_errors
from fabricstudy.core.model import ConfigError
from fabricstudy.engine.point import Point

from .dotted_paths import fields_of
from .expansion import FOLLOWED, Expansion
from .messages import explain_errors
from .sections import SectionCache
from .sweep import Experiment, Sweep


def mistakes_of_points(data: Mapping[str, Any], known: ConfigError, folder: Path) -> list[ConfigError]:
    """Return the mistakes in sweeps of a study as read, `data`, that has others, `known`, as far as these allow."""
    base = {key: data[key] for key in Point.model_fields if key in data}
    cache, found = SectionCache(folder), list(known.each())

    def unseen(error: ConfigError) -> list[ConfigError]:
        """Return the mistakes that are neither found nor below one that is, whose consequence they may be."""
        seen = {mistake.keys for mistake in found}
        return [one for one in error.each() if not any(one.keys[: len(keys)] == keys for keys in seen)]

    def check(_: tuple[int, ...], tree: dict[str, Any]) -> None:
        try:
            cache.of(tree)
        except ConfigError as error:
            if new := unseen(error):
                raise combine_errors(new) from None

    named = data.get("experiments")
    names = [name for name in named if isinstance(name, str)] if isinstance(named, dict) else []
    prefixes: list[tuple[str, ...]] = [("experiments", name) for name in names]
    for prefix in prefixes or [()] * ("sweep" in data):
        for _ in range(2):  # the second time without wrong paths
            part = _correct_part(data, prefix, found)
            try:
                experiment = Experiment.model_validate(part, by_alias=True, by_name=False)
                if experiment.size <= FOLLOWED:
                    Expansion(base, experiment, prefix).each(check)
                break
            except ValidationError as error:
                found += [] if part is None else unseen(explain_errors(error, part, Experiment).below(*prefix))
            except ConfigError as error:
                found += unseen(error)
                break
    return found[len(known.each()) :]


def _correct_part(data: Mapping[str, Any], prefix: tuple[str, ...], mistakes: Sequence[ConfigError]) -> Any:
    """Return the experiment at `prefix`, or the only sweep, without wrong paths in `set`; None if more is wrong."""
    keys = fields_of(Sweep)
    part = deepcopy(data[prefix[0]][prefix[1]] if prefix else {key: data[key] for key in keys if key in data})
    for mistake in mistakes:
        match mistake.keys[len(prefix) :] if mistake.keys[: len(prefix)] == prefix else ():
            case "sweep", axis, "set", label, path if not {"zip", "exclude"} & set(part):
                labels = part["sweep"][axis]["set"]
                for key in [key for key in labels if str(key) == label]:
                    labels[key].pop(path, None)
                    if not labels[key]:
                        del labels[key]
                if not labels:
                    return None
            case key, *_ if key in (*keys, "set"):
                return None
    return part
