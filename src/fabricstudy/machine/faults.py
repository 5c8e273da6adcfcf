"""Faults of a machine: failed cables, routers and nodes, and cables of lower bandwidth.

Random faults are the first ones of a random order, so that those of 2 % are among those of 5 % with the same seed. The
degraded cables are the last ones of the order of the cables, so that they have not failed.

Routers that no cable joins to the others fail with their nodes, and so do routers that join no nodes. All others are
renumbered in their order, and so are groups. Without its missing cables a grid or tree has no dimensions or levels.
"""

import re
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from fabricstudy.core.arrays import Bools, Ints
from fabricstudy.core.errors import suggestion
from fabricstudy.core.host_lists import expanded
from fabricstudy.core.input_files import InputFileError
from fabricstudy.core.model import ConfigError, Model, Number, Whole, Written

from .graph import Machine, NamedMachine
from .search import component_labels

_SHARE = re.compile(r"([0-9]+(?:\.[0-9]*)?)\s*%")
_REMEDY = "write a number like 3, a share like 2 %, or a list"
_NAME: dict[str, Any] = {"type": ["integer", "string"]}


def _amount_reader(of_pairs: bool) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if isinstance(value, str) and (match := _SHARE.fullmatch(value.strip())):
            percent = float(match[1])
            if percent > 100:
                raise ConfigError("more than all", "use at most 100 %", value=value, code="out-of-range")
            return f"{percent:g} %" if percent else 0
        if isinstance(value, list | tuple) and all(_is_listed(item, of_pairs) for item in value):
            return tuple(tuple(item) if of_pairs else item for item in value) or 0
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            named = "[[0, 5]]" if of_pairs else "[0, 5]"
            problem, remedy = "not a number, share or list", f"{_REMEDY} like {named}"
            raise ConfigError(problem, remedy, value=value, code="invalid-value")
        return value

    return read


def _is_listed(item: Any, of_pairs: bool) -> bool:
    if of_pairs:
        # Both routers of a cable, and its class if cables of several classes join them.
        return isinstance(item, list | tuple) and len(item) in (2, 3) and all(_is_listed(end, False) for end in item)
    return isinstance(item, int | str) and not isinstance(item, bool)


def _schema(items: dict[str, Any]) -> WithJsonSchema:
    listed = {"type": "array", "items": items}
    return WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}, listed]})


_Cables = Annotated[
    Any,
    BeforeValidator(_amount_reader(of_pairs=True)),
    _schema({"type": "array", "items": _NAME, "minItems": 2, "maxItems": 3}),
    Written("number, share like `2 %`, or list of pairs"),
]
_Parts = Annotated[
    Any,
    BeforeValidator(_amount_reader(of_pairs=False)),
    _schema(_NAME),
    Written("number, share like `2 %`, or list of numbers or names"),
]


class SlowCables(Model):
    """Cables of lower bandwidth; `-degraded` is added to the name of their link class."""

    cables: _Cables = Field(description="cables, as those that fail")
    to: Annotated[Number, Field(gt=0, lt=1)] = Field(description="their bandwidth over that of their class")


class Faults(Model):
    """Faults of a machine.

    Random faults are nested: those of 2 % are among those of 5 % with the same seed. Parallel cables fail one by one.
    A list names routers, nodes, and the two routers of a cable, by number or by their name in a file. The class of the
    cable follows as a third word if cables of several classes join the two routers.
    """

    cables: _Cables = Field(0, description="failed cables between routers")
    of: tuple[str, ...] = Field((), description="link classes of failed and degraded cables; default: all")
    routers: _Parts = Field(0, description="failed routers, with their cables and nodes")
    nodes: _Parts = Field(0, description="failed nodes")
    degraded: SlowCables | None = Field(None, description="cables of lower bandwidth")
    seed: Whole = Field(1, ge=0, lt=2**31, description="seed of the draws, independent of the point's seed")

    @property
    def exist(self) -> bool:
        """Whether anything fails or is degraded."""
        slow = self.degraded is not None and self.degraded.cables != 0
        return slow or (self.cables, self.routers, self.nodes) != (0, 0, 0)


MachineFaults = Annotated[Faults | None, AfterValidator(lambda faults: faults if faults and faults.exist else None)]
"""Faults, or None if there are none."""


