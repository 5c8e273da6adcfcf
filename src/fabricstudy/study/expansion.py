"""The raw points of an experiment, or runs of a schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fabricstudy.core.errors import SHOWN, combine_errors
from fabricstudy.core.model import ConfigError

from .dotted_paths import DottedPath, set_at_path
from .schedules import Schedule
from .sweep import Experiment

FOLLOWED = 10_000
"""Points of an experiment with a mistake, or of a study with one, that are checked for further ones."""


class Expansion:
    """Expands the raw points of an experiment, or runs of a schedule, and locates mistakes in them."""

    def __init__(self, base: dict[str, Any], varied: Experiment | Schedule, prefix: tuple[str, ...]) -> None:
        self._varied, self._prefix = varied, prefix
        self._axes = list(varied.changes.values())
        for path, value in varied.fixed:
            try:
                base = set_at_path(base, path, value)
            except ConfigError as error:
                raise self.error_at(error, ("set", path.text), path.text) from None
        self._base = base

    def tree(self, indices: tuple[int, ...]) -> dict[str, Any]:
        """Return the raw point at these positions of the axes."""
        tree = self._base
        for (name, axis), changes, index in zip(self._varied.sweep.items(), self._axes, indices, strict=True):
            try:
                for path, value in changes[index]:
                    tree = set_at_path(tree, path, value)
            except ConfigError as error:
                keys = ("sweep", name, *axis.path_location(index, str(error.value)))
                raise self.error_at(error, keys, error.value) from None
        return tree

    def each(self, add: Callable[[tuple[int, ...], dict[str, Any]], None]) -> None:
        """Call `add` with positions and raw point of each combination; report equal mistakes at one path once.

        Raises ConfigError if `add` raises for some combination, or there is none.
        """
        wrong: dict[tuple[str | None, str], ConfigError] = {}
        number = 0
        for number, indices in enumerate(self._varied.combinations(), 1):
            try:
                tree = self.tree(indices)
            except ConfigError as error:
                wrong.setdefault((error.path, error.code), error)
                continue
            try:
                add(indices, tree)
            except ConfigError as error:
                if error.file is not None:  # a log
                    raise
                for mistake in error.each():
                    located = self.error(mistake, indices)
                    wrong.setdefault((located.path, located.code), located)
                if len(wrong) >= SHOWN or number >= FOLLOWED:
                    break
        if wrong:
            raise combine_errors(list(wrong.values()))
        if not number:
            nothing = ConfigError("`exclude` removes every combination", "relax it", code="point-count")
            raise self.error_at(nothing, ("exclude",))

    def error(self, error: ConfigError, indices: tuple[int, ...]) -> ConfigError:
        """Return the error at the axis value that a mistake in a point stems from."""
        at_path = self._touching(error.keys, indices)
        # A part that does not fit the machine may stem from an axis over the machine.
        touching = at_path or self._touching(("machine",), indices)
        if not touching:
            return self._error_in_base(error)
        name, index, path, value = touching[-1]
        location = ("sweep", name, *self._varied.sweep[name].location(index, path.text))
        labels = {axis: str(self._varied.sweep[axis].labels[number]) for axis, number, _, _ in touching}
        labels_text = f" (at {', '.join(f'{k}={v}' for k, v in labels.items())})" if len(labels) > 1 else ""
        if at_path:
            location, value = (*location, *error.keys[len(path.steps) :]), error.value
        return self.error_at(error, location, value, labels_text)

    def _touching(self, keys: tuple[str, ...], indices: tuple[int, ...]) -> list[tuple[str, int, DottedPath, Any]]:
        return [
            (name, index, path, value)
            for name, axis, index in zip(self._varied.sweep, self._axes, indices, strict=True)
            for path, value in axis[index]
            if path.touches(keys)
        ]

    def _error_in_base(self, error: ConfigError) -> ConfigError:
        for path, _ in self._varied.fixed:
            if path.touches(error.keys):
                location = ("set", path.text, *error.keys[len(path.steps) :])
                return self.error_at(error, location, error.value)
        return error.below(*self._prefix) if isinstance(self._varied, Schedule) else error

    def error_at(
        self, error: ConfigError, keys: tuple[str, ...], value: object = None, labels: str = ""
    ) -> ConfigError:
        """Return the error at the path `keys` of this experiment, for points with these labels."""
        return error.changed(problem=error.problem + labels, keys=(*self._prefix, *keys), value=value)
