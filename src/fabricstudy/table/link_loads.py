"""The links of points one by one, as the batches wrote them."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa

from fabricstudy.core.columns import names_of
from fabricstudy.core.parquet import read_parquet
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
    columns = list(dict.fromkeys([*keys, *names_of("link_loads")]))
    found = [read_parquet(path) for path in files] if plan.study.link_loads else []
    if not found:
        return pd.DataFrame(columns=columns)
    asked = keys[keys["experiment"].isin(plan.study.link_loads)]
    rows = asked.merge(pa.concat_tables(found).to_pandas(types_mapper=_types), on="point_id", how="inner")
    return rows[columns]


def _types(kind: pa.DataType) -> object:
    return pd.Int64Dtype() if kind == pa.int64() else None
