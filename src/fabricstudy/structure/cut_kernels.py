"""Inner loops of cuts, compiled by numba; links are as in `fabricstudy.routing.kernels`."""

import numpy as np
from numba import njit

from fabricstudy.core.arrays import Bools, Floats, Ints


@njit(cache=True)
def refine_cut(first: Ints, head: Ints, capacity: Floats, weight: Ints, least: int, most: int, cut_side: Bools) -> None:
    """Refine a cut in place until convergence; the final weight of `cut_side` is from `least` to `most`.

    In a pass each router with weight moves at most once; then moves after the best cut are undone. If the halves must
    be equal, the best pair is swapped (Kernighan and Lin); else the router of the largest gain that preserves balance
    moves (Fiduccia and Mattheyses, DAC 1982). Routers without weight are on the side that minimises the cut. A router's
    *gain* is the decrease of the cut's capacity if it changes sides.
    """
    routers = len(first) - 1
    least_gain = 1e-9 * capacity.sum()
    gain = np.zeros(routers)
    for router in range(routers):
        for i in range(first[router], first[router + 1]):
            gain[router] += capacity[i] if cut_side[router] != cut_side[head[i]] else -capacity[i]
    locked = np.zeros(routers, np.bool_)
    inside = weight[cut_side].sum()
    while inside < least or inside > most:
        mover = best_of_side(gain, cut_side, locked, weight, inside > most)
        inside += -weight[mover] if cut_side[mover] else weight[mover]
        move_router(mover, first, head, capacity, cut_side, gain)
    moved = np.empty(routers, np.int64)
    improved = True
    while improved:
        improved = False
        for router in range(routers):
            if weight[router] == 0 and gain[router] > least_gain:
                move_router(router, first, head, capacity, cut_side, gain)
                improved = True
        locked[:] = False
        total, best_total, steps, best_steps = 0.0, least_gain, 0, 0
        while True:
            if least == most:
                swap_out = best_of_side(gain, cut_side, locked, weight, True)
                if swap_out < 0:
                    break
                locked[swap_out] = True
                total += gain[swap_out]
                move_router(swap_out, first, head, capacity, cut_side, gain)
                swap_in = best_of_side(gain, cut_side, locked, weight, False)
                if swap_in < 0:
                    move_router(swap_out, first, head, capacity, cut_side, gain)
                    break
                moved[steps] = swap_out
                steps += 1
            else:
                swap_in = best_in_balance(gain, cut_side, locked, weight, least - inside, most - inside)
                if swap_in < 0:
                    break
                inside += -weight[swap_in] if cut_side[swap_in] else weight[swap_in]
            locked[swap_in] = True
            total += gain[swap_in]
            move_router(swap_in, first, head, capacity, cut_side, gain)
            moved[steps] = swap_in
            steps += 1
            if total > best_total:
                best_total, best_steps, improved = total, steps, True
        for step in range(best_steps, steps):
            move_router(moved[step], first, head, capacity, cut_side, gain)
        inside = weight[cut_side].sum()


@njit(cache=True)
def best_in_balance(gain: Floats, cut_side: Bools, locked: Bools, weight: Ints, least: int, most: int) -> int:
    """Return the unlocked router of the largest gain that adds `least` to `most` to the side's weight, or -1."""
    best = -1
    for router in range(len(gain)):
        added = -weight[router] if cut_side[router] else weight[router]
        eligible = not locked[router] and weight[router] > 0 and least <= added <= most
        if eligible and (best < 0 or gain[router] > gain[best]):
            best = router
    return best


@njit(cache=True)
def best_of_side(gain: Floats, cut_side: Bools, locked: Bools, weight: Ints, side: bool) -> int:
    """Return the unlocked router of the largest gain on one side, or -1."""
    best = -1
    for router in range(len(gain)):
        eligible = cut_side[router] == side and weight[router] > 0 and not locked[router]
        if eligible and (best < 0 or gain[router] > gain[best]):
            best = router
    return best


@njit(cache=True)
def move_router(router: int, first: Ints, head: Ints, capacity: Floats, cut_side: Bools, gain: Floats) -> None:
    """Move a router to the other side and update all gains."""
    cut_side[router] = not cut_side[router]
    gain[router] = -gain[router]
    for i in range(first[router], first[router + 1]):
        change = 2 * capacity[i]
        gain[head[i]] += change if cut_side[router] != cut_side[head[i]] else -change
