"""The event loop."""

from __future__ import annotations

from .task import Task


def run_none(task: Task) -> None:
    raise NotImplementedError


run_easy = run_conservative = run_drain = run_none
