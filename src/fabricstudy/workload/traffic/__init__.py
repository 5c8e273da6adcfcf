"""Offered traffic: for each node, the destinations of its messages; one module a kind."""
