"""The links of points one by one, as the batches wrote them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fabricstudy.core.columns import names_of
from fabricstudy.study.plan import Plan


def link_loads(plan: Plan, keys: pd.DataFrame, files: Iterable[Path]) -> pd.DataFrame:
    """Return a row for each directed link of each point that is done, of the experiments that the study names.

    Parameters
    ----------
    plan : Plan
        Its size was checked.
    keys : DataFrame
        One row a planned point, in the order of the plan, with the study's axes.
    files : iterable of Path
        Links of the points of each batch.
    """
    asked = keys[keys["experiment"].isin(plan.study.link_loads)]
    found = [pq.read_table(path) for path in files] if len(asked) else []
    links = pa.concat_tables(found).to_pandas(types_mapper=_types) if found else pd.DataFrame(columns=["point_id"])
    rows = asked.merge(links, on="point_id", how="inner")
    return rows.reindex(columns=list(dict.fromkeys([*keys, *names_of("link_loads")])))


def _types(kind: pa.DataType) -> object:
    return pd.Int64Dtype() if kind == pa.int64() else None
