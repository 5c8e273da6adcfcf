//! Router `Switch { ... }`: what CAMINOS' `InputOutput` does to every phit in every cycle, in a half of its time.
//!
//! It takes the fields of `InputOutput`, as far as they are those that our adapter writes. Results must be equal byte by
//! byte, so that studies may be continued with either, which the tests below check: the events are those of
//! `InputOutput` in their order, and random numbers are drawn by the same parts in the same order:
//!
//! 1. input by input, channel by channel, each packet that waits at the front requests one of the ways that have room;
//! 2. the crossbar shuffles these requests, sorts them where it goes by label, and grants what is free;
//! 3. an output draws nothing: its channels take turns, and a packet that has begun goes first.
//!
//! `InputOutput` allocates the crossbar once a cycle: a packet that loses waits for a whole phit, beside outputs that are
//! free. Then the size of the phit decides how well inputs and outputs are matched. With `maximal: true` the packets that
//! lost request again in the same cycle, until nothing is granted (parallel iterative matching: Anderson, Owicki, Saxe
//! and Thacker, ACM Trans. Computer Systems 11(4), 1993), which is what ever smaller phits converge to.
//!
//! Policies, by the names that CAMINOS gives them: `[EnforceFlowControl, Random]` draws one of the ways that have room;
//! with `OccupancyFunction` and `LowestLabel` between the two it takes one with the least sum of label and queue. Our own
//! `[Ugal { bias: 1, threshold: 0 }]` lets a packet choose at its first router between its minimal ways, labelled 0, and
//! its detours: with q the data for a port, in the output, waiting in the next input and granted or requested at the
//! inputs, p the packet and h the hops ahead, it is minimal if `(q + p) h` of its best minimal way is at most `bias (q + p) h +
//! threshold` of its best detour. Then it draws one of the ways of its choice that have room. The choice is made with the
//! grant.
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
use caminos_lib::quantify::Quantifiable;
use caminos_lib::router::{AcknowledgeMessage, Router, RouterBuilderArgument, StatusAtEmissor};
use caminos_lib::routing::CandidateEgress;
use caminos_lib::topology::{Location, Topology};
use caminos_lib::{Phit, Simulation, SimulationMut, SimulationShared, Time};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::Rng;

use crate::configuration::Fields;
use crate::credits::{channel_of, left, Credits};
use crate::lanes::LaneSet;
use crate::session::Session;

/// How a packet chooses among its ways.
#[derive(Debug, Clone, Copy)]
enum Policy {
    /// Any way that has room.
    Any,
    /// The one of them with the least sum of label and queue.
    LeastQueue,
    /// Minimal or a detour, whichever has the lower product of queue and hops.
    Ugal { bias: f64, threshold: f64 },
}

/// Where a link leads, and what is known of its other end.
#[derive(Debug)]
struct Port {
    neighbour: Location,
    class: usize,
    /// A node takes all that comes.
    leads_to_node: bool,
    /// Phits sent on all channels whose room has not been given back.
    outstanding: usize,
    /// How many these are if the link is in full use and nothing waits at its other end.
    under_way: usize,
    /// Phits that cross to the port's outputs or, in this allocation, request to.
    to_come: usize,
    /// The channel whose turn it is.
    turn: usize,
    /// Whether the port is going to look for a phit to send.
    awake: bool,
}

/// Where the packet at the front of an input lane may go; that does not change while it waits.
#[derive(Debug)]
struct Ways {
    goal: usize,
    candidates: Vec<CandidateEgress>,
}

/// A packet at the front of an input lane asks for an output lane.
#[derive(Debug, Clone, Copy)]
struct Request {
    input: usize,
    /// Which of its ways.
    way: usize,
    output: usize,
    label: i32,
}

/// A phit in a queue, with what decides where it goes: each look at phit, packet and message is a cache miss.
#[derive(Debug)]
struct Queued {
    phit: Rc<Phit>,
    begins: bool,
    ends: bool,
    /// The node for which it is.
    node: u32,
}

