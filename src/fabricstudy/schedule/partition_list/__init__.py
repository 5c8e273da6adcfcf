"""Lists of partitions of a machine's scheduler: one module for each kind."""
