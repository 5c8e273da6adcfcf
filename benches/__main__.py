"""Run the benches named, or the short ones.

``python -m benches [pipeline] [structure] [partitions] [simulate] [front_end] [engines] [offered] [phit] [mapping]
[schedule] [operations] [scale] [large] [busy] [small_loads]``. ``python -m benches.stages STUDY`` compares a run with
its forecast.
"""

from __future__ import annotations

import importlib
import sys

BENCHES = (
    "pipeline",
    "structure",
    "partitions",
    "simulate",
    "front_end",
    "engines",
    "offered",
    "phit",
    "mapping",
    "schedule",
    "operations",
)


def main() -> None:
    """Run benches one after the other."""
    for name in sys.argv[1:] or BENCHES:
        print(f"== {name}", flush=True)
        importlib.import_module(f"benches.{name}").main()


if __name__ == "__main__":
    main()
