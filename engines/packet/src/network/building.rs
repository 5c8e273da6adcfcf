//! Building the network: ports, lanes, and how buffers are divided.

use super::*;
use crate::pool::Division;
use crate::settings::{Scheme, Settings};

impl Network {
    /// Build the network; `graph.node_router` has the ports of nodes.
    pub fn new(settings: &Settings, routes: Routes) -> Network {
        let traffic_classes = settings.traffic_classes.len();
        let lanes = settings.channels * traffic_classes;
        let class_starts = class_starts(settings);
        let class_of_channel: Vec<u8> = (0..settings.channels)
            .map(|channel| class_starts.iter().rposition(|&start| start <= channel).expect("starts at 0") as u8)
            .collect();
        let lanes_of_class = (0..traffic_classes).flat_map(|of| {
            class_starts.windows(2).map(move |range| mask(range[0], range[1]) << (of * settings.channels))
        });
        let lanes_of_class: Vec<u64> = lanes_of_class.collect();
        let units = if settings.buffer_per_channel { settings.channels } else { settings.classes };
        let unit_of_lane = (0..lanes).map(|lane| {
            let (of, channel) = (lane / settings.channels, lane % settings.channels);
            let unit = if settings.buffer_per_channel { channel } else { usize::from(class_of_channel[channel]) };
            (of * units + unit) as u32
        });
        let unit_of_lane: Vec<u32> = unit_of_lane.collect();
        let (input_buffer, output_queue) = divisions(settings, units);
        let routers = routes.graph.routers();
        let nodes = routes.graph.node_router.len();
        let first_interface = routes.first_port[routers];
        let all_ports = first_interface as usize + nodes;
        let fastest = settings.links.bandwidth.iter().copied().fold(0.0, f64::max) * settings.crossbar_speedup;
        let fastest_packet_ps = f64::from(settings.links.packet_bytes) * 1e12 / fastest;
        let queue = Queue::new(
            (fastest_packet_ps * 4.5 / nodes.max(72) as f64) as u64,
            10 + (usize::BITS - (nodes / 72).leading_zeros()).min(6),
        );
        let empty_out = OutLane { busy_until: 0, head: NONE, tail: NONE };
        let has_lanes = settings.buffer_per_channel;
        let input_lanes = if has_lanes { first_interface * lanes as u32 } else { 0 };
        let mut network = Network {
            now: 0,
            seed: mix(settings.routing.seed.wrapping_add(0x5851_f42d_4c95_7f2d)),
            queue,
            packets: Vec::new(),
            free: NONE,
            inputs: (0..input_lanes).map(|lane| InputQueue::new(lane / lanes as u32, 0)).collect(),
            free_inputs: Vec::new(),
            queues_of: vec![Vec::new(); if has_lanes { 0 } else { first_interface as usize }],
            has_lanes,
            outputs: vec![empty_out; first_interface as usize * lanes],
            ports: Vec::with_capacity(all_ports),
            router_of: Vec::with_capacity(first_interface as usize),
            sender_of: vec![NONE; first_interface as usize],
            first_interface,
            node_port: vec![0; nodes],
            node_router: routes.graph.node_router.iter().map(|&router| router as u32).collect(),
            out_pools: Pools::new(first_interface as usize, output_queue),
            in_pools: Pools::new(all_ports, input_buffer),
            credits: vec![VecDeque::new(); all_ports],
            waiters: vec![Vec::new(); first_interface as usize],
            lanes: lanes as u32,
            lanes_per_traffic_class: settings.channels as u32,
            unit_of_lane,
            lanes_of_class,
            class_of_channel,
            virtual_time: if traffic_classes > 1 { vec![0.0; all_ports] } else { Vec::new() },
            served: if traffic_classes > 1 { vec![0.0; all_ports * traffic_classes] } else { Vec::new() },
            ps_per_byte_crossbar: 1e12 / fastest,
            least_queue: matches!(settings.routing.kind, Kind::Adaptive | Kind::AdaptiveTable | Kind::Ugal),
            fair: (settings.routing.kind == Kind::DimensionOrder).then(FairArbitration::default),
            management: (settings.first_window_bytes > 0)
                .then(|| CongestionManagement::new(settings.links.packet_bytes, settings.first_window_bytes)),
            intermediates: Vec::new(),
            free_intermediates: Vec::new(),
            ways: Vec::new(),
            opened: Vec::new(),
            arrivals: Vec::new(),
            sent_packets: vec![0; nodes],
            counts: Counts::default(),
            job_packets: JobLinkPackets::default(),
            routes,
        };
        network.add_ports(settings);
        network
    }

