//! Jobs on the network: operations post messages, network interfaces cut them into packets.

use library::histogram::Histogram;
use library::network_interface::Node;
use library::operation_file::OperationFile;
use library::operations::{Operations, Posted};
use library::result::Fields;

use crate::background::Background;
use crate::network::{Happening, Network, Piece, NONE};
use crate::settings::Settings;

pub struct Jobs {
    network: Network,
    operations: Operations,
    background: Background,
    nodes: Vec<Node>,
    ports: usize,
    traffic_classes: Vec<usize>,
    /// When the last packet that has left of each message has.
    left_at: Vec<u64>,
    to_leave: Vec<u32>,
    /// When the message of each operation arrived last, if that is asked for.
    arrived_at: Option<Vec<u64>>,
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
        if let Some(job_of_node) = jobs_of_nodes(&file, all_ports) {
            network.count_jobs(jobs, job_of_node);
        }
        let mut ranks = vec![0; all_ports / ports];
        file.ranks.iter().for_each(|&(_, node)| ranks[node] += 1);
        let nodes = ranks.iter().map(|&ranks| Node::new(ranks, settings.injection, file.striped, ports)).collect();
        let mut traffic_classes = settings.job_classes.clone();
        traffic_classes.resize(jobs, 0);
        let gaps_ps = file.gaps_ps.clone();
        let operations = Operations::new(file, settings.times);
        network.to_come = vec![0; operations.len()];
        network.arrived_at = vec![0; operations.len()];
        Jobs {
            arrived_at: settings.message_times.then(|| vec![0; operations.len()]),
            left_at: vec![0; operations.len()],
            to_leave: vec![0; operations.len()],
            network,
            background: Background::new(&gaps_ps, &operations, settings.seed),
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

    /// Simulate until all jobs that are not in the background have finished; say what waits if they never do.
    pub fn run(&mut self) -> Result<(), String> {
        self.run_with(|_| ())
    }

    /// Simulate, and show the network to `look` before each event of the jobs.
    pub fn run_with(&mut self, look: impl Fn(&mut Network)) -> Result<(), String> {
        self.take_actions();
        for (time, timer) in self.background.timers() {
            self.network.set_timer(time, timer);
        }
        while !self.operations.are_finished() {
            look(&mut self.network);
            // Ranks in the background would go on for ever.
            match self.network.next().filter(|_| !self.operations.are_stuck()) {
                Some(Happening::Ready(interface) | Happening::Acknowledged(interface)) => self.send(interface),
                Some(Happening::Timer(timer)) if self.background.has(timer) => {
                    let (posted, (time, timer)) = self.background.post(timer, self.network.now, &self.operations);
                    self.network.set_timer(time, timer);
                    self.post(posted);
                }
                Some(Happening::Timer(operation)) => {
                    self.operations.end_active(operation, self.network.now);
                    self.take_actions();
                }
                Some(Happening::Arrived(message)) if self.background.has(message) => {
                    let (send, posted_at) = self.background.arrive(message);
                    self.count_arrival(send, posted_at);
                }
                Some(Happening::Arrived(send)) => {
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
        let (rank, job) = self.operations.first_unfinished().unwrap_or_default();
        let reason =
            if waiting > 0 { "deadlock: packets wait for each other" } else { "operations wait for each other" };
        format!(
            "{reason} at {} ps; {waiting} packets are in the network, and rank {rank} of job {job} waits",
            self.network.now
        )
    }

    /// Do what operations that started have asked for.
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

    /// Let a message wait at its node.
    fn post(&mut self, one: Posted) {
        let index = one.send as usize;
        if index >= self.to_leave.len() {
            self.to_leave.resize(index + 1, 0);
            self.left_at.resize(index + 1, 0);
            self.network.to_come.resize(index + 1, 0);
            self.network.arrived_at.resize(index + 1, 0);
        }
        (self.to_leave[index], self.network.to_come[index], self.left_at[index]) = (one.bytes, one.bytes, 0);
        self.nodes[one.node].post(one.rank, one.send, one.bytes);
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
        let listed = self.background.send_of(send);
        let (job, destination) = self.operations.place_of(self.operations.receive_of(listed));
        let piece = Piece { message: send, size, node: (destination * self.ports + port) as u32, job };
        let end = match self.network.inject(interface, piece, self.traffic_classes[job]) {
            Some(end) => end,
            None => return,
        };
        self.nodes[node].send(port, size);
        self.sent_bytes[job] += u64::from(size);
        let index = send as usize;
        self.to_leave[index] -= size;
        self.left_at[index] = self.left_at[index].max(end);
        if self.to_leave[index] == 0 && send == listed && self.operations.is_eager(send) {
            self.network.set_timer(self.left_at[index], send);
        }
        // Another port may go on, too: a slot is free, or the next packet has room there where this one had none.
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
        let packet_bytes = self.network.packet_bytes;
        let (ports, operations, background) = (self.ports, &self.operations, &self.background);
        match &mut self.network.management {
            None => self.nodes[node].next(port, packet_bytes),
            Some(management) => self.nodes[node].next_allowed(port, packet_bytes, |send, bytes| {
                let (_, destination) = operations.place_of(operations.receive_of(background.send_of(send)));
                management.allows(interface, (destination * ports + port) as u32, bytes)
            }),
        }
    }

    fn arrive(&mut self, send: u32) {
        let now = self.network.now;
        self.count_arrival(send, self.operations.posted_at(send));
        if let Some(arrived_at) = &mut self.arrived_at {
            arrived_at[send as usize] = now;
        }
        self.operations.arrive(send, now);
    }

    fn count_arrival(&mut self, send: u32, posted_at: u64) {
        let (job, _) = self.operations.place_of(send);
        let time = self.network.now - posted_at;
        self.message_ps[job].add(time);
        self.message_sum_ps[job] += time;
        self.messages[job] += 1;
        self.arrived_bytes[job] += self.operations.bytes_of(send);
    }

    #[cfg(test)]
    pub fn counts(&self) -> &crate::network::Counts {
        &self.network.counts
    }

    /// Return the result as JSON.
    pub fn to_json(&self, version: &str) -> String {
        let (network, operations) = (&self.network, &self.operations);
        let (link_bytes, link_packets) = network.link_counts();
        let mut fields = Fields::new(version);
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
        if let Some(packets) = network.listed_job_packets() {
            fields.list("job_link_packets", packets);
        }
        if let Some(times) = &operations.times {
            fields.list("operation_ps", times.iter().flat_map(|&(start, end)| [start, end]));
            // A message within a node arrives at once.
            let messages = |arrived_at: &Vec<u64>| {
                times.iter().zip(arrived_at).flat_map(|(&(start, _), &at)| [start, at.max(start)]).collect::<Vec<_>>()
            };
            if let Some(messages) = self.arrived_at.as_ref().map(messages) {
                fields.list("message_ps", messages);
            }
        }
        fields.end()
    }
}

/// Return the job of each port of a node; none if there is one job, or a node belongs to two.
fn jobs_of_nodes(file: &OperationFile, ports: usize) -> Option<Vec<u32>> {
    let mut jobs = vec![NONE; ports];
    for &(job, node) in &file.ranks {
        for of_port in &mut jobs[node * file.ports..(node + 1) * file.ports] {
            if *of_port != NONE && *of_port != job as u32 {
                return None;
            }
            *of_port = job as u32;
        }
    }
    (file.jobs.len() > 1).then_some(jobs)
}
