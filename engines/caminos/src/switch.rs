//! Router `Switch { ... }`: what CAMINOS' `InputOutput` does to every phit in every cycle, in a half of its time.
//!
//! It takes the fields of `InputOutput`, as far as they are those that our adapter writes. Results must be equal byte by
//! byte, so that studies may be continued with either, which the tests below check: the events are those of
//! `InputOutput` in their order, and random numbers are drawn by the same parts in the same order:
//!
//! 1. input by input, channel by channel, each packet that waits at the front draws one of the ways that have room;
//! 2. the crossbar shuffles these requests, sorts them where it goes by label, and grants what is free;
//! 3. an output draws nothing: its channels take turns, and a packet that has begun goes first.
//!
//! What it saves: the ways of a packet that waits are asked for once, as long as the routing says that they stay; lanes
//! without work are not visited; vectors are kept from cycle to cycle; and no queue statistics are kept, which nobody
//! reads. A lane is a virtual channel of a port.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem::{size_of, take};
use std::rc::{Rc, Weak};

use caminos_lib::config_parser::ConfigurationValue;
use caminos_lib::event::{round_to_multiple, CyclePosition, Event, EventGeneration, Eventful};
use caminos_lib::policies::{new_virtual_channel_policy, RequestInfo, VCPolicyBuilderArgument, VirtualChannelPolicy};
use caminos_lib::quantify::Quantifiable;
use caminos_lib::router::{AcknowledgeMessage, Router, RouterBuilderArgument, StatusAtEmissor};
use caminos_lib::routing::CandidateEgress;
use caminos_lib::topology::{Location, Topology};
use caminos_lib::{Phit, Simulation, SimulationMut, SimulationShared, Time};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::Rng;

use crate::configuration::Fields;
use crate::credits::{left, Credits};
use crate::lanes::LaneSet;
use crate::session::Session;

/// One of CAMINOS' policies; the two that nearly all packets meet are our own.
#[derive(Debug)]
enum Policy {
    /// `EnforceFlowControl`: leave the ways that have room.
    Room,
    /// `Random`: draw one of the ways.
    Draw,
    Other(Box<dyn VirtualChannelPolicy>),
}

/// Where a link leads, and what is known of its other end.
#[derive(Debug)]
struct Port {
    neighbour: Location,
    class: usize,
    /// None towards a node, which takes all that comes.
    credits: Option<Credits>,
    /// The channel whose turn it is.
    turn: usize,
    /// Whether the port is going to look for a phit to send.
    awake: bool,
}

/// Where the packet at the front of an input lane may go.
#[derive(Debug)]
struct Ways {
    goal: usize,
    candidates: Vec<CandidateEgress>,
    /// Whether the routing would say the same again.
    lasting: bool,
}

/// A packet at the front of an input lane asks for an output lane.
#[derive(Debug, Clone, Copy)]
struct Request {
    input: usize,
    output: usize,
    label: i32,
}

#[derive(Debug)]
struct Switch {
    itself: Weak<RefCell<Switch>>,
    session: Rc<Session>,
    index: usize,
    channels: usize,
    policies: Vec<Policy>,
    /// Phits of the largest packet.
    packet: usize,
    /// Phits that have room in each input lane and each output lane.
    input_room: usize,
    output_room: usize,
    /// Cycles from one use of the crossbar to the next.
    period: Time,
    by_label: bool,
    /// Whether packets from routers go before those from nodes.
    transit_first: bool,
    ports: Vec<Port>,
    /// Phits that wait to leave by each port.
    queued: Vec<usize>,
    /// What sends the phits of each port; made when the router first has work.
    senders: Vec<Rc<RefCell<Sender>>>,
    /// Cycles in which the crossbar is going to be used, the next one last.
    planned: Vec<Time>,
    inputs: Vec<VecDeque<Rc<Phit>>>,
    outputs: Vec<VecDeque<Rc<Phit>>>,
    /// The output lane that an input lane has been granted until its packet has passed, and the other way round.
    output_of: Vec<Option<usize>>,
    input_of: Vec<Option<usize>>,
    /// Input lanes with phits and without an output lane.
    waiting: LaneSet,
    /// Output lanes with an input lane.
    crossing: LaneSet,
    ways: Vec<Option<Ways>>,
    requests: Vec<Request>,
}

