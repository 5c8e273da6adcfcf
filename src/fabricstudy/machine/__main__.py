"""Build the machines of one chunk and list their ids: ``python -m fabricstudy.machine``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from fabricstudy.errors import exit_code_of
from fabricstudy.files import atomic_text
from fabricstudy.study import machine_from_json

from .stage import keep_machine


def main(arguments: list[str] | None = None) -> None:
    """Build the machines of one chunk and list their ids."""
    parser = argparse.ArgumentParser(prog="python -m fabricstudy.machine", description=main.__doc__)
    parser.add_argument("--machines", type=Path, required=True, help="file of the plan: descriptions by id")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    configs = json.loads(given.machines.read_text())
    for machine_id, data in configs.items():
        keep_machine(given.results, machine_id, machine_from_json(data))
    with atomic_text(given.out) as out:
        out.writelines(f"{machine_id}\n" for machine_id in configs)


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
