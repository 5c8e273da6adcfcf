"""``topology.yaml`` of Slurm 25: several topologies, of which those of type tree describe switches."""

import re
from typing import Any

import yaml

from fabricstudy.core.input_files import InputFileError, position_text, text_of
from fabricstudy.core.log import warn_once

from .base import Fabric
from .slurm import Switch, fabric_of_switches

# Blanks are limited, as two runs of them in a row take quadratic time.
SIGNATURE = re.compile(
    r"\A(?:[ \t]*(?:[#%][^\n]*|---[^\n]*|\r)?\n)*[ \t]*(?:-[ \t]+|\[\s{0,99})\{?\s{0,99}[\"']?topology[\"']?[ \t]*:"
)

_USE = "write it as in topology.yaml(5) of Slurm"
_KEYS = {"switch", "children", "nodes"}
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _UniqueKeys(_Loader):  # type: ignore[misc]
    """Loader that refuses duplicate keys, of which YAML takes the last one."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [key.value for key, _ in node.value]
        if len(set(map(str, keys))) < len(keys):
            raise yaml.constructor.ConstructorError(None, None, "duplicate key", node.start_mark)
        return super().construct_mapping(node, deep)


def read(data: bytes) -> Fabric:
    """Read the tree of the default topology, else the first one; raises InputFileError with the position.

    Examples
    --------
    >>> fabric = read(b"- topology: t\\n  tree:\\n    switches:\\n      - {switch: r, children: 's[1-2]'}\\n"
    ...               b"      - {switch: s1, nodes: 'n[1-2]'}\\n      - {switch: s2, nodes: n3}\\n")
    >>> len(fabric.routers), len(fabric.ports)
    (3, 3)
    """
    try:
        topologies = yaml.load(text_of(data), Loader=_UniqueKeys)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "not YAML"
        raise InputFileError(
            f"not YAML of a topology: {problem}", _USE, position_text(mark.line + 1) if mark else ""
        ) from None
    except (RecursionError, ValueError):
        raise InputFileError("not YAML of a topology", _USE) from None
    if not isinstance(topologies, list) or not all(isinstance(topology, dict) for topology in topologies):
        raise InputFileError("not a list of topologies", _USE)
    trees = [topology for topology in topologies if "tree" in topology]
    if not trees:
        problem = "no topology of type tree; blocks, rings and flat ones do not tell which switches join their nodes"
        raise InputFileError(problem, "use a topology of type tree")
    tree = next((tree for tree in trees if tree.get("cluster_default")), trees[0])
    others = [str(topology.get("topology")) for topology in topologies if topology is not tree]
    if others:
        warn_once(f"warning: of topology.yaml only {tree.get('topology')} is used, not {', '.join(others)}")
    switches = tree["tree"].get("switches") if isinstance(tree["tree"], dict) else None
    if not isinstance(switches, list):
        raise InputFileError("no list switches", _USE, "tree")
    return fabric_of_switches([_switch(entry, f"tree.switches[{number}]") for number, entry in enumerate(switches)])


def _switch(entry: Any, where: str) -> Switch:
    if not isinstance(entry, dict) or not _KEYS >= set(entry) > {"switch"}:
        raise InputFileError("not a switch with its children or nodes", _USE, where)
    if not all(isinstance(value, str | int) for value in entry.values()):
        raise InputFileError("not a name or list of hosts", "write it like n[1-2]", where)
    values = {key: str(entry.get(key, "")) for key in _KEYS}
    return Switch(values["switch"], values["children"], values["nodes"], 0, where)
