"""Deadlock freedom of routings."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from ..base import ConfigError
from ..machines import MachineConfig
from ..routings import RoutingConfig
from .base import Analysis

LARGEST_ROUTERS = 600
"""Routers of the largest machine whose channels are looked at."""


class Deadlock(Analysis):
    """Whether packets can wait for each other in a circle (Dally and Seitz 1987), for each machine and routing.

    The columns: `machine` and `routing` tell rows apart; `dependencies` between channels; `free` (1 if they have no
    cycle, else 0); `free_with_one_channel` (the same if each link had one virtual channel instead of those that the
    routing uses). Valiant and UGAL take channel k for hop k, so that no cycle can close; of them only `free` is
    known. A routing that a machine cannot have gives no row.
    """

    keys: ClassVar[tuple[str, ...]] = ("machine", "routing")
    numbers: ClassVar[tuple[str, ...]] = ("dependencies", "free", "free_with_one_channel")

    kind: Literal["deadlock"] = "deadlock"
    machines: dict[str, MachineConfig] = Field(min_length=1, max_length=100, description="{label: machine}")
    routings: dict[str, RoutingConfig] = Field(min_length=1, max_length=100, description="{label: routing}")

    @model_validator(mode="after")
    def _small_enough(self) -> Deadlock:
        for label, machine in self.machines.items():
            if machine.routers > LARGEST_ROUTERS:
                raise ConfigError(
                    f"{machine.routers:,} routers are too many to follow all channels",
                    f"take a machine of at most {LARGEST_ROUTERS} routers",
                    ("machines", label),
                )
        return self