const FIELDS: [&str; 10] = [
    "virtual_channels",
    "virtual_channel_policies",
    "crossbar_frequency_divisor",
    "buffer_size",
    "output_buffer_size",
    "flit_size",
    "bubble",
    "allow_request_busy_port",
    "intransit_priority",
    "allocator",
];

/// Build a router.
///
/// # Panics
/// If a field is missing, or has a value that only `InputOutput` takes.
pub fn build(argument: RouterBuilderArgument) -> Rc<RefCell<dyn Router>> {
    let fields = Fields::of(argument.cv, &FIELDS);
    let (flag, packet) = (|name| fields.flag(name), fields.count("flit_size"));
    assert!(!flag("bubble") && flag("allow_request_busy_port"), "a Switch has no bubbles, and its ports may be busy");
    let policy = |cv: &ConfigurationValue| match cv {
        ConfigurationValue::Object(name, _) if name == "EnforceFlowControl" => Policy::Room,
        ConfigurationValue::Object(name, _) if name == "Random" => Policy::Draw,
        _ => Policy::Other(new_virtual_channel_policy(VCPolicyBuilderArgument { cv, plugs: argument.plugs })),
    };
    let policies: Vec<Policy> = fields.list("virtual_channel_policies").iter().map(policy).collect();
    let (by_label, transit_first) = (fields.part("allocator") == "RandomWithPriority", flag("intransit_priority"));
    assert!(by_label || fields.part("allocator") == "Random" && !transit_first, "not an allocator of a Switch");
    let (channels, input_room) = (fields.count("virtual_channels"), fields.count("buffer_size"));
    let port = |number| {
        let (neighbour, class) = argument.topology.neighbour(argument.router_index, number);
        let credits = match neighbour {
            Location::ServerPort(_) => None,
            _ => Some(Credits::new(channels, input_room, packet)),
        };
        Port { neighbour, class, credits, turn: 0, awake: false }
    };
    let ports: Vec<Port> = (0..argument.topology.ports(argument.router_index)).map(port).collect();
    let lanes = ports.len() * channels;
    Rc::new_cyclic(|itself| {
        RefCell::new(Switch {
            itself: itself.clone(),
            session: Session::of_builder(),
            index: argument.router_index,
            channels,
            policies,
            packet,
            input_room,
            output_room: fields.count("output_buffer_size"),
            period: fields.count("crossbar_frequency_divisor") as Time,
            by_label,
            transit_first,
            queued: vec![0; ports.len()],
            ports,
            senders: Vec::new(),
            planned: Vec::new(),
            inputs: (0..lanes).map(|_| VecDeque::new()).collect(),
            outputs: (0..lanes).map(|_| VecDeque::new()).collect(),
            output_of: vec![None; lanes],
            input_of: vec![None; lanes],
            waiting: LaneSet::new(lanes),
            crossing: LaneSet::new(lanes),
            ways: (0..lanes).map(|_| None).collect(),
            requests: Vec::new(),
        })
    })
}

/// Tell the routers how often each class of links takes a phit, which CAMINOS shows by the cycle alone.
pub fn find_periods(simulation: &mut Simulation, session: &Session) {
    let shared = &mut simulation.shared;
    let now = shared.cycle;
    let mut periods = Vec::new();
    for class in 0..shared.link_classes.len() {
        shared.cycle = 1;
        while !shared.is_link_cycle(class) {
            shared.cycle += 1;
        }
        periods.push(shared.cycle);
    }
    shared.cycle = now;
    *session.link_periods.borrow_mut() = periods;
}

