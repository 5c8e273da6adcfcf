"""Tidy tables of a study.

In: a plan, the records of its points (one JSON object a line in the shards of ``simulate``) and the structures
of its machines (``structure``). Out: pandas frames ``points``, ``jobs``, ``links``, ``link_loads`` (if asked for),
``interference``, ``machines``, ``agreement``, ``predictors``, ``claims`` and ``verdicts`` (the claims by each engine
alone), and one frame a named analysis, checked by pandera schemas and written as Parquet and CSV.

Every row of the plan is a row of ``points``, also where nothing was simulated; its status says so. Numbers that
differ from run to run (CPU, memory, host, times) stand in ``points`` only. The study's axes are columns of each
table, between ``experiment`` and ``seed``.
"""

from fabricstudy.table.claims import judge
from fabricstudy.table.collect import collect
from fabricstudy.table.files import TableError, Tables, read_tables, write_tables
from fabricstudy.table.select import Observations, observe

__all__ = ["Observations", "TableError", "Tables", "collect", "judge", "observe", "read_tables", "write_tables"]
