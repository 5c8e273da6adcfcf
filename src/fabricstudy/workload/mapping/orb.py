"""Orthogonal recursive bisection of ranks and nodes."""

import numpy as np

from fabricstudy.core.arrays import Integers, Ints

from .base import Mapping
from .tasks import Slots, Tasks


class OrbMapping(Mapping, kind="orb"):
    """Orthogonal recursive bisection: ranks and nodes are bisected together by their coordinates.

    Nodes are cut at a plane across their longest extent; ranks across the corresponding dimension: the longest of the
    application corresponds to the longest of the machine, and so on. Off a grid the nodes are in the order of their
    routers' numbers. The pattern must have coordinates. (Berger and Bokhari, IEEE Trans. Computers
    C-36(5), 1987; for mapping Bhatele, PhD thesis, University of Illinois 2010.)
    """

    needs_coordinates = True

    def map_ranks(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Integers:
        core_coordinates = slots.coordinates_of_core
        rank_coordinates = np.asarray(tasks.known_coordinates, dtype=np.int64)
        partner = pairing(core_coordinates, rank_coordinates)
        core = np.empty(slots.ranks, dtype=np.int64)
        parts = [(np.arange(slots.ranks), np.arange(slots.ranks))]
        while parts:
            cores, ranks = parts.pop()
            extent = np.ptp(core_coordinates[cores], axis=0)
            if not extent.any():
                core[ranks] = cores
                continue
            along = int(np.argmax(extent))
            coordinates = core_coordinates[cores, along]
            planes, count = np.unique(coordinates, return_counts=True)
            # The lower side of the plane that bisects best.
            plane = planes[int(np.argmin(np.abs(2 * np.cumsum(count)[:-1] - len(coordinates))))]
            low = np.flatnonzero(coordinates <= plane)
            order = across(rank_coordinates[ranks], partner.get(along))
            parts.append((cores[low], ranks[order[: len(low)]]))
            parts.append((np.delete(cores, low), ranks[order[len(low) :]]))
        return core


def pairing(core_coordinates: Ints, rank_coordinates: Ints) -> dict[int, int]:
    """Return the application dimension for each machine dimension, in the order of their lengths."""
    both = (core_coordinates, rank_coordinates)
    machine, application = (np.argsort(-np.ptp(coordinates, axis=0), kind="stable") for coordinates in both)
    return dict(zip(machine.tolist(), application.tolist(), strict=False))


def across(coordinates: Ints, along: int | None) -> Ints:
    """Sort points along a dimension, or their longest if that has no extent; ties by the others, longest first."""
    extent = np.ptp(coordinates, axis=0)
    if along is not None and extent[along]:
        extent[along] = extent.max() + 1
    return np.lexsort([coordinates[:, k] for k in np.argsort(extent, kind="stable")])