impl Switch {
    fn lane(&self, port: usize, channel: usize) -> usize {
        port * self.channels + channel
    }

    /// Plan the next use of the crossbar from `cycle` on, if none is planned that is as early.
    fn plan(&mut self, cycle: Time, delay: Time) -> Option<EventGeneration> {
        let target = round_to_multiple(cycle + delay, self.period);
        if self.planned.last().map_or(false, |&next| next <= target) {
            return None;
        }
        self.planned.push(target);
        let itself = self.itself.upgrade().expect("the router is there");
        Some(at_end_of_cycle(target - cycle, itself))
    }

    /// Let a port look for a phit to send from `cycle` on, if it is not going to.
    fn wake(&mut self, port: usize, cycle: Time, delay: Time) -> Option<EventGeneration> {
        if std::mem::replace(&mut self.ports[port].awake, true) {
            return None;
        }
        let sender = &self.senders[port];
        let target = round_to_multiple(cycle + delay, sender.borrow().period);
        Some(at_end_of_cycle(target - cycle, sender.clone()))
    }

    /// Ports cannot send before the crossbar has been used, and the classes of links are not known when they are built.
    fn make_senders(&mut self, simulation: &SimulationShared) {
        let periods = self.session.link_periods.borrow();
        for (port, Port { class, .. }) in self.ports.iter().enumerate() {
            let (router, delay) = (self.itself.clone(), simulation.link_classes[*class].delay);
            let period = *periods.get(*class).expect("find_periods has been called");
            self.senders.push(Rc::new_cyclic(|itself: &Weak<RefCell<Sender>>| {
                RefCell::new(Sender { itself: itself.clone(), router, port, delay, period })
            }));
        }
    }

    /// Let all packets ask that wait; give whether there are any.
    fn ask(&mut self, simulation: &SimulationShared, rng: &mut StdRng) -> bool {
        let mut least = 0;
        while let Some(input) = self.waiting.next(least) {
            least = input + 1;
            let ways = match self.ways[input].take() {
                Some(ways) => ways,
                None => self.find_ways(input, simulation, rng),
            };
            if let [Policy::Room, Policy::Draw] = self.policies[..] {
                self.ask_for_any(input, &ways, simulation, rng);
            } else {
                self.ask_by_policy(input, &ways, simulation, rng);
            }
            if ways.lasting {
                self.ways[input] = Some(ways);
            }
        }
        least > 0
    }

    fn find_ways(&self, input: usize, simulation: &SimulationShared, rng: &mut StdRng) -> Ways {
        let packet = &self.inputs[input][0].packet;
        let (node, topology) = (packet.message.destination, simulation.network.topology.as_ref());
        let goal = match topology.server_neighbour(node) {
            (Location::RouterPort { router_index, .. }, _) => router_index,
            _ => unreachable!("a node stands at a router"),
        };
        let info = packet.routing_info.borrow();
        let found = simulation.routing.next(&info, topology, self.index, goal, Some(node), self.channels, rng);
        let found = found.unwrap_or_else(|error| panic!("error {error} while routing"));
        assert!(!found.candidates.is_empty(), "no way from router {} to node {node}", self.index);
        Ways { goal, candidates: found.candidates, lasting: found.idempotent }
    }

    /// Whether a packet that begins may have an output lane now.
    fn is_open(&self, lane: usize) -> bool {
        self.input_of[lane].is_none() && self.output_room - self.outputs[lane].len() >= self.packet
    }

    /// Draw one of the ways that have room.
    fn ask_for_any(&mut self, input: usize, ways: &Ways, simulation: &SimulationShared, rng: &mut StdRng) {
        let open = |way: &&CandidateEgress| self.is_open(self.lane(way.port, way.virtual_channel));
        let count = ways.candidates.iter().filter(open).count();
        if count > 0 {
            let drawn = rng.gen_range(0..count);
            let way = ways.candidates.iter().filter(open).nth(drawn).expect("there are so many");
            self.request(input, way, ways.goal, simulation, rng);
        }
    }

