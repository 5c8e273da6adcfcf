"""Write envs/fabricstudy.yaml: what our rules import, with the versions of requirements.lock."""

from __future__ import annotations

import re
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / "envs/fabricstudy.yaml"
PYTHON = {"python_version": "3.11", "python_full_version": "3.11.0", "extra": ""}
_PIN = re.compile(r"^[A-Za-z0-9._-]+==[^\\\n]+", re.M)


def environment() -> str:
    """Return the text of the file; our own package is not in it, since Snakemake copies the file elsewhere."""
    locked = map(Requirement, _PIN.findall((ROOT / "requirements.lock").read_text()))
    here = (one for one in locked if one.marker is None or one.marker.evaluate(PYTHON))
    pins = {canonicalize_name(one.name): one.specifier for one in here}
    needed: set[str] = set()
    left = ["fabricstudy"]
    while left:
        for text in requires(left.pop()) or []:
            one = Requirement(text)
            name = canonicalize_name(one.name)
            if (one.marker is None or one.marker.evaluate(PYTHON)) and name not in needed:
                needed.add(name)
                left.append(name)
    lines = [f'      - "{name}{pins[name]}"' for name in sorted(needed)]
    head = "# For snakemake --sdm conda; written by `make lock` from requirements.lock.\n"
    return (
        f"{head}channels: [conda-forge, nodefaults]\ndependencies:\n  - python=3.11\n  - pip\n  - pip:\n"
        + "\n".join([*lines, ""])
    )


if __name__ == "__main__":
    ENVIRONMENT.write_text(environment())
