"""The table of single links, from the files of the batches."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa

from fabricstudy.core.columns import names_of
from fabricstudy.core.parquet import read_parquet
from fabricstudy.study.plan import Plan


def link_loads(plan: Plan, keys: pd.DataFrame, files: Iterable[Path]) -> pd.DataFrame:
    """Return a row for each directed link of each done point of the experiments that the study names.

    `keys` has one row a planned point, in the order of the plan, with the study's axes.
    """
    columns = list(dict.fromkeys([*keys, *names_of("link_loads")]))
    tables = [read_parquet(path) for path in files] if plan.study.link_loads else []
    if not tables:
        return pd.DataFrame(columns=columns)
    planned = keys[keys["experiment"].isin(plan.study.link_loads)]
    links = pa.concat_tables(tables).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return planned.merge(links, on="point_id", how="inner")[columns]