#[derive(Debug)]
struct Switch {
    itself: Weak<RefCell<Switch>>,
    session: Rc<Session>,
    index: usize,
    channels: usize,
    policy: Policy,
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
    /// Whether packets that were not granted an output request again in the same cycle.
    maximal: bool,
    ports: Vec<Port>,
    /// Phits that wait to leave by each port.
    queued: Vec<usize>,
    /// What sends the phits of each port; made when the router first has work.
    senders: Vec<Rc<RefCell<Sender>>>,
    /// Cycles in which the crossbar is going to be used, the next one last.
    planned: Vec<Time>,
    inputs: Vec<VecDeque<Queued>>,
    outputs: Vec<VecDeque<Queued>>,
    /// Output lanes with phits.
    filled: LaneSet,
    /// Phits that have room at the other end of each output lane.
    free: Vec<usize>,
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

const FIELDS: [&str; 11] = [
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
    "maximal",
];

/// Build a router.
///
/// # Panics
/// If a field is missing, or has a value that only `InputOutput` takes.
pub fn build(argument: RouterBuilderArgument) -> Rc<RefCell<dyn Router>> {
    let fields = Fields::of(argument.cv, &FIELDS);
    let (flag, packet) = (|name| fields.flag(name), fields.count("flit_size"));
    assert!(!flag("bubble") && flag("allow_request_busy_port"), "a Switch has no bubbles, and its ports may be busy");
    let (by_label, transit_first) = (fields.part("allocator") == "RandomWithPriority", flag("intransit_priority"));
    assert!(by_label || fields.part("allocator") == "Random" && !transit_first, "not an allocator of a Switch");
    let (channels, input_room) = (fields.count("virtual_channels"), fields.count("buffer_size"));
    let port = |number| {
        let (neighbour, class) = argument.topology.neighbour(argument.router_index, number);
        let leads_to_node = matches!(neighbour, Location::ServerPort(_));
        Port { neighbour, class, leads_to_node, outstanding: 0, under_way: 0, to_come: 0, turn: 0, awake: false }
    };
    let ports: Vec<Port> = (0..argument.topology.ports(argument.router_index)).map(port).collect();
    let lanes = ports.len() * channels;
    Rc::new_cyclic(|itself| {
        RefCell::new(Switch {
            itself: itself.clone(),
            session: Session::of_builder(),
            index: argument.router_index,
            channels,
            policy: policy(fields.list("virtual_channel_policies")),
            packet,
            input_room,
            output_room: fields.count("output_buffer_size"),
            period: fields.count("crossbar_frequency_divisor") as Time,
            by_label,
            transit_first,
            maximal: flag("maximal"),
            queued: vec![0; ports.len()],
            ports,
            senders: Vec::new(),
            planned: Vec::new(),
            inputs: (0..lanes).map(|_| VecDeque::new()).collect(),
            outputs: (0..lanes).map(|_| VecDeque::new()).collect(),
            filled: LaneSet::new(lanes),
            free: vec![input_room; lanes],
            output_of: vec![None; lanes],
            input_of: vec![None; lanes],
            waiting: LaneSet::new(lanes),
            crossing: LaneSet::new(lanes),
            ways: (0..lanes).map(|_| None).collect(),
            requests: Vec::new(),
        })
    })
}

/// The policy that a list of names stands for.
fn policy(list: &[ConfigurationValue]) -> Policy {
    let name = |cv: &ConfigurationValue| match cv {
        ConfigurationValue::Object(name, _) => name.clone(),
        _ => String::new(),
    };
    match &list.iter().map(name).collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["EnforceFlowControl", "Random"] => Policy::Any,
        ["EnforceFlowControl", "OccupancyFunction", "LowestLabel", "Random"] => Policy::LeastQueue,
        ["Ugal"] => {
            let fields = Fields::of(&list[0], &["bias", "threshold"]);
            Policy::Ugal { bias: fields.number("bias"), threshold: fields.number("threshold") }
        }
        names => panic!("not the policies of a Switch: {}", names.join(", ")),
    }
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
        for (port, Port { class, under_way, .. }) in self.ports.iter_mut().enumerate() {
            let (router, delay) = (self.itself.clone(), simulation.link_classes[*class].delay);
            let period = *periods.get(*class).expect("find_periods has been called");
            // There and back, since room is given back by a message of the same delay.
            *under_way = (2 * delay / period) as usize;
            self.senders.push(Rc::new_cyclic(|itself: &Weak<RefCell<Sender>>| {
                RefCell::new(Sender { itself: itself.clone(), router, port, delay, period })
            }));
        }
    }

    /// Let all packets that wait request a way; return whether there are any.
    fn request_all(&mut self, simulation: &SimulationShared, rng: &mut StdRng) -> bool {
        // Who comes later finds more demand under UGAL, so another input begins each time.
        let lanes = self.inputs.len();
        let first = if matches!(self.policy, Policy::Ugal { .. }) { simulation.cycle as usize % lanes } else { 0 };
        let mut any = false;
        for (mut least, end) in [(first, lanes), (0, first)] {
            while let Some(input) = self.waiting.next(least).filter(|&input| input < end) {
                (least, any) = (input + 1, true);
                if self.ways[input].is_none() {
                    self.ways[input] = Some(self.find_ways(input, simulation, rng));
                }
                self.request(input, rng);
            }
        }
        any
    }

    fn find_ways(&self, input: usize, simulation: &SimulationShared, rng: &mut StdRng) -> Ways {
        let Queued { phit, node, .. } = &self.inputs[input][0];
        let (node, topology) = (*node as usize, simulation.network.topology.as_ref());
        let goal = match topology.server_neighbour(node) {
            (Location::RouterPort { router_index, .. }, _) => router_index,
            _ => unreachable!("a node stands at a router"),
        };
        let info = phit.packet.routing_info.borrow();
        let found = simulation.routing.next(&info, topology, self.index, goal, Some(node), self.channels, rng);
        let found = found.unwrap_or_else(|error| panic!("error {error} while routing"));
        assert!(!found.candidates.is_empty(), "no way from router {} to node {node}", self.index);
        Ways { goal, candidates: found.candidates }
    }

    /// Whether a packet that begins may have an output lane now.
    fn is_open(&self, lane: usize) -> bool {
        self.input_of[lane].is_none() && self.output_room - self.outputs[lane].len() >= self.packet
    }

    /// Phits that wait at a port, in its output and in the input at the other end of its link, those on the link included.
    fn queue(&self, port: usize) -> usize {
        self.queued[port] + self.ports[port].outstanding
    }

    /// Phits that wait for a port: in its output, at the other end of its link beyond those that a link in full use has
    /// under way, and about to come from the inputs, where packets wait if the crossbar is as fast as a link.
    fn demand(&self, port: usize) -> usize {
        let Port { outstanding, under_way, to_come, .. } = self.ports[port];
        self.queued[port] + outstanding.saturating_sub(under_way) + to_come
    }

    /// Request one of the ways of the packet at the front of an input, if one has room.
    fn request(&mut self, input: usize, rng: &mut StdRng) {
        let candidates = &self.ways[input].as_ref().expect("its ways are known").candidates;
        let open = |way: &CandidateEgress| self.is_open(self.lane(way.port, way.virtual_channel));
        let drawn = match self.policy {
            Policy::Any => draw(candidates, open, rng),
            Policy::LeastQueue => {
                let weight = |way: &CandidateEgress| way.label as usize + self.queue(way.port);
                draw_least(candidates, open, weight, rng)
            }
            // A packet that has decided has one label left.
            Policy::Ugal { .. } if candidates.iter().all(|way| way.label == candidates[0].label) => {
                draw(candidates, open, rng)
            }
            Policy::Ugal { bias, threshold } => {
                let label = choose(candidates, |port| self.demand(port), self.packet, bias, threshold);
                let chosen = |way: &CandidateEgress| way.label == label && open(way);
                draw(candidates, chosen, rng)
            }
        };
        if let Some(way) = drawn {
            let CandidateEgress { port, virtual_channel, label, .. } = candidates[way];
            let in_transit = !self.ports[input / self.channels].leads_to_node;
            let label = match self.policy {
                _ if self.transit_first && in_transit => 0,
                Policy::LeastQueue => label + self.queue(port) as i32,
                _ => label,
            };
            let output = self.lane(port, virtual_channel);
            self.ports[port].to_come += self.packet;
            self.requests.push(Request { input, way, output, label });
        }
    }

    /// Grant what is free, in random order or by label; return the inputs that get nothing, in that order.
    fn grant(&mut self, simulation: &SimulationShared, rng: &mut StdRng) -> Vec<usize> {
        let mut requests = take(&mut self.requests);
        requests.shuffle(rng);
        if self.by_label {
            requests.sort_by_key(|request| request.label);
        }
        let mut lost = Vec::new();
        for Request { input, way, output, .. } in requests.drain(..) {
            self.ports[output / self.channels].to_come -= self.packet;
            if self.input_of[output].is_some() {
                lost.push(input);
                continue;
            }
            self.ports[output / self.channels].to_come += self.inputs[input][0].phit.packet.size;
            self.input_of[output] = Some(input);
            self.output_of[input] = Some(output);
            self.crossing.insert(output);
            self.waiting.remove(input);
            let ways = self.ways[input].take().expect("its ways are known");
            self.tell_routing(input, &ways.candidates[way], ways.goal, simulation, rng);
        }
        self.requests = requests;
        lost
    }

    /// Let the routing note the way that a packet has been granted.
    fn tell_routing(
        &self,
        input: usize,
        way: &CandidateEgress,
        goal: usize,
        simulation: &SimulationShared,
        rng: &mut StdRng,
    ) {
        let (routing, topology) = (&simulation.routing, simulation.network.topology.as_ref());
        let Queued { phit, node, .. } = &self.inputs[input][0];
        let (info, node) = (&phit.packet.routing_info, Some(*node as usize));
        routing.performed_request(way, info, topology, self.index, goal, node, self.channels, rng);
    }

    /// Allocate the crossbar; return whether a packet waited for it.
    fn allocate(&mut self, simulation: &SimulationShared, rng: &mut StdRng) -> bool {
        let any = self.request_all(simulation, rng);
        let mut requested = self.requests.len();
        loop {
            let lost = self.grant(simulation, rng);
            if !self.maximal || lost.is_empty() || lost.len() == requested {
                return any;
            }
            for input in lost {
                self.request(input, rng);
            }
            requested = self.requests.len();
        }
    }

    /// Move a phit to each output lane that has an input lane; give whether any did.
    fn cross(&mut self, simulation: &SimulationShared, events: &mut Vec<EventGeneration>) -> bool {
        let (mut least, mut any) = (0, false);
        while let Some(output) = self.crossing.next(least) {
            least = output + 1;
            let input = self.input_of[output].expect("the output lane has an input lane");
            if let Some(queued) = self.inputs[input].pop_front() {
                any = true;
                self.move_phit(queued, input, output, simulation, events);
            }
        }
        any
    }

    fn move_phit(
        &mut self,
        queued: Queued,
        input: usize,
        output: usize,
        simulation: &SimulationShared,
        events: &mut Vec<EventGeneration>,
    ) {
        let (from, to) = (&self.ports[input / self.channels], output / self.channels);
        *queued.phit.virtual_channel.borrow_mut() = Some(output % self.channels);
        let message = left(input % self.channels);
        let freed = Event::Acknowledge { location: from.neighbour.clone(), message };
        events.push(simulation.schedule_link_arrival(from.class, freed));
        if queued.ends {
            self.input_of[output] = None;
            self.output_of[input] = None;
            self.crossing.remove(output);
            if !self.inputs[input].is_empty() {
                self.waiting.insert(input);
            }
        }
        assert!(self.outputs[output].len() < self.output_room, "an output lane is full");
        self.outputs[output].push_back(queued);
        self.filled.insert(output);
        self.queued[to] += 1;
        self.ports[to].to_come -= 1;
        events.extend(self.wake(to, simulation.cycle, 0));
    }

    /// The channel of a port that sends next: of those that may, one with a packet that has begun, and then the first
    /// one from that whose turn it is.
    fn sending_channel(&self, port: usize) -> Option<usize> {
        let Port { leads_to_node, turn, .. } = self.ports[port];
        let (mut best, mut least) = (None, self.lane(port, 0));
        let end = least + self.channels;
        while let Some(lane) = self.filled.next(least).filter(|&lane| lane < end) {
            least = lane + 1;
            let begins = self.outputs[lane][0].begins;
            if leads_to_node || self.free[lane] >= if begins { self.packet } else { 1 } {
                let channel = lane % self.channels;
                let place = (begins, (channel + self.channels - turn) % self.channels, channel);
                best = Some(best.map_or(place, |best: (bool, usize, usize)| best.min(place)));
            }
        }
        best.map(|(_, _, channel)| channel)
    }

    /// Take the phit that a port sends now.
    fn send(&mut self, port: usize) -> Option<Rc<Phit>> {
        self.ports[port].awake = false;
        let channel = self.sending_channel(port)?;
        let lane = self.lane(port, channel);
        let Queued { phit, ends, .. } = self.outputs[lane].pop_front()?;
        if self.outputs[lane].is_empty() {
            self.filled.remove(lane);
        }
        let Port { leads_to_node, outstanding, turn, .. } = &mut self.ports[port];
        if !*leads_to_node {
            *outstanding += 1;
            self.free[lane] -= 1;
        }
        self.queued[port] -= 1;
        *turn = if ends { (channel + 1) % self.channels } else { channel };
        Some(phit)
    }
}

