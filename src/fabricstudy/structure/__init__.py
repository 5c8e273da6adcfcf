"""Analysis of machines and traffic without simulation.

In: a `Machine`, and messages as arrays of nodes and bytes.
Out: `link_loads` (of messages) and `router_link_loads` (of traffic between routers), the exact bytes on each directed
link under an oblivious routing; `link_support`, the links that messages may use under any routing; `link_sharing`
between jobs; `is_deadlock_free`; `load_time_ns`, the transfer time of loads, and `lower_bound`, that of any run;
`bisection_bounds`, the bisection as an interval with the best cut; `describe_machine`, all metrics of a machine, and
`structure_record`, which caches them by machine id.
Capacities are those of one direction of each cable, in bytes per second; times are in ns.
"""
