"""Price lists from CSV files."""

from pathlib import Path
from typing import Any

from fabricstudy.core.errors import suggestion
from fabricstudy.core.input_files import (
    FromFile,
    InputFileError,
    check_width,
    finite_number,
    numbered_csv_rows,
    position_text,
    whole,
)

from .base import Prices, Tariff

PRICE_COLUMNS = ["item", "value"]
MOST = 1e12
"""Limit of a price."""


def read_tariff(path: Path, data: bytes) -> Tariff:
    """Read a CSV with the header item,value and one line per field of `Tariff`; raises InputFileError.

    Examples
    --------
    >>> words = "item,value;currency,EUR;year,2026;router,900;port,250;port_W,12;electrical,0.5;electrical_m,0.4"
    >>> read_tariff(Path(), f"{words};optical,2.5;optical_m,0.1".replace(";", chr(10)).encode()).port
    250.0
    """
    items = list(Tariff.__dataclass_fields__)
    tariff: dict[str, Any] = {}
    for index, (line, row) in enumerate(numbered_csv_rows(data)):
        check_width(line, row, PRICE_COLUMNS)
        name, text = row
        if index == 0:
            if row != PRICE_COLUMNS:
                raise InputFileError("no header item,value", "write it first", position_text(line), ",".join(row))
        elif name not in items or name in tariff:
            problem = "duplicate item" if name in tariff else "unknown item"
            raise InputFileError(problem, suggestion(name, set(items) - set(tariff)), position_text(line, 1), name)
        elif name == "currency":
            tariff[name] = text
        elif name == "year":
            tariff[name] = whole(text, 0, 9999, position_text(line, 2))
        else:
            tariff[name] = finite_number(text, -MOST, MOST, position_text(line, 2))
    missing = [name for name in items if name not in tariff]
    if missing:
        raise InputFileError(f"missing item {missing[0]}", f"add a line for each of {', '.join(missing)}")
    return Tariff(**tariff)


class PricesFromFile(FromFile, Prices, kind="file"):
    """A price list from a CSV file with the header item,value.

    It needs a line for each item: `currency` and `year`; `router` and `port`, where a router of k ports costs
    router + k port; `port_W`, the power of a port in watts; `electrical` and `electrical_m`, `optical` and `optical_m`,
    where a cable of x metres costs the lesser of electrical + x electrical_m and optical + x optical_m per Gb/s.
    """

    READER = staticmethod(read_tariff)

    def tariff(self) -> Tariff:
        tariff: Tariff = self.content()
        return tariff
