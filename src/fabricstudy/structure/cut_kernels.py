"""The hot loops of cuts and of what crosses them, compiled by numba.

Links are given as in `fabricstudy.routing.kernels`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from fabricstudy.routing.kernels import Floats, Ints


@njit(cache=True)
def refine_cut(
    first: Ints,
    head: Ints,
    capacity: Floats,
    edge_router: npt.NDArray[np.bool_],
    inside: int,
    cut_side: npt.NDArray[np.bool_],
) -> None:
    """Improve a cut in place by Kernighan-Lin passes until one brings nothing.

    Afterwards `cut_side` holds `inside` of the routers that are `edge_router`; the others stand where they cut least.
    A router's *gain* is what the cut loses in capacity when that router changes sides.
    """
    routers = len(first) - 1
    least = 1e-9 * capacity.sum()
    gain = np.zeros(routers)
    for router in range(routers):
        for i in range(first[router], first[router + 1]):
            gain[router] += capacity[i] if cut_side[router] != cut_side[head[i]] else -capacity[i]
    held = np.zeros(routers, np.bool_)
    excess = (cut_side & edge_router).sum() - inside
    while excess != 0:
        move(best_of_side(gain, cut_side, held, edge_router, excess > 0), first, head, capacity, cut_side, gain)
        excess += -1 if excess > 0 else 1
    moved = np.empty(routers, np.int64)
    improved = True
    while improved:
        improved = False
        for router in range(routers):
            if not edge_router[router] and gain[router] > least:
                move(router, first, head, capacity, cut_side, gain)
                improved = True
        # One pass: swap the best pair again and again, each router once; then go back to the best moment.
        held[:] = False
        total, best_total, steps, best_steps = 0.0, least, 0, 0
        while True:
            leaves = best_of_side(gain, cut_side, held, edge_router, True)
            if leaves < 0:
                break
            held[leaves] = True
            total += gain[leaves]
            move(leaves, first, head, capacity, cut_side, gain)
            enters = best_of_side(gain, cut_side, held, edge_router, False)
            if enters < 0:
                move(leaves, first, head, capacity, cut_side, gain)
                break
            held[enters] = True
            total += gain[enters]
            move(enters, first, head, capacity, cut_side, gain)
            moved[steps] = leaves
            moved[steps + 1] = enters
            steps += 2
            if total > best_total:
                best_total, best_steps, improved = total, steps, True
        for at in range(best_steps, steps):
            move(moved[at], first, head, capacity, cut_side, gain)


@njit(cache=True)
def refine_weighted_cut(
    first: Ints, head: Ints, capacity: Floats, weight: Ints, least: int, most: int, cut_side: npt.NDArray[np.bool_]
) -> None:
    """Improve a cut in place where routers weigh differently (Fiduccia and Mattheyses, DAC 1982).

    Afterwards `cut_side` weighs from `least` to `most`. In a pass each router with weight moves once at most, always
    the one of the largest gain that keeps the balance; then back to the best moment.
    """
    routers = len(first) - 1
    least_gain = 1e-9 * capacity.sum()
    gain = np.zeros(routers)
    for router in range(routers):
        for i in range(first[router], first[router + 1]):
            gain[router] += capacity[i] if cut_side[router] != cut_side[head[i]] else -capacity[i]
    held = np.zeros(routers, np.bool_)
    inside = weight[cut_side].sum()
    while inside < least or inside > most:
        mover = best_of_side(gain, cut_side, held, weight > 0, inside > most)
        inside += -weight[mover] if cut_side[mover] else weight[mover]
        move(mover, first, head, capacity, cut_side, gain)
    moved = np.empty(routers, np.int64)
    improved = True
    while improved:
        improved = False
        for router in range(routers):
            if weight[router] == 0 and gain[router] > least_gain:
                move(router, first, head, capacity, cut_side, gain)
                improved = True
        held[:] = False
        total, best_total, steps, best_steps = 0.0, least_gain, 0, 0
        while True:
            mover = -1
            for router in range(routers):
                after = inside + (-weight[router] if cut_side[router] else weight[router])
                eligible = not held[router] and weight[router] > 0 and least <= after <= most
                if eligible and (mover < 0 or gain[router] > gain[mover]):
                    mover = router
            if mover < 0:
                break
            inside += -weight[mover] if cut_side[mover] else weight[mover]
            held[mover] = True
            total += gain[mover]
            move(mover, first, head, capacity, cut_side, gain)
            moved[steps] = mover
            steps += 1
            if total > best_total:
                best_total, best_steps, improved = total, steps, True
        for at in range(best_steps, steps):
            inside += -weight[moved[at]] if cut_side[moved[at]] else weight[moved[at]]
            move(moved[at], first, head, capacity, cut_side, gain)


@njit(cache=True)
def best_of_side(
    gain: Floats,
    cut_side: npt.NDArray[np.bool_],
    held: npt.NDArray[np.bool_],
    edge_router: npt.NDArray[np.bool_],
    side: bool,
) -> int:
    """Router of the largest gain among the free ones with nodes on one side; -1 if there is none."""
    best = -1
    for router in range(len(gain)):
        eligible = cut_side[router] == side and edge_router[router] and not held[router]
        if eligible and (best < 0 or gain[router] > gain[best]):
            best = router
    return best


@njit(cache=True)
def move(router: int, first: Ints, head: Ints, capacity: Floats, cut_side: npt.NDArray[np.bool_], gain: Floats) -> None:
    """Put a router on the other side and keep all gains right."""
    cut_side[router] = not cut_side[router]
    gain[router] = -gain[router]
    for i in range(first[router], first[router + 1]):
        change = 2 * capacity[i]
        gain[head[i]] += change if cut_side[router] != cut_side[head[i]] else -change


@njit(cache=True)
def crossing_bytes(part: Ints, parts: int, source: Ints, destination: Ints, size_bytes: Floats) -> Floats:
    """Bytes that leave each part of the routers, and those that enter it: float64 [2, parts]."""
    crossing = np.zeros((2, parts))
    for i in range(len(source)):
        out, into = part[source[i]], part[destination[i]]
        if out != into:
            crossing[0, out] += size_bytes[i]
            crossing[1, into] += size_bytes[i]
    return crossing
