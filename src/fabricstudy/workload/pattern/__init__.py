"""Who sends to whom: one module a pattern.

Each gives the `Sends` of all iterations, in any order, never from a rank to itself. Most know the number of
ranks only: ``pattern(config, ranks, rng) -> Sends``. Those that follow the job's place on the machine get it
as a `Site`: ``pattern(config, site) -> Sends``. Either may raise `WorkloadError`; there are at least 2 ranks,
except for idle. `in_send_order` then puts the sends of each rank in the order that the study states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import (
    all_gather,
    all_to_all,
    b_eff,
    bisection,
    furthest_pairing,
    idle,
    pairs,
    pencil_fft,
    permutation,
    ping_pong,
    ring,
    spread,
    stencil,
    strassen_bfs,
    sub_all_to_all,
    uniform_random,
    unstructured_mesh,
)
from .sends import Sends, in_send_order
from .site import Site

# One line a pattern, by the `kind` of its config.
PATTERNS: dict[str, Callable[[Any, int, np.random.Generator], Sends]] = {
    "all-to-all": all_to_all.sends,
    "all-gather": all_gather.sends,
    "stencil": stencil.sends,
    "unstructured-mesh": unstructured_mesh.sends,
    "spread": spread.sends,
    "pairs": pairs.sends,
    "sub-all-to-all": sub_all_to_all.sends,
    "pencil-fft": pencil_fft.sends,
    "b-eff": b_eff.sends,
    "strassen-bfs": strassen_bfs.sends,
    "ring": ring.sends,
    "permutation": permutation.sends,
    "uniform-random": uniform_random.sends,
    "idle": idle.sends,
}

PLACED_PATTERNS: dict[str, Callable[[Any, Site], Sends]] = {
    "bisection": bisection.sends,
    "furthest-pairing": furthest_pairing.sends,
    "ping-pong": ping_pong.sends,
}

__all__ = ["PATTERNS", "PLACED_PATTERNS", "Sends", "Site", "in_send_order"]
