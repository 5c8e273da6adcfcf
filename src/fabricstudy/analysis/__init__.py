"""Named analyses: tables that need no simulation, one module a kind.

In: the `Analysis` of a study, checked.
Out: its rows, with the columns that the kind declares; a missing value is None.
"""
