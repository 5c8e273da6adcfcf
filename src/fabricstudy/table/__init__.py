"""Tidy tables of a study.

In: a plan, the records of its points, and the structures of its machines.

Out: a pandas frame for each table of `fabricstudy.core.columns` and each named analysis, its types checked, written as
Parquet and CSV. Each row of the plan is a row of ``points``, with the status of the point. The study's axes
are columns of each table, between ``experiment`` and ``seed``.
"""
