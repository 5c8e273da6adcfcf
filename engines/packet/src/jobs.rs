//! Jobs on the network: operations post messages, network interfaces cut them into packets.

use library::histogram::Histogram;
use library::job_link_packets::JobLinkPackets;
use library::network_interface::Node;
use library::operation_file::OperationFile;
use library::operations::{Operations, Posted};
use library::result::Fields;

use crate::background::Background;
use crate::network::{Arrival, Network, NetworkEvent, Piece};
use crate::settings::Settings;

/// Progress of a message at its source, and its destination.
#[derive(Debug, Clone, Copy, Default)]
struct Departure {
    /// When the last packet that has left did so.
    last: u64,
    /// Bytes that have not.
    to_leave: u32,
    destination: u32,
    job: u32,
}

pub struct Jobs {
    network: Network,
    operations: Operations,
    background: Background,
    nodes: Vec<Node>,
    ports: usize,
    traffic_classes: Vec<usize>,
    /// Of each message.
    departures: Vec<Departure>,
    /// Whether the times of messages are in the result.
    message_times: bool,
    sent_bytes: Vec<u64>,
    arrived_bytes: Vec<u64>,
    message_sum_ps: Vec<u64>,
    messages: Vec<u64>,
    message_ps: Vec<Histogram>,
}

impl Jobs {
    pub fn new(mut network: Network, file: OperationFile, settings: &Settings) -> Jobs {
        let (jobs, ports) = (file.jobs.len(), file.ports);
        let all_ports = network.ports.len() - network.first_interface as usize;
        network.job_packets = JobLinkPackets::new(&file, all_ports, network.routes.graph.links);
        let ranks = file.ranks_of_nodes(all_ports / ports).into_iter();
        let nodes = ranks.map(|ranks| Node::new(ranks, settings.injection, file.striped, ports)).collect();
        let mut traffic_classes = settings.job_classes.clone();
        traffic_classes.resize(jobs, 0);
        let gaps_ps = file.gaps_ps.clone();
        let messages = file.operations.len();
        let operations = Operations::new(file, settings.times);
        network.arrivals = vec![Arrival::default(); messages];
        Jobs {
            departures: vec![Departure::default(); messages],
            message_times: settings.message_times,
            network,
            background: Background::new(&gaps_ps, &operations, messages as u32, settings.routing.seed),
            operations,
            nodes,
            ports,
            traffic_classes,
            sent_bytes: vec![0; jobs],
            arrived_bytes: vec![0; jobs],
            message_sum_ps: vec![0; jobs],
            messages: vec![0; jobs],
            message_ps: vec![Histogram::default(); jobs],
        }
    }

    /// Simulate until all foreground jobs have finished; return what waits if they never do.
    pub fn run(&mut self) -> Result<(), String> {
        self.take_actions();
        for (time, timer) in self.background.timers() {
            self.network.set_timer(time, timer);
        }
        while !self.operations.are_finished() {
            // Background ranks never end.
            match self.network.next().filter(|_| !self.operations.are_stuck()) {
                Some(NetworkEvent::Ready(interface) | NetworkEvent::Acknowledged(interface)) => self.send(interface),
                Some(NetworkEvent::Timer(timer)) if self.background.has(timer) => {
                    let (posted, (time, timer)) = self.background.post(timer, self.network.now, &self.operations);
                    self.network.set_timer(time, timer);
                    self.post(posted);
                }
                Some(NetworkEvent::Timer(operation)) => {
                    self.operations.end_active(operation, self.network.now);
                    self.take_actions();
                }
                Some(NetworkEvent::Arrived(message)) if self.background.has(message) => {
                    let (send, posted_at) = self.background.arrive(message);
                    self.count_arrival(send, posted_at);
                }
                Some(NetworkEvent::Arrived(send)) => {
                    self.arrive(send);
                    self.take_actions();
                }
                None => return Err(self.deadlock()),
            }
        }
        Ok(())
    }

    fn deadlock(&self) -> String {
        let waiting = self.network.packets_under_way();
        let reason =
            if waiting > 0 { "deadlock: packets wait for each other" } else { "operations wait for each other" };
        let unfinished = self.operations.unfinished();
        format!("{reason} at {} ps; {waiting} packets are in the network, and {unfinished}", self.network.now)
    }

    /// Start the timers and post the messages of operations that have started.
    fn take_actions(&mut self) {
        for (time, operation) in self.operations.timers.drain(..) {
            self.network.set_timer(time, operation);
        }
        let mut posted = std::mem::take(&mut self.operations.posted);
        for one in posted.drain(..) {
            self.post(one);
        }
        self.operations.posted = posted;
    }