    /// Ask CAMINOS' policies which of the ways to take.
    fn ask_by_policy(&mut self, input: usize, ways: &Ways, simulation: &SimulationShared, rng: &mut StdRng) {
        let has_room = |way: &CandidateEgress| self.is_open(self.lane(way.port, way.virtual_channel));
        let first_asks_for_room = matches!(self.policies[0], Policy::Room);
        let mut left: Vec<CandidateEgress> =
            ways.candidates.iter().filter(|&way| !first_asks_for_room || has_room(way)).cloned().collect();
        if left.is_empty() {
            return;
        }
        let topology = simulation.network.topology.as_ref();
        let phit = self.inputs[input][0].clone();
        let performed_hops = phit.packet.routing_info.borrow().hops;
        let info = RequestInfo {
            target_router_index: ways.goal,
            entry_port: input / self.channels,
            entry_virtual_channel: input % self.channels,
            performed_hops,
            server_ports: None,
            port_average_neighbour_queue_length: None,
            port_last_transmission: None,
            port_occupied_output_space: Some(&self.queued),
            port_available_output_space: None,
            virtual_channel_occupied_output_space: None,
            virtual_channel_available_output_space: None,
            time_at_front: None,
            current_cycle: simulation.cycle,
            phit,
        };
        for policy in &self.policies {
            match policy {
                Policy::Room => left.retain(has_room),
                Policy::Draw => left = vec![left.swap_remove(rng.gen_range(0..left.len()))],
                Policy::Other(policy) => left = policy.filter(left, self, &info, topology, rng),
            }
            if left.is_empty() {
                return;
            }
        }
        for way in left {
            self.request(input, &way, ways.goal, simulation, rng);
        }
    }

    fn request(
        &mut self,
        input: usize,
        way: &CandidateEgress,
        goal: usize,
        simulation: &SimulationShared,
        rng: &mut StdRng,
    ) {
        let (routing, topology) = (&simulation.routing, simulation.network.topology.as_ref());
        let packet = &self.inputs[input][0].packet;
        let (info, node) = (&packet.routing_info, Some(packet.message.destination));
        routing.performed_request(way, info, topology, self.index, goal, node, self.channels, rng);
        let in_transit = self.ports[input / self.channels].credits.is_some();
        let label = if self.transit_first && in_transit { 0 } else { way.label };
        let output = self.lane(way.port, way.virtual_channel);
        self.requests.push(Request { input, output, label });
    }

    /// Grant what is free, in random order or by label.
    fn grant(&mut self, rng: &mut StdRng) {
        let mut requests = take(&mut self.requests);
        requests.shuffle(rng);
        if self.by_label {
            requests.sort_by_key(|request| request.label);
        }
        for Request { input, output, .. } in requests.drain(..) {
            if self.input_of[output].is_none() && self.output_of[input].is_none() {
                self.input_of[output] = Some(input);
                self.output_of[input] = Some(output);
                self.crossing.insert(output);
                self.waiting.remove(input);
                self.ways[input] = None;
            }
        }
        self.requests = requests;
    }

    /// Move a phit to each output lane that has an input lane; give whether any did.
    fn cross(&mut self, simulation: &SimulationShared, events: &mut Vec<EventGeneration>) -> bool {
        let (mut least, mut any) = (0, false);
        while let Some(output) = self.crossing.next(least) {
            least = output + 1;
            let input = self.input_of[output].expect("the output lane has an input lane");
            if let Some(phit) = self.inputs[input].pop_front() {
                any = true;
                self.move_phit(phit, input, output, simulation, events);
            }
        }
        any
    }