class Survivors(NamedTuple):
    """What faults leave of a machine, in its own numbers."""

    marked: Machine
    """The whole machine, with link classes of degraded and failed cables."""
    row: Bools
    """Rows of `marked` that are left."""
    router: Bools
    node: Bools


def with_faults(machine: Machine, faults: Faults) -> Machine:
    """Return what the faults leave of a machine; errors are those of `survivors`."""
    return rest_of(machine, survivors(machine, faults))


def survivors(machine: Machine, faults: Faults) -> Survivors:
    """Return the parts of a machine that work and are joined.

    Raises
    ------
    ConfigError
        If the machine lacks the parts that fail, or is disconnected; the path is below the faults.
    """
    router, node = _parts(machine, faults, "routers"), _parts(machine, faults, "nodes")
    slow, failed = _marked(machine, faults, router)
    alive = np.ones(machine.routers, dtype=np.bool_)
    alive[router] = False
    row = ~failed
    has_nodes = np.bincount(np.delete(machine.node_router, node), minlength=machine.routers) > 0
    alive &= _joined(component_labels(slow.cable_tail[row], slow.cable_head[row], machine.routers), has_nodes & alive)
    alive_node = alive[machine.node_router]
    alive_node[node] = False
    return Survivors(slow, row & alive[slow.cable_tail], alive, alive_node)


def _marked(machine: Machine, faults: Faults, router: Ints) -> tuple[Machine, Bools]:
    """Return the machine with classes of degraded and failed cables, and the failed rows; `router` have failed."""
    failed, degraded = _cables(machine, faults)
    kinds, rows = len(machine.classes), len(machine.cable_count)
    state = np.zeros(machine.cables, dtype=np.int64)
    state[degraded], state[failed] = 1, 2
    at_router = np.isin(machine.cable_tail, router) | np.isin(machine.cable_head, router)
    state[at_router[machine.row_of_cable]] = 2
    # One row for the cables of each row in each state.
    key, count = np.unique(state * rows + machine.row_of_cable, return_counts=True)
    state, row = np.divmod(key, rows)
    rate = faults.degraded.to if faults.degraded else 1.0
    classes = [
        *machine.classes,
        *(
            replace(link, name=f"{link.name}-degraded", bandwidth_Bps=link.bandwidth_Bps * rate)
            for link in machine.classes
        ),
        *(replace(link, name=f"{link.name}-failed") for link in machine.classes),
    ]
    split = replace(
        machine,
        cable_tail=machine.cable_tail[row],
        cable_head=machine.cable_head[row],
        cable_class=(machine.cable_class[row] + kinds * state).astype(np.int32),
        cable_count=count.astype(np.int32),
        classes=tuple(classes),
        hop_weight=machine.hop_weight * 3,
    )
    return _in_use(split, kinds), state == 2


def _in_use(machine: Machine, kinds: int) -> Machine:
    """Return the machine without link classes that no cable has, from number `kinds` on."""
    used = np.unique(np.concatenate([np.arange(kinds), machine.cable_class]))
    return replace(
        machine,
        cable_class=np.searchsorted(used, machine.cable_class).astype(np.int32),
        classes=tuple(machine.classes[number] for number in used),
        hop_weight=tuple(machine.hop_weight[number] for number in used),
    )


def _cables(machine: Machine, faults: Faults) -> tuple[Ints, Ints]:
    """Return the failed and the degraded cables, numbered in the order of the rows."""
    names = [link.name for link in machine.classes]
    for number, name in enumerate(faults.of):
        if name not in names:
            problem = "the machine has no cables of this class between routers"
            raise ConfigError(problem, suggestion(name, names), ("of", str(number)), name, "unknown-value")
    chosen = np.isin(machine.cable_class, [names.index(name) for name in faults.of or names])
    order = fault_order(np.flatnonzero(chosen[machine.row_of_cable]), faults.seed)
    slow = 0 if faults.degraded is None else faults.degraded.cables
    failed = _chosen_cables(machine, faults.cables, order, order, ("cables",))
    left = order[::-1][~np.isin(order[::-1], failed)]
    return failed, _chosen_cables(machine, slow, order, left, ("degraded", "cables"))


