"""Order of the queue: which waiting job comes first; one module for each order."""