    fn move_phit(
        &mut self,
        phit: Rc<Phit>,
        input: usize,
        output: usize,
        simulation: &SimulationShared,
        events: &mut Vec<EventGeneration>,
    ) {
        let (from, to) = (&self.ports[input / self.channels], output / self.channels);
        *phit.virtual_channel.borrow_mut() = Some(output % self.channels);
        let message = left(input % self.channels);
        let freed = Event::Acknowledge { location: from.neighbour.clone(), message };
        events.push(simulation.schedule_link_arrival(from.class, freed));
        if phit.is_end() {
            self.input_of[output] = None;
            self.output_of[input] = None;
            self.crossing.remove(output);
            if !self.inputs[input].is_empty() {
                self.waiting.insert(input);
            }
        }
        assert!(self.outputs[output].len() < self.output_room, "an output lane is full");
        self.outputs[output].push_back(phit);
        self.queued[to] += 1;
        events.extend(self.wake(to, simulation.cycle, 0));
    }

    /// The channel of a port that sends next: of those that may, one with a packet that has begun, and then the first
    /// one from that whose turn it is.
    fn sending_channel(&self, port: usize) -> Option<usize> {
        let Port { credits, turn, .. } = &self.ports[port];
        let mut best = None;
        for channel in 0..self.channels {
            if let Some(phit) = self.outputs[self.lane(port, channel)].front() {
                let begins = phit.is_begin();
                if credits.as_ref().map_or(true, |credits| credits.allow(channel, begins)) {
                    let place = (begins, (channel + self.channels - turn) % self.channels, channel);
                    best = Some(best.map_or(place, |best: (bool, usize, usize)| best.min(place)));
                }
            }
        }
        best.map(|(_, _, channel)| channel)
    }

    /// Take the phit that a port sends now.
    fn send(&mut self, port: usize) -> Option<Rc<Phit>> {
        self.ports[port].awake = false;
        let channel = self.sending_channel(port)?;
        let lane = self.lane(port, channel);
        let phit = self.outputs[lane].pop_front()?;
        let Port { credits, turn, .. } = &mut self.ports[port];
        if let Some(credits) = credits {
            credits.take(channel);
        }
        self.queued[port] -= 1;
        *turn = if phit.is_end() { (channel + 1) % self.channels } else { channel };
        Some(phit)
    }
}

fn at_end_of_cycle(delay: Time, component: Rc<RefCell<dyn Eventful>>) -> EventGeneration {
    EventGeneration { delay, position: CyclePosition::End, event: Event::Generic(component) }
}

impl Eventful for Switch {
    /// Use the crossbar once.
    fn process(&mut self, simulation: &SimulationShared, mutable: &mut SimulationMut) -> Vec<EventGeneration> {
        if self.senders.is_empty() {
            self.make_senders(simulation);
        }
        let asked = self.ask(simulation, &mut mutable.rng);
        self.grant(&mut mutable.rng);
        let mut events = Vec::new();
        let moved = self.cross(simulation, &mut events);
        self.planned.pop();
        if asked || moved {
            events.extend(self.plan(simulation.cycle, 1));
        }
        events
    }
    fn as_eventful(&self) -> Weak<RefCell<dyn Eventful>> {
        self.itself.clone()
    }
}

/// Sends the phits of a port of a router.
#[derive(Debug)]
struct Sender {
    itself: Weak<RefCell<Sender>>,
    router: Weak<RefCell<Switch>>,
    port: usize,
    delay: Time,
    /// Cycles from one phit to the next.
    period: Time,
}