/// The label of what UGAL takes: 0 for the minimal ways, else that of the best detour.
fn choose(ways: &[CandidateEgress], queue: impl Fn(usize) -> usize, packet: usize, bias: f64, threshold: f64) -> i32 {
    let (mut minimal, mut detour, mut best) = (f64::INFINITY, f64::INFINITY, 0);
    for way in ways {
        let hops = way.estimated_remaining_hops.expect("UGAL's ways have a length");
        let product = ((queue(way.port) + packet) * hops) as f64;
        if way.label == 0 {
            minimal = minimal.min(product);
        } else if product < detour {
            (detour, best) = (product, way.label);
        }
    }
    if minimal <= bias * detour + threshold {
        0
    } else {
        best
    }
}

/// Draw one of the ways that are open.
fn draw(ways: &[CandidateEgress], open: impl Fn(&CandidateEgress) -> bool, rng: &mut StdRng) -> Option<usize> {
    let count = ways.iter().filter(|way| open(way)).count();
    if count == 0 {
        return None;
    }
    let drawn = rng.gen_range(0..count);
    (0..ways.len()).filter(|&way| open(&ways[way])).nth(drawn)
}

/// Draw one of the open ways of least weight.
fn draw_least(
    ways: &[CandidateEgress],
    open: impl Fn(&CandidateEgress) -> bool,
    weight: impl Fn(&CandidateEgress) -> usize,
    rng: &mut StdRng,
) -> Option<usize> {
    let least = ways.iter().filter(|way| open(way)).map(&weight).min()?;
    draw(ways, |way| open(way) && weight(way) == least, rng)
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
        let asked = self.allocate(simulation, &mut mutable.rng);
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
        let (begins, ends, node) = (phit.is_begin(), phit.is_end(), phit.packet.message.destination as u32);
        if begins && self.ports[port].leads_to_node {
            if let Some(offered) = &*self.session.offered.borrow() {
                offered.borrow_mut().enter(&phit.packet.message, cycle);
            }
        }
        self.inputs[lane].push_back(Queued { phit, begins, ends, node });
        if self.output_of[lane].is_none() {
            self.waiting.insert(lane);
        }
        self.plan(cycle, 0).into_iter().collect()
    }
    fn acknowledge(&mut self, cycle: Time, port: usize, message: AcknowledgeMessage) -> Vec<EventGeneration> {
        if !self.ports[port].leads_to_node {
            let lane = self.lane(port, channel_of(message));
            self.free[lane] += 1;
            self.ports[port].outstanding -= 1;
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
        Box::new(self.inputs.iter().flatten().map(|queued| queued.phit.clone()).collect::<Vec<_>>().into_iter())
    }
    fn get_status_at_emisor(&self, _port: usize) -> Option<&dyn StatusAtEmissor> {
        None
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
    fn build_emissor_status(&self, port: usize, _topology: &dyn Topology) -> Box<dyn StatusAtEmissor + 'static> {
        let egress = match self.ports[port].neighbour {
            Location::ServerPort(server) => self.session.egress(server),
            _ => Rc::default(),
        };
        Box::new(Credits::new(self.channels, self.input_room, self.packet, egress))
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

    /// Every rank sends to ten others, the last five after the first five, packets of four phits and one of two.
    fn operations() -> String {
        let mut text = "operations 1\njobs 1\nranks 24\n".to_string();
        (0..24).for_each(|node| writeln!(text, "{node}").expect("text"));
        text += "streams 0\noperations 480\n";
        let step = |sent: usize| 1 + 7 * sent % 23;
        for (rank, sent) in (0..24).flat_map(|rank| (0..10).map(move |sent| (rank, sent))) {
            let [to, from] = [step(sent), 24 - step(sent)].map(|step| (rank + step) % 24);
            writeln!(text, "3 {rank} 0 30 {}\n2 {rank} 0 0 {}", 20 * to + 2 * sent + 1, 20 * from + 2 * sent)
                .expect("text");
        }
        text += "dependencies 600\n";
        for (first, needs) in (0..24).flat_map(|rank| (0..5).map(move |sent| (20 * rank, 20 * rank + 2 * sent))) {
            (5..10).for_each(|later| writeln!(text, "{needs} {} 0", first + 2 * later).expect("text"));
        }
        text
    }

    /// The result file of a simulation with a router.
    fn outcome(router: &str, case: &[&str; 5]) -> String {
        let [kind, channels, policies, allocator, transit] = case;
        // A field that `InputOutput` does not have.
        let maximal = if router == "Switch" { "maximal: false," } else { "" };
        let folder = std::env::temp_dir().join(format!("fabricstudy-{router}-{kind}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        std::fs::write(folder.join("graph"), machine()).expect("written");
        std::fs::write(folder.join("operations"), operations()).expect("written");
        let at = folder.display();
        let text = format!(
            r#"Configuration {{
            random_seed: 5, warmup: 0, measured: 100000, server_queue_size: 1, maximum_packet_size: 4,
            topology: Graph {{ filename: "{at}/graph" }},
            traffic: TaskGraph {{ filename: "{at}/operations", injection: 3, packet: 4, times: false }},
            router: {router} {{
                virtual_channels: {channels}, virtual_channel_policies: [{policies}], crossbar_frequency_divisor: 2,
                buffer_size: 16, output_buffer_size: 8, flit_size: 4, bubble: false, allow_request_busy_port: true,
                intransit_priority: {transit}, allocator: {allocator}, {maximal}
            }},
            routing: Routes {{
                kind: "{kind}", tie: "split", via: "router", class_weight: [1, 1], channels: {channels},
                hop_classes: {channels}, detours: 1, progressive: false,
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

    /// Ways of (port, label, hops), and what UGAL takes for given phits that wait at the ports; packets of 2 phits.
    fn chosen(ways: &[(usize, i32, usize)], waiting: &[usize], bias: f64, threshold: f64) -> i32 {
        let way = |&(port, label, hops): &(usize, i32, usize)| CandidateEgress {
            label,
            estimated_remaining_hops: Some(hops),
            ..CandidateEgress::new(port, 0)
        };
        let ways: Vec<_> = ways.iter().map(way).collect();
        choose(&ways, |port| waiting[port], 2, bias, threshold)
    }

    #[test]
    fn ugal_takes_the_lower_product_of_queue_and_hops() {
        let direct = [(0, 0, 1), (1, 1, 2)];
        assert_eq!(chosen(&direct, &[0, 0], 1., 0.), 0); // 2 < 4
        assert_eq!(chosen(&direct, &[2, 0], 1., 0.), 0); // 4 = 4
        assert_eq!(chosen(&direct, &[3, 0], 1., 0.), 1); // 5 > 4
        assert_eq!(chosen(&direct, &[3, 1], 1., 0.), 0); // 5 < 6
                                                         // A bias of 2 doubles the detour's product, a threshold of 3 adds to it.
        assert_eq!([5, 6, 7].map(|queue| chosen(&direct, &[queue, 0], 2., 0.)), [0, 0, 1]);
        assert_eq!([4, 5, 6].map(|queue| chosen(&direct, &[queue, 0], 1., 3.)), [0, 0, 1]);
    }

    #[test]
    fn ugal_compares_its_best_minimal_way_with_the_best_of_its_detours() {
        // Ports 0 and 1 are minimal, 2 and 3 begin detours through the first and the second place that was drawn.
        let tree = [(0, 0, 2), (1, 0, 2), (2, 1, 4), (3, 2, 3)];
        assert_eq!(chosen(&tree, &[90, 3, 1, 2], 1., 0.), 0); // 10 < 12, 12
        assert_eq!(chosen(&tree, &[90, 9, 9, 5], 1., 0.), 2); // 22 > 21 < 44
        assert_eq!(chosen(&tree, &[90, 9, 3, 9], 1., 0.), 1); // 22 > 20 < 33
    }

    #[test]
    fn results_are_those_of_input_output_byte_by_byte() {
        const ANY: &str = "EnforceFlowControl, Random";
        const LEAST_QUEUE: &str = "EnforceFlowControl, OccupancyFunction { label_coefficient: 1, \
            occupancy_coefficient: 1, product_coefficient: 0, constant_coefficient: 0, use_internal_space: true, \
            use_neighbour_space: true, aggregate: true }, LowestLabel, Random";
        for case in [
            ["minimal", "3", ANY, "Random", "false"],
            ["valiant", "6", ANY, "Random", "false"],
            ["dimension-order", "4", ANY, "RandomWithPriority", "false"],
            ["adaptive", "3", LEAST_QUEUE, "RandomWithPriority", "true"],
        ] {
            assert_eq!(outcome("Switch", &case), outcome("InputOutput", &case), "{}", case[0]);
        }
    }
}
