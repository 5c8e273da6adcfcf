"""``fabricstudy list engines``: the simulators found on this machine."""

import argparse
from typing import Any

from fabricstudy.core.bundled_files import resolve_bundled_paths
from fabricstudy.engine.registry import engine_named, engines


def list_engines(args: argparse.Namespace) -> list[dict[str, Any]]:
    """List the simulators: found or not, version, and reason."""
    probes = [engine_named(name).probe() for name in engines()]
    return [{"name": p.name, "found": p.found, "version": p.version, "reason": p.reason} for p in probes]


def show_engines(probes: list[dict[str, Any]]) -> None:
    for engine in probes:
        state = f"found, {engine['version']}" if engine["found"] else f"not found: {engine['reason']}"
        print(f"{engine['name']:10} {resolve_bundled_paths(state)}")