impl Eventful for Sender {
    fn process(&mut self, simulation: &SimulationShared, _mutable: &mut SimulationMut) -> Vec<EventGeneration> {
        let router = self.router.upgrade().expect("the router is there");
        let mut router = router.borrow_mut();
        let phit = match router.send(self.port) {
            Some(phit) => phit,
            None => return Vec::new(),
        };
        router.ports[self.port].awake = true;
        let previous = Location::RouterPort { router_index: router.index, router_port: self.port };
        let new = router.ports[self.port].neighbour.clone();
        let event = Event::PhitToLocation { phit, previous, new };
        let next = round_to_multiple(simulation.cycle + 1, self.period) - simulation.cycle;
        vec![
            EventGeneration { delay: self.delay, position: CyclePosition::Begin, event },
            at_end_of_cycle(next, self.itself.upgrade().expect("the sender is there")),
        ]
    }
    fn as_eventful(&self) -> Weak<RefCell<dyn Eventful>> {
        self.itself.clone()
    }
}

impl Router for Switch {
    fn insert(&mut self, cycle: Time, phit: Rc<Phit>, port: usize, _rng: &mut StdRng) -> Vec<EventGeneration> {
        let channel = phit.virtual_channel.borrow().expect("who sends a phit chooses its channel");
        let lane = self.lane(port, channel);
        self.inputs[lane].push_back(phit);
        if self.output_of[lane].is_none() {
            self.waiting.insert(lane);
        }
        self.plan(cycle, 0).into_iter().collect()
    }
    fn acknowledge(&mut self, cycle: Time, port: usize, message: AcknowledgeMessage) -> Vec<EventGeneration> {
        if let Some(credits) = &mut self.ports[port].credits {
            credits.give_back(message);
        }
        let crossbar = self.plan(cycle, 0);
        crossbar.into_iter().chain(self.wake(port, cycle, 0)).collect()
    }
    fn num_virtual_channels(&self) -> usize {
        self.channels
    }
    fn virtual_port_size(&self, _port: usize, _virtual_channel: usize) -> usize {
        self.input_room
    }
    fn iter_phits(&self) -> Box<dyn Iterator<Item = Rc<Phit>>> {
        Box::new(self.inputs.iter().flatten().cloned().collect::<Vec<_>>().into_iter())
    }
    fn get_status_at_emisor(&self, port: usize) -> Option<&dyn StatusAtEmissor> {
        self.ports[port].credits.as_ref().map(|credits| credits as &dyn StatusAtEmissor)
    }
    fn get_maximum_credits_towards(&self, _port: usize, _virtual_channel: usize) -> Option<usize> {
        Some(self.input_room)
    }
    fn get_index(&self) -> Option<usize> {
        Some(self.index)
    }
    fn aggregate_statistics(
        &self,
        _statistics: Option<ConfigurationValue>,
        _router_index: usize,
        _total_routers: usize,
        _cycle: Time,
    ) -> Option<ConfigurationValue> {
        None
    }
    fn reset_statistics(&mut self, _next_cycle: Time) {}
    fn build_emissor_status(&self, _port: usize, _topology: &dyn Topology) -> Box<dyn StatusAtEmissor + 'static> {
        Box::new(Credits::new(self.channels, self.input_room, self.packet))
    }
}

impl Quantifiable for Switch {
    fn total_memory(&self) -> usize {
        size_of::<Switch>()
    }
    fn print_memory_breakdown(&self) {
        println!("switch: {} bytes", self.total_memory());
    }
    fn forecast_total_memory(&self) -> usize {
        self.total_memory()
    }
}

#[cfg(test)]
mod tests {
    //! A grid of 4 x 3 routers with rings, slow links along x, two nodes a router: each routing, with the policies,
    //! allocators and channels that the adapter gives it, on our router and on CAMINOS'.

    use std::fmt::Write as _;

    use super::*;
    use crate::{parse, plugs, result, run};

    fn machine() -> String {
        let router = |x: usize, y: usize| x % 4 + 4 * (y % 3);
        let mut text = "graph 1\nrouters 12\nclasses 2\nnodes 24\n".to_string();
        (0..24).for_each(|node| writeln!(text, "{}", node / 2).expect("text"));
        text += "cables 24\n";
        for (x, y) in (0..12).map(|at| (at % 4, at / 4)) {
            let here = router(x, y);
            writeln!(text, "{here} {} 0 1\n{here} {} 1 1", router(x + 1, y), router(x, y + 1)).expect("text");
        }
        text + "dimensions 2\n4 1 0\n3 1 0\n"
    }