    /// Queue a message at its node.
    fn post(&mut self, one: Posted) {
        let index = one.send as usize;
        if index >= self.departures.len() {
            self.departures.resize(index + 1, Departure::default());
            self.network.arrivals.resize(index + 1, Arrival::default());
        }
        let receive = self.operations.receive_of(self.background.send_of(one.send));
        let (job, destination) = self.operations.job_and_node(receive);
        let (destination, job) = (destination as u32, job as u32);
        self.departures[index] = Departure { last: 0, to_leave: one.bytes, destination, job };
        let number = if self.background.has(one.send) { self.background.copies } else { one.send };
        self.network.arrivals[index] = Arrival::of(one.bytes, number);
        self.nodes[one.node].waiting.post(one.rank, one.send, one.bytes);
        self.wake_node(one.node);
    }

    /// Let an interface send a packet, if its link is free and the router has room.
    fn send(&mut self, interface: u32) {
        let (node, port) = (interface as usize / self.ports, interface as usize % self.ports);
        let free_at = self.network.interface_free_at(interface);
        if free_at > self.network.now {
            self.network.wake_interface(interface, free_at);
            return;
        }
        let (send, size) = match self.next_packet(interface) {
            Some(next) => next,
            None => return,
        };
        let Departure { destination, job, .. } = self.departures[send as usize];
        let job = job as usize;
        let piece = Piece { message: send, size, node: destination * self.ports as u32 + port as u32, job };
        let end = match self.network.inject(interface, piece, self.traffic_classes[job]) {
            Some(end) => end,
            None => return,
        };
        self.nodes[node].send(port, size);
        self.sent_bytes[job] += u64::from(size);
        let departure = &mut self.departures[send as usize];
        departure.to_leave -= size;
        departure.last = departure.last.max(end);
        if departure.to_leave == 0 && !self.background.has(send) && self.operations.is_eager(send) {
            self.network.set_timer(departure.last, send);
        }
        // Another port may send: a slot is free, or the next packet has room where this one had none.
        self.wake_node(node);
    }

    /// Let all ports of a node look for something to send, as soon as their links are free.
    fn wake_node(&mut self, node: usize) {
        for port in (0..self.ports).filter(|&port| self.nodes[node].can_send(port)) {
            let interface = (node * self.ports + port) as u32;
            self.network.wake_interface(interface, self.network.interface_free_at(interface).max(self.network.now));
        }
    }

    /// Return the message and the bytes of the packet that an interface sends next.
    fn next_packet(&mut self, interface: u32) -> Option<(u32, u32)> {
        let (node, port) = (interface as usize / self.ports, interface as usize % self.ports);
        let packet_bytes = self.network.packet_bytes();
        let management = &mut self.network.management;
        self.nodes[node].next(port, packet_bytes, |send, bytes| {
            let destination = self.departures[send as usize].destination * self.ports as u32 + port as u32;
            management.as_mut().map_or(true, |management| management.allows(interface, destination, bytes))
        })
    }

    fn arrive(&mut self, send: u32) {
        let now = self.network.now;
        self.count_arrival(send, self.operations.posted_at(send));
        self.operations.arrive(send, now);
    }

    fn count_arrival(&mut self, send: u32, posted_at: u64) {
        let (job, _) = self.operations.job_and_node(send);
        let time = self.network.now - posted_at;
        self.message_ps[job].add(time);
        self.message_sum_ps[job] += time;
        self.messages[job] += 1;
        self.arrived_bytes[job] += self.operations.bytes_of(send);
    }

    pub fn to_json(&self, version: &str) -> String {
        let (network, operations) = (&self.network, &self.operations);
        let (link_bytes, link_packets) = network.link_counts();
        let mut fields = Fields::new("version", version);
        fields.number("end_ps", network.now);
        fields.optional("job_finish_ps", &operations.job_finish);
        fields.optional("rank_finish_ps", &operations.rank_finish);
        fields.list("rank_waiting_ps", &operations.rank_waiting);
        fields.list("link_bytes", link_bytes);
        fields.list("link_packets", link_packets);
        fields.number("injected_bytes", network.counts.injected_bytes);
        fields.number("ejected_bytes", network.counts.ejected_bytes);
        fields.list("job_sent_bytes", &self.sent_bytes);
        fields.list("job_arrived_bytes", &self.arrived_bytes);
        fields.list("packets_by_hops", &network.counts.packets_by_hops);
        fields.list("job_messages", &self.messages);
        fields.list("job_message_sum_ps", &self.message_sum_ps);
        fields.lists("job_message_counts", self.message_ps.iter().map(Histogram::listed));
        if let Some(packets) = network.job_packets.listed() {
            fields.list("job_link_packets", packets);
        }
        if let Some(times) = &operations.times {
            fields.list("operation_ps", times.iter().flat_map(|&[start, end, _]| [start, end]));
            if self.message_times {
                fields.list("message_ps", times.iter().flat_map(|&[start, _, arrival]| [start, arrival]));
            }
        }
        fields.end()
    }
}
