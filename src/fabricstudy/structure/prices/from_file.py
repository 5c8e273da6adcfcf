"""Prices from a file of the user's."""

from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from fabricstudy.core.errors import suggestion
from fabricstudy.core.input_files import (
    FromFile,
    InputFileError,
    check_width,
    number,
    numbered_csv_rows,
    position_text,
    read,
    whole,
)
from fabricstudy.core.kinds import register

from .base import Prices, Tariff

HEAD = ["item", "value"]
MOST = 1e12
"""Of a price: far above those of all routers together, in any currency."""


def read_tariff(path: Path, data: bytes) -> Tariff:
    """Read a CSV with the head item,value and one line for each field of `Tariff`; raises InputFileError.

    Examples
    --------
    >>> words = "item,value;currency,EUR;year,2026;router,900;port,250;port_W,12;electrical,0.5;electrical_m,0.4"
    >>> read_tariff(Path(), f"{words};optical,2.5;optical_m,0.1".replace(";", chr(10)).encode()).port
    250.0
    """
    types: dict[str, Any] = {field.name: field.type for field in fields(Tariff)}
    found: dict[str, Any] = {}
    for place, (line, row) in enumerate(numbered_csv_rows(data)):
        check_width(line, row, HEAD)
        name, text = row
        if place == 0:
            if row != HEAD:
                raise InputFileError(
                    "another head than item,value", "let it begin with these", position_text(line), ",".join(row)
                )
            continue
        if name not in types or name in found:
            problem = "an item again" if name in found else "no such item"
            raise InputFileError(problem, suggestion(name, set(types) - set(found)), position_text(line, 1), name)
        if types[name] is str:
            found[name] = text
        elif types[name] is int:
            found[name] = whole(text, 0, 9999, position_text(line, 2))
        else:
            found[name] = number(text, -MOST, MOST, position_text(line, 2))
    missing = [name for name in types if name not in found]
    if missing:
        raise InputFileError(f"no {missing[0]}", f"add a line for each of {', '.join(missing)}")
    return Tariff(**found)


@register
class PricesFromFile(FromFile, Prices):
    """Prices of your own, from a CSV with the head item,value.

    It needs a line for each item: `currency` and `year`; `router` and `port`, where a router of k ports costs
    router + k port; `port_W`, the watts of a port; `electrical` and `electrical_m`, `optical` and `optical_m`, where a
    cable of x metres costs electrical + x electrical_m for each Gb/s, or likewise optically, whichever is less.
    """

    kind: Literal["file"] = "file"

    @classmethod
    def _read_file(cls, path: Path) -> tuple[Any, str]:
        return read(path, read_tariff, "invalid-data-file")

    @classmethod
    def _facts(cls, content: Any, value: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
        return {}

    def tariff(self) -> Tariff:
        tariff: Tariff = self.content()
        return tariff
