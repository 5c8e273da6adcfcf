"""What the page says of which number of a mapping foretells the simulated time."""

from __future__ import annotations

import pandas as pd

from fabricstudy.table.store import Tables

from .text import NO_NUMBER, Grid, number


def predictors(tables: Tables) -> Grid:
    """Sum up the groups of each experiment, engine, routing and metric: correlations by their median and least."""
    rows = []
    keys = ["experiment", "engine", "routing_kind", "metric"]
    for key, part in tables.predictors.groupby(keys, sort=False):
        rho, tau, regret = part["spearman"], part["kendall"], part["regret"]
        facts = [rho.median(), rho.min(), tau.median(), tau.min(), 100 * regret.median(), 100 * regret.max()]
        counts = [str(len(part)), str(part["seed"].nunique()), _mappings(part)]
        rows.append([*map(str, key), *counts, *(number(fact, 3) for fact in facts)])
    head = (
        "experiment", "engine", "routing", "metric", "groups", "seeds", "mappings", "Spearman, median", "least",
        "Kendall, median", "least", "regret, median (%)", "largest (%)",
    )  # fmt: skip
    return Grid(head, rows, frozenset(range(4, 13)))


def _mappings(part: pd.DataFrame) -> str:
    """Say how many mappings a group has; and of how many planned ones where some have no time."""
    least, most = part["mappings"].min(), part["mappings"].max()
    counted = str(least) if least == most else f"{least}{NO_NUMBER}{most}"
    asked = part["mappings_asked"].max()
    return counted if least == asked else f"{counted} of {asked}"
