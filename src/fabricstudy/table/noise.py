"""What chance does to a slowdown: how it varies where jobs share no link."""

from __future__ import annotations

from typing import Any

import pandas as pd


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