    fn add_ports(&mut self, settings: &Settings) {
        let host = settings.links.host();
        let host_ns = settings.links.latency_ns[host] + settings.links.router_latency_ns / 2.0;
        let graph = &self.routes.graph;
        let mut nodes_of: Vec<Vec<usize>> = vec![Vec::new(); graph.routers()];
        graph.node_router.iter().enumerate().for_each(|(node, &router)| nodes_of[router].push(node));
        for (router, exits) in graph.exits.iter().enumerate() {
            for exit in exits {
                let (class, link) = (exit.class as usize, exit.link as usize);
                let latency_ns = settings.links.latency_ns[class] + settings.links.router_latency_ns;
                for cable in 0..exit.cables {
                    // The k-th cable of a link enters where the k-th one of the opposite link leaves.
                    let to = self.routes.link_ports[link ^ 1].0 + cable;
                    self.sender_of[to as usize] = self.ports.len() as u32;
                    self.ports.push(Port::new(settings.links.bandwidth[class], latency_ns, End::Router(to), exit.link));
                }
            }
            for &node in &nodes_of[router] {
                self.node_port[node] = self.ports.len() as u32;
                self.ports.push(Port::new(settings.links.bandwidth[host], host_ns, End::Node, NONE));
            }
            self.router_of.resize(self.ports.len(), router as u32);
        }
        for node in 0..graph.node_router.len() {
            let to = self.node_port[node];
            self.sender_of[to as usize] = self.ports.len() as u32;
            self.ports.push(Port::new(settings.links.bandwidth[host], host_ns, End::Router(to), NONE));
        }
        let packet = self.packet_bytes();
        self.ports.iter_mut().for_each(|port| port.under_way += packet);
    }
}

impl InputQueue {
    pub(super) fn new(port: u32, outputs: u64) -> InputQueue {
        InputQueue { busy_until: 0, outputs, head: NONE, tail: NONE, port, ticket: 0, waiting: false }
    }
}

impl Port {
    /// Return an idle port; `bandwidth` is in bytes a second.
    fn new(bandwidth: f64, latency_ns: f64, end: End, link: u32) -> Port {
        let ps_per_byte = 1e12 / bandwidth;
        Port {
            wake_at: u64::MAX,
            latency: rounded(latency_ns * 1e3),
            ps_per_byte,
            end,
            link,
            under_way: (2e3 * latency_ns / ps_per_byte) as u32,
            ..Port::default()
        }
    }
}

/// Return the first channel of each class, and the number of channels.
fn class_starts(settings: &Settings) -> Vec<usize> {
    match settings.scheme {
        Scheme::Escape => vec![0, 1, settings.channels],
        _ => (0..=settings.classes).map(|class| class * settings.channels / settings.classes).collect(),
    }
}

/// Return how input buffers and output queues are divided.
fn divisions(settings: &Settings, units: usize) -> (Division, Division) {
    let (buffer_bytes, packet_bytes) = (settings.buffer_bytes, settings.links.packet_bytes);
    let traffic_classes = settings.traffic_classes.len();
    if settings.buffer_per_channel {
        let separate = |bytes| Division::separate(bytes, units, traffic_classes);
        return (separate(buffer_bytes), separate((buffer_bytes / 2).max(packet_bytes)));
    }
    let shared = |bytes| Division::shared(bytes, units, traffic_classes, packet_bytes);
    (shared(buffer_bytes), shared((buffer_bytes / 2).max(units as u32 * packet_bytes)))
}