def fault_order(parts: Ints, seed: int) -> Ints:
    """Return the parts in the random order in which they fail."""
    return np.random.default_rng(seed).permutation(parts)


def _chosen_cables(machine: Machine, amount: Any, all_cables: Ints, left: Ints, path: tuple[str, ...]) -> Ints:
    """Return the cables that a key chooses of those that are left, in this order; shares are of all."""
    if not isinstance(amount, tuple):
        number = number_of(amount, len(all_cables), "cables", path)
        if number > len(left):
            problem = f"{number} cables, and {len(left)} of {len(all_cables)} have not failed"
            raise ConfigError(problem, f"use at most {len(left)}", path, amount, "out-of-range")
        return left[:number]
    row = machine.row_of_cable
    ends = np.sort(np.stack([machine.cable_tail[row], machine.cable_head[row]]), axis=0)
    free = np.isin(np.arange(len(row)), left)
    cables: list[int] = []
    for index, names in enumerate(amount):
        where = (*path, str(index))
        pair = sorted(_number(machine, "routers", name, where) for name in names[:2])
        between = np.flatnonzero((ends[0] == pair[0]) & (ends[1] == pair[1]) & free)
        kind = machine.cable_class[row[between]]
        kinds = {machine.classes[number].name: number for number in np.unique(kind)}
        if len(names) == 3 and names[2] in kinds:
            between = between[kind == kinds[names[2]]]
        elif len(names) == 3 or not kinds:
            problem = "no such cable is left between these routers"
            remedy = suggestion(str(names[2]), kinds) if kinds else "write both routers of a cable"
            raise ConfigError(problem, remedy, where, list(names), "unknown-name")
        elif len(kinds) > 1:
            problem = f"cables of the classes {' and '.join(kinds)} join these routers"
            remedy = f"write the class of the failed one after them, such as {next(iter(kinds))}"
            raise ConfigError(problem, remedy, where, list(names), "conflicting-keys")
        cables.append(int(between[0]))
        free[between[0]] = False
    return np.array(cables, dtype=np.int64)


def _parts(machine: Machine, faults: Faults, noun: str) -> Ints:
    """Return the failed routers or nodes."""
    amount, total = getattr(faults, noun), getattr(machine, noun)
    if isinstance(amount, tuple):
        known = getattr(machine, f"{noun.removesuffix('s')}_of", {})
        named = [
            _number(machine, noun, name, (noun, str(index)))
            for index, written in enumerate(amount)
            for name in _listed(written, known)
        ]
        return np.array(named, dtype=np.int64)
    return fault_order(np.arange(total), faults.seed)[: number_of(amount, total, noun, (noun,))]


def _listed(written: int | str, known: Container[str]) -> list[Any]:
    """Return the names of a list such as n[1-4,9], of which each is known, or what is written itself."""
    if isinstance(written, str) and written not in known and "[" in written:
        with suppress(InputFileError):
            names = expanded(written)
            return names if all(name in known for name in names) else [written]
    return [written]


def _number(machine: Machine, noun: str, name: int | str, path: tuple[str, ...]) -> int:
    """Return the number of a router or node."""
    total: int = getattr(machine, noun)
    if isinstance(name, int):
        if 0 <= name < total:
            return name
        remedy = f"{noun} have the numbers 0 to {total - 1}"
        raise ConfigError(f"there is no such part among the {noun}", remedy, path, name, "unknown-name")
    names: dict[str, int] = getattr(machine, f"{noun.removesuffix('s')}_of", {})
    if name not in names:
        remedy = suggestion(name, names) if names else f"write a number from 0 to {total - 1}; only files have names"
        raise ConfigError(f"there is no such name among the {noun}", remedy, path, name, "unknown-name")
    return names[name]


def number_of(amount: int | str, total: int, noun: str, path: tuple[str, ...] = ()) -> int:
    """Return the number of parts that fail.

    Raises ConfigError if they are more than all, or a share rounds to none.

    Examples
    --------
    >>> number_of("2 %", 90, "cables"), number_of(3, 90, "cables")
    (2, 3)
    """
    if isinstance(amount, int):
        if amount > total:
            problem = f"the machine has {total} such {noun}"
            raise ConfigError(problem, f"use at most {total}", path, amount, "out-of-range")
        return amount
    exact = float(amount.removesuffix(" %")) / 100 * total
    number = int(exact + 0.5)
    if number == 0:
        problem = f"{amount} of {total} {noun} is {exact:.3g}, which rounds to none"
        raise ConfigError(problem, f"write a number, such as {noun}: 1", path, amount, "out-of-range")
    return number


