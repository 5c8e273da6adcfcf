"""The system of one run file, for SST: ``sst model.py -- run.json``.

SST runs this script in its own interpreter, which has the standard library and SST's modules, nothing else. The run
file contains everything: routers with the number of their ports, cables between ports, the port of each node, and the
jobs or the offered traffic. This script knows no topology: whatever decides about one is in `fabricstudy.engine.sst`,
where tests reach it. The elements used are Merlin's hr_router and its topologies, Firefly's NIC and MPI, and Ember's
motifs.
"""

import json
import resource
import sys
from pathlib import Path

import sst
from sst.ember import EmberMPIJob
from sst.merlin.base import EmptyJob, NetworkInterface, PlatformDefinition
from sst.merlin.interface import LinkControl, ReorderLinkControl

ROUTERS, TOPOLOGY = "routers", "topology"
STATISTICS = {"type": "sst.AccumulatorStatistic", "rate": "0ns"}


def main(path):
    """Build the system that the run file at `path` describes."""
    run = json.loads(Path(path).read_text())
    _allow_open_files(sum(len(job["nodes"]) * job["cores"] for job in run["jobs"]))
    PlatformDefinition.setCurrentPlatform("firefly-defaults")
    routers = _routers(run)
    _cables(run, routers)
    _endpoints(run, routers)
    _statistics(run)


def _allow_open_files(ranks):
    """Each rank holds its trace open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = ranks + 256
    if soft < needed <= hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _routers(run):
    sst.addGlobalParams(ROUTERS, run["router"])
    sst.addGlobalParams(TOPOLOGY, run["topology"]["parameters"])
    found = []
    for number, ports in enumerate(run["ports"]):
        router = sst.Component(f"router{number}", "merlin.hr_router")
        router.addGlobalParamSet(ROUTERS)
        router.addParams({"id": number, "num_ports": ports})
        topology = router.setSubComponent("topology", run["topology"]["component"], 0)
        topology.addGlobalParamSet(TOPOLOGY)
        topology.addParams(run["topology"]["of_router"].get(str(number), {}))
        found.append(router)
    return found


def _cables(run, routers):
    """Join ports; parallel cables are one entry each."""
    for number, (tail, tail_port, head, head_port, latency) in enumerate(run["cables"]):
        link = sst.Link(f"cable{number}")
        latency = run["latencies"][latency]
        routers[tail].addLink(link, f"port{tail_port}", latency)
        routers[head].addLink(link, f"port{head_port}", latency)


def _endpoints(run, routers):
    """Build the jobs' nodes, and something that does nothing on the others."""
    job_of_node = {}
    for described in run["jobs"]:
        job = _job(described, run)
        job_of_node.update(dict.fromkeys(described["nodes"], job))
    if "offered" in run:
        job_of_node.update(dict.fromkeys(map(int, run["offered"]["nodes"]), OfferedTraffic(run)))
    rest = [node for node in range(len(run["hosts"])) if node not in job_of_node]
    if rest:
        empty = EmptyJob(1 + max((job["number"] for job in run["jobs"]), default=0), len(rest))
        empty.network_interface = _interface(LinkControl(), run["interface"])
        _route(empty, rest, run)
        empty._nid_map = {node: number for number, node in enumerate(rest)}
        job_of_node.update(dict.fromkeys(rest, empty))
    for node, (router, port) in enumerate(run["hosts"]):
        endpoint, name = job_of_node[node].build(node, {})
        link = sst.Link(f"host{node}")
        latency = run["host_latency"]
        link.connect((endpoint, name, latency), (routers[router], f"port{port}", latency))


def _job(described, run):
    nodes = described["nodes"]
    job = EmberMPIJob(described["number"], len(nodes), numCores=described["cores"])
    job._nid_map = {node: place for place, node in enumerate(nodes)}
    network = {"vn_remap": [described["class"]]} if "class" in described else {}
    job.network_interface = _interface(ReorderLinkControl(), run["interface"] | network)
    _route(job, nodes, run)
    _set(job.nic, run["nic"])
    _set(job.os, run["mpi"])
    job.enableMotifLog(described["log"])
    if "map" in described:
        job._declareParams("ember", ["rankmapper", "mapFile"])
        job.rankmapper = "ember.CustomMap"
        job.mapFile = described["map"]
    for motif in ("Init", *described["motifs"], "Fini"):
        job.addMotif(motif)
    if described.get("background"):
        # The simulation ends when all motifs that are primary have ended.
        count = job._motifs["motif_count"]
        job._motifs.update({f"motif{number}.primary": "false" for number in range(count)})
    return job