    /// Two phases, in each of which every rank sends to five others, packets of four phits and one of two.
    fn messages() -> String {
        let mut text = "messages 1\njobs 1\nranks 24\n".to_string();
        (0..24).for_each(|node| writeln!(text, "{node}").expect("text"));
        text += "messages 240\n";
        for (rank, sent) in (0..24).flat_map(|rank| (0..10).map(move |sent| (rank, sent))) {
            writeln!(text, "{} {rank} {} 30", sent / 5, (rank + 1 + 7 * sent % 23) % 24).expect("text");
        }
        text
    }

    /// The result file of a simulation with a router.
    fn outcome(router: &str, case: &[&str; 5]) -> String {
        let [kind, channels, policies, allocator, transit] = case;
        let folder = std::env::temp_dir().join(format!("fabricstudy-{router}-{kind}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        std::fs::write(folder.join("graph"), machine()).expect("written");
        std::fs::write(folder.join("messages"), messages()).expect("written");
        let at = folder.display();
        let text = format!(
            r#"Configuration {{
            random_seed: 5, warmup: 0, measured: 100000, server_queue_size: 1, maximum_packet_size: 4,
            topology: Graph {{ filename: "{at}/graph" }},
            traffic: MessageList {{ filename: "{at}/messages", injection: 3, packet: 4 }},
            router: {router} {{
                virtual_channels: {channels}, virtual_channel_policies: [{policies}], crossbar_frequency_divisor: 2,
                buffer_size: 16, output_buffer_size: 8, flit_size: 4, bubble: false, allow_request_busy_port: true,
                intransit_priority: {transit}, allocator: {allocator},
            }},
            routing: Routes {{
                kind: "{kind}", tie: "split", via: "router", class_weight: [1, 1], channels: {channels},
            }},
            link_classes: [
                LinkClass {{ delay: 7, frequency_divisor: 6 }}, LinkClass {{ delay: 5, frequency_divisor: 3 }},
                LinkClass {{ delay: 2, frequency_divisor: 2 }},
            ],
        }}"#
        );
        let (session, plugs) = (Rc::new(Session::default()), plugs());
        let mut simulation = session.during(|| Simulation::new(&parse(&text), &plugs));
        std::fs::remove_dir_all(&folder).expect("removed");
        find_periods(&mut simulation, &session);
        run(&mut simulation, &session).expect("all jobs finish");
        result::to_json(&simulation, &session)
    }

    #[test]
    fn results_are_those_of_input_output_byte_by_byte() {
        const ANY: &str = "EnforceFlowControl, Random";
        const LEAST_QUEUE: &str = "EnforceFlowControl, OccupancyFunction { label_coefficient: 1, \
            occupancy_coefficient: 1, product_coefficient: 0, constant_coefficient: 0, use_internal_space: true, \
            use_neighbour_space: true, aggregate: true }, LowestLabel, Random";
        const SHORTER: &str = "LowestSinghWeight { extra_congestion: 1, aggregate: true, use_internal_space: true }, \
            EnforceFlowControl, Random";
        for case in [
            ["minimal", "3", ANY, "Random", "false"],
            ["valiant", "6", ANY, "Random", "false"],
            ["ugal", "6", SHORTER, "Random", "false"],
            ["dimension-order", "4", ANY, "RandomWithPriority", "false"],
            ["adaptive", "3", LEAST_QUEUE, "RandomWithPriority", "true"],
        ] {
            assert_eq!(outcome("Switch", &case), outcome("InputOutput", &case), "{}", case[0]);
        }
    }
}
