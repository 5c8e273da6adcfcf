"""Edge isoperimetry: minimum number of links that leave a set of routers of a given size."""
