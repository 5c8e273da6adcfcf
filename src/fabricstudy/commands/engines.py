"""``fabricstudy list engines``: the simulators found on this machine, and checks of a new one."""

import argparse
from typing import Any

from fabricstudy.core.bundled_files import resolve_bundled_paths
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.model import Model
from fabricstudy.core.source import extension_package
from fabricstudy.engine.registry import engine_of, engines
from fabricstudy.engine.settings import EngineSettings
from fabricstudy.study.file import parse_yaml, validated

from .common import add_extensions, progress_spinner, with_extensions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_extensions(parser)
    words = "run tiny points with known results on the engine of an extension: its kind, or a mapping as in a study"
    parser.add_argument("--check", metavar="ENGINE", help=words)
    parser.set_defaults(exit_code=lambda rows: int(any(row.get("verdict") == "does not hold" for row in rows)))


@with_extensions
def run(args: argparse.Namespace) -> list[dict[str, Any]]:
    """List the simulators: found or not, version, and reason; or check one that an extension defines."""
    if args.check is not None:
        return _check(args.check)
    probes = [engine.probe() for engine in engines().values()]
    return [{"name": p.name, "found": p.found, "version": p.version, "reason": p.reason} for p in probes]


class _OnlyEngine(Model):
    engine: EngineSettings


def _check(written: str) -> list[dict[str, Any]]:
    from fabricstudy.engine.engine_check import check_engine
    from fabricstudy.engine.simulator import Simulator

    settings = validated(_OnlyEngine, {"engine": parse_yaml(written)}, {}).engine
    if not isinstance(settings, Simulator) or not extension_package(type(settings).__module__):
        raise FabricstudyError(f"{settings.kind}: not the engine of an extension; name one of --extensions", "usage")
    probe = engine_of(settings).probe()
    if not probe.found:
        raise FabricstudyError(f"engine {probe.name} is missing: {probe.reason}", "engine-missing")
    with progress_spinner(f"checking {probe.name}"):
        return [check._asdict() for check in check_engine(settings)]


def show(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if "verdict" in row:
            print(f"{row['verdict']:14} {row['name']}: {row['measured']} (expected: {row['expected']})")
            continue
        state = f"found, {row['version']}" if row["found"] else f"not found: {row['reason']}"
        print(f"{row['name']:10} {resolve_bundled_paths(state)}")
