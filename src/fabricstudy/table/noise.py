"""What chance does to a slowdown: how it varies where jobs share no link."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fabricstudy.words import listed, several

from .schemas import axes_of
from .select import label_text


def with_noise(interference: pd.DataFrame) -> pd.DataFrame:
    """Add the noise floor of each experiment and engine, and whether a slowdown lies inside it.

    Jobs that share no link cannot disturb each other on any link, so their slowdowns show what the order of messages
    and random choices do. The floor reaches from the least to the largest of them; 1 always belongs to it. It is
    missing where all jobs share links.

    Parameters
    ----------
    interference : DataFrame
        With ``experiment``, ``engine``, ``slowdown``, ``links_shared`` and ``links_shared_routes``.

    Returns
    -------
    DataFrame
        With ``noise_low``, ``noise_high`` and ``in_noise``, too.
    """
    apart = interference["slowdown"].astype(float).where(shares_no_link(interference))
    by_experiment: Any = apart.groupby([interference["experiment"], interference["engine"]])
    low, high = by_experiment.transform("min"), by_experiment.transform("max")
    slowdown = interference["slowdown"].astype(float)
    inside = (slowdown >= low.clip(upper=1.0)) & (slowdown <= high.clip(lower=1.0))
    comparable = slowdown.notna() & low.notna()
    return interference.assign(noise_low=low, noise_high=high, in_noise=inside.astype("boolean").where(comparable))


def shares_no_link(interference: pd.DataFrame) -> pd.Series[bool]:
    """Tell which jobs share no link: as simulated, else by their routes."""
    simulated, routes = (interference[name].astype(float) for name in ("links_shared", "links_shared_routes"))
    return simulated.fillna(routes) == 0


def basis_of_noise(interference: pd.DataFrame) -> str:
    """Say from how many jobs the noise floor of these rows is told, and what all of these have in common.

    The jobs that share no link may be few, and all of one routing or allocation.
    """
    compared = interference[interference["slowdown"].notna()]
    apart = compared[shares_no_link(compared)]
    only = [
        f"{axis} {label_text(apart[axis].iloc[0])}"
        for axis in axes_of(compared)
        if len(apart) and compared[axis].nunique(dropna=False) > 1 and apart[axis].nunique(dropna=False) == 1
    ]
    counted = f"{several(len(apart), 'job')} that {'shares' if len(apart) == 1 else 'share'} no link"
    seeds = several(apart["seed"].nunique(), "seed")
    alike = f", all with {listed(only)}" if only else ""
    return f"{counted} ({seeds}{alike})"
