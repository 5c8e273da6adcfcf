"""Deadlock freedom of routings: rows."""

from __future__ import annotations

from typing import Any

from ...machine import Machine, build
from ...study import RoutingConfig
from ...study.analyses import Deadlock
from ..deadlock import channel_dependencies, is_deadlock_free
from ..routing import Stepwise, routes


def rows(config: Deadlock) -> list[dict[str, Any]]:
    """Give one row for each machine and each routing that it can have."""
    found = []
    for label, machine_config in config.machines.items():
        machine = build(machine_config)
        found += [
            {"machine": label, "routing": name, **_facts(machine, routing)}
            for name, routing in config.routings.items()
            if routing.needs is None or routing.needs in machine_config.traits
        ]
    return found


def _facts(machine: Machine, routing: RoutingConfig) -> dict[str, Any]:
    if not isinstance(routes(machine, routing), Stepwise):
        return {"dependencies": None, "free": int(is_deadlock_free(machine, routing)), "free_with_one_channel": None}
    return {
        "dependencies": len(channel_dependencies(machine, routing)),
        "free": int(is_deadlock_free(machine, routing)),
        "free_with_one_channel": int(is_deadlock_free(machine, routing, one_channel=True)),
    }