def _joined(part: Any, has_nodes: Bools) -> Bools:
    """Return the routers of the only part with several routers with nodes; raise ConfigError if there are others."""
    sizes = np.bincount(part, weights=has_nodes)
    largest = int(np.argmax(sizes))
    pieces = np.sort(sizes[sizes > 1])[::-1].astype(int).tolist()
    if not pieces:
        problem = "the faults leave no two routers with nodes that are joined"
        raise ConfigError(problem, "use fewer", code="invalid-machine")
    if len(pieces) > 1:
        listed = ", ".join(map(str, pieces[:10])) + ("" if len(pieces) <= 10 else ", ...")
        problem = f"the machine is in {len(pieces)} pieces, of {listed} routers with nodes"
        raise ConfigError(problem, "use fewer faults, or another seed", code="invalid-machine")
    return np.asarray(part == largest)


def rest_of(whole: Machine, left: Survivors) -> Machine:
    """Return the machine of the routers, nodes and rows that are left."""
    slow, row, alive, alive_node = left
    number = np.cumsum(alive) - 1
    fields: dict[str, Any] = {}
    if isinstance(whole, NamedMachine):
        fields = _names(whole, slow, row, number, alive, np.cumsum(alive_node) - 1, alive_node)
    rest = replace(
        slow,
        node_router=number[slow.node_router[alive_node]].astype(np.int32),
        cable_tail=number[slow.cable_tail[row]].astype(np.int32),
        cable_head=number[slow.cable_head[row]].astype(np.int32),
        cable_class=slow.cable_class[row],
        cable_count=slow.cable_count[row],
        routers=int(alive.sum()),
        group=None if slow.group is None else np.unique(slow.group[alive], return_inverse=True)[1].astype(np.int32),
        coordinates=None,
        dimensions=(),
        level=None,
        **fields,
    )
    return _in_use(rest, len(whole.classes))


def _names(
    whole: NamedMachine, slow: Machine, row: Bools, number: Ints, alive: Bools, node_number: Ints, alive_node: Bools
) -> dict[str, Any]:
    """Return the names of what is left; ports of pairs of routers that lost a cable are left out."""

    def of_survivors(numbers: dict[str, int], to: Ints, lives: Bools) -> dict[str, int]:
        return {name: int(to[old]) for name, old in numbers.items() if lives[old]}

    known = {(int(t), int(h), int(k)): (i, int(c)) for i, (t, h, k, c) in enumerate(_rows(slow)) if row[i]}
    new_row = np.cumsum(row) - 1
    links = {
        2 * old + way: 2 * int(new_row[known[t, h, k][0]]) + way
        for old, (t, h, k, c) in enumerate(_rows(whole))
        if (t, h, k) in known and known[t, h, k][1] == c
        for way in (0, 1)
    }

    def at_port(port: str) -> str | None:
        router, _, name = port.partition(":")
        return f"{number[int(router)]}:{name}" if alive[int(router)] else None

    return {
        "router_names": tuple(np.array(whole.router_names, dtype=object)[alive]),
        "node_names": tuple(np.array(whole.node_names, dtype=object)[alive_node]),
        "host_names": tuple(np.array(whole.host_names, dtype=object)[alive_node]),
        "router_of": of_survivors(whole.router_of, number, alive),
        "node_of": of_survivors(whole.node_of, node_number, alive_node),
        "link_of_port": {
            new: links[link] for port, link in whole.link_of_port.items() if link in links and (new := at_port(port))
        },
        "node_of_port": {
            new: int(node_number[node])
            for port, node in whole.node_of_port.items()
            if alive_node[node] and (new := at_port(port))
        },
    }


def _rows(machine: Machine) -> Sequence[tuple[int, int, int, int]]:
    columns = machine.cable_tail, machine.cable_head, machine.cable_class, machine.cable_count
    return list(zip(*(column.tolist() for column in columns), strict=True))
