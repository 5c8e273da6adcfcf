"""How few links can leave a set of vertices of a given size: the edge-isoperimetric problem.

In: lengths of the dimensions of a torus or of a product of cliques, or any weighted graph as a matrix.
Out: lower bounds and the sets that meet them for tori (`torus`), the optimal orders of hypercubes and HyperX and
the graphs themselves (`product`), and the exact answer for graphs of up to 28 vertices by search (`search`).

Literature: Oltchik and Schwartz, *Network Partitioning and Avoidable Contention*, sections 2, 3.1 and 5;
Bollobas and Leader, *Combinatorica* 11 (1991); Harper, *J. SIAM* 12 (1964); Lindsey, *Am. Math. Monthly* 71 (1964).
"""

from .product import harper_cut, lindsey_cut, lindsey_order, product_weights, weighted_dragonfly
from .search import Profile, edge_profile
from .torus import best_cuboid_cuts, cubic_torus_bound, cuboid_cut, s_r, torus_bound

__all__ = [
    "Profile",
    "best_cuboid_cuts",
    "cubic_torus_bound",
    "cuboid_cut",
    "edge_profile",
    "harper_cut",
    "lindsey_cut",
    "lindsey_order",
    "product_weights",
    "s_r",
    "torus_bound",
    "weighted_dragonfly",
]
