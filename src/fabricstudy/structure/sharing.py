"""Link sharing between jobs: MLS and TLS (Jain et al.: Partitioning low-diameter networks ..., IPDPS 2017).

With l_i the directed links between routers that job i uses:

* maximum link sharing: MLS = max_i |l_i ∩ ∪_{k≠i} l_k| / |l_i|, the largest share of a job's links that others use;
* total link sharing: TLS = |∪_{i≠k} l_i ∩ l_k| / |∪_i l_i|, the share of used links that two or more jobs use.

Host links are ignored.
"""

from dataclasses import dataclass

import numpy as np

from fabricstudy.core.arrays import Bools, Ints


@dataclass(frozen=True, eq=False)
class Sharing:
    """Link sharing between jobs."""

    used: Ints
    shared: Ints
    """Links that each job uses, and those that another job uses as well; int64 [jobs] each."""
    mls: float
    tls: float
    """Maximum and total link sharing, as fractions; 0 if no job uses a link."""


def link_sharing(used: Bools) -> Sharing:
    """Return the link sharing of jobs that use the directed links `used`, bool [jobs, links].

    Examples
    --------
    >>> sharing = link_sharing(np.array([[1, 1, 1, 0], [0, 0, 1, 1]], dtype=bool))
    >>> sharing.mls, sharing.tls
    (0.5, 0.25)
    """
    users = used.sum(axis=0)
    links_used = used.sum(axis=1)
    shared = (used & (users > 1)).sum(axis=1)
    return Sharing(
        used=links_used,
        shared=shared,
        mls=float((shared / np.maximum(links_used, 1)).max(initial=0.0)),
        tls=float((users > 1).sum() / max(1, (users > 0).sum())),
    )