def _interface(interface, settings):
    for name, value in settings.items():
        setattr(interface, name, value)
    return interface


def _route(job, nodes, run):
    """Under source routing put the routes between a job and its network interface."""
    if "routes" in run:
        job.network_interface = SourceRouting(job.network_interface, nodes, run)


def _set(template, settings):
    """Set parameters by their dotted names; `addParam` would pass over names that do not exist."""
    for name, value in settings.items():
        *path, last = name.split(".")
        owner = template
        for step in path:
            owner = getattr(owner, step)
        setattr(owner, last, value)


def _statistics(run):
    sst.setStatisticLoadLevel(9)
    sst.setStatisticOutput("sst.statOutputCSV", {"filepath": run["statistics"], "separator": ","})
    window = run["offered"]["statistics"] if "offered" in run else {}
    for name in ("send_bit_count", "send_packet_count", "output_port_stalls"):
        sst.enableStatisticForComponentType("merlin.hr_router", name, STATISTICS | window)
    if "offered" in run:
        sst.enableStatisticForComponentType("merlin.linkcontrol", "send_bit_count", STATISTICS | window)
        by_batch = STATISTICS | {"rate": run["offered"]["batch"], "resetOnOutput": True}
        sst.enableStatisticForComponentType("merlin.linkcontrol", "packet_latency", by_batch)


class OfferedTraffic:
    """The nodes of offered traffic: a source of Merlin each."""

    def __init__(self, run):
        self.offered, self.nodes = run["offered"], range(len(run["hosts"]))
        self.network_interface = _interface(LinkControl(), run["interface"])
        _route(self, self.nodes, run)

    def build(self, node, _):
        """Build the source of a node."""
        source = sst.Component(f"node{node}", "merlin.offered_load")
        source.addParams(self.offered["all_nodes"] | self.offered["nodes"][str(node)])
        return self.network_interface.build(source, "networkIF", 0, 0, len(self.nodes), node)


class SourceRouting(NetworkInterface):
    """Merlin's endpoint NIC with its source routing, told the node's number on the machine.

    `sst.merlin.interface.EndpointNIC` tells it the number within the job, which is another one as soon as a job does
    not start at node 0.
    """

    def __init__(self, inner, nodes, run):
        NetworkInterface.__init__(self)
        self._declareClassVariables(["inner", "nodes", "run", "mapping"])
        self.inner, self.nodes, self.run = inner, nodes, run
        pairs = (f"{node}:{router}" for node, (router, _) in enumerate(run["hosts"]))
        self.mapping = "{" + ", ".join(pairs) + "}"

    def build(self, component, slot, number, job_id, job_size, nid, use_nid_map=False, link=None):
        """Build the interface of the job's node number `nid`."""
        node = self.nodes[nid]
        router = self.run["hosts"][node][0]
        reorder = isinstance(self.inner, ReorderLinkControl)
        nic = component.setSubComponent(slot, "merlin.endpointNIC", number)
        nic.addParams(
            {
                "EP_id": node,
                "networkIF": "merlin.reorderlinkcontrol" if reorder else "merlin.linkcontrol",
                "plugin_names": ["sourceRoutingPlugin"],
            }
        )
        plugin = nic.setSubComponent("sourceRoutingPlugin", "merlin.sourceRoutingPlugin", 0)
        plugin.addParams(
            {
                "EP_id": node,
                "endpoint_router_mapping": self.mapping,
                "routing_entry_string": self.run["routes"][router],
                "num_routers": len(self.run["ports"]),
            }
        )
        return self.inner.build(nic, "networkIF", 0, job_id, job_size, nid, use_nid_map)


# SST keeps its own flags out of sys.argv; what is left is the path after "--".
main(sys.argv[-1])
