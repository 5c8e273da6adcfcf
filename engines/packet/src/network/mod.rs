//! Routers, links and packets in continuous time.
//!
//! A router has ports; each has an input side and an output side. A network interface is a port with an output side alone. An
//! output has a *lane*, a queue of packets, for each virtual channel. An input whose channels share the buffer has a queue
//! for each set of outputs to which its packets may go (virtual output queues: Tamir and Frazier, IEEE Trans. Computers
//! 41(6), 1992), so that no packet waits behind one that goes elsewhere. An input whose channels have buffers of their own has
//! a lane for each. Times are picoseconds.
//!
//! 1. The head of a packet reaches an input a latency after its link began to send it, its tail a latency after the link
//!    ended. The first packet of a queue asks for an output lane when its head is there; in a lane also not before its
//!    predecessor has crossed.
//! 2. An output lane is open to a packet if no other one crosses to it, and the output queue has room for a packet of
//!    full size. Of several open lanes a packet gets one at random, under adaptive routing and UGAL one of a port with
//!    the least queue. If none is open, it waits for all of them; when one opens, the first packet of a randomly
//!    selected waiting queue gets it. The allocation is thus work-conserving: no output is idle while a packet may use
//!    it (a maximal matching, to which parallel iterative matching converges: Anderson, Owicki, Saxe and Thacker, ACM
//!    Trans. Computer Systems 11(4), 1993).
//! 3. Crossing takes the time of the packet at the speed of the crossbar, and no less than until its tail is there. Its room
//!    in the input is then free, which the sender knows a latency later (credit).
//! 4. A link that is free sends the first packet of a lane, the lanes taking turns, if the input at its other end has room
//!    for all of it (virtual cut-through: Kermani and Kleinrock, Computer Networks 3(4), 1979). It is busy for the time of the
//!    packet at its bandwidth, and no less than until the tail has crossed: a packet that comes from a slower link holds a
//!    faster one. Its room in the output queue is free when the link has sent it.
//! 5. A node accepts all packets (no backpressure).
//!
//! What happens at one time: first links that become free send, and room is given back; then ports that opened, in random
//! order, take waiting packets; then new packets ask, in random order: that of the hashes in their events. Random choices are
//! hashes of the seed, what chooses, and how many packets have crossed to the port, so that they depend neither on the order
//! in which events were planned nor on the unit of time.

mod arbitration;
mod building;
mod crossing;
mod interfaces;
mod links;
mod ugal;

use std::collections::VecDeque;

use library::job_link_packets::JobLinkPackets;
use library::random::{below, mix};
use library::settings::Kind;

use crate::congestion::{Acknowledgement, CongestionManagement, THRESHOLD_PACKETS};
use crate::fair::FairArbitration;
use crate::pool::Pools;
use crate::queue::{Event, Queue};
use crate::routes::{Routes, Way};

pub const NONE: u32 = u32::MAX;

const WAKE: u64 = 0;
const ASK: u64 = 1;
const TASK: u64 = 2;

/// What `a` says of a task; `b` is its number.
const TIMER: u32 = 0;
const ARRIVAL: u32 = 1;
const ACKNOWLEDGEMENT: u32 = 2;

/// Where a packet stands with its detour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    #[default]
    Direct,
    Detour,
    Undecided,
}

#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub struct Packet {
    /// When its head and its tail are, or will be, where it is queued.
    pub head: u64,
    pub tail: u64,
    /// The next packet of the lane.
    pub next: u32,
    /// Random bits of its own.
    pub key: u32,
    pub message: u32,
    pub node: u32,
    pub goal: u32,
    /// The intermediate of its detour; before it has decided, where those that it drew are listed; the listed hop or path
    /// that it has drawn; its directions at ties; or the hash of its flow.
    pub via: u32,
    pub size: u32,
    /// Lower goes first under dimension order.
    pub priority: u32,
    pub hop: u8,
    /// Hop classes that it has skipped.
    pub skipped: u8,
    pub stage: Stage,
    pub traffic_class: u8,
    pub is_marked: bool,
    /// The unit of the buffer that holds it, and the input where it is.
    unit: u8,
    input: u32,
    /// The interface that sent it, and the latencies of its way, as far as acknowledgements need them.
    pub interface: u32,
    pub latency: u32,
}

/// Packets at an input, of which the first one asks.
#[derive(Debug, Clone, Copy)]
struct InputQueue {
    /// When the last packet has crossed.
    busy_until: u64,
    /// Of a virtual output queue, its outputs.
    outputs: u64,
    head: u32,
    tail: u32,
    port: u32,
    /// Counts the packets that have crossed; older entries in lists of waiting queues are outdated.
    ticket: u32,
    waiting: bool,
}

#[derive(Debug, Clone, Copy)]
struct OutLane {
    busy_until: u64,
    head: u32,
    tail: u32,
}

/// Where the link of a port leads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    /// An input port.
    Router(u32),
    #[default]
    Node,
}

#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Port {
    pub free_at: u64,
    /// Time of its next event.
    wake_at: u64,
    pub latency: u64,
    ps_per_byte: f64,
    /// What rounding has left over since the link was idle.
    remainder: f64,
    /// Lanes with packets, and lanes to which one crosses, or has crossed since the last check.
    filled: u64,
    crossing: u64,
    end: End,
    /// The directed link of the machine; none to and from nodes.
    link: u32,
    /// The packet that the link sends.
    leaving_unit: u32,
    leaving_bytes: u32,
    /// Bytes in virtual output queues to it, those to several outputs in equal parts; bytes in the output queue; and bytes
    /// sent whose credit has not come back.
    awaiting: u32,
    queued: u32,
    outstanding: u32,
    /// Bytes without credit if the link is in full use and nothing waits at its other end.
    under_way: u32,
    pub bytes: u64,
    pub packets: u64,
    /// Packets that have crossed to it.
    granted: u32,
    turn: u8,
    waits_for_credit: bool,
}

#[derive(Debug, Clone, Copy)]
struct Credit {
    time: u64,
    unit: u32,
    bytes: u32,
}

#[derive(Debug, Clone, Copy)]
struct Waiter {
    lanes: u64,
    /// Distinguishes the queues in random choices.
    name: u64,
    input: u32,
    ticket: u32,
}

/// Events that the network passes to its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkEvent {
    /// A network interface may send.
    Ready(u32),
    Timer(u32),
    /// The last byte of a message has arrived.
    Arrived(u32),
    /// An acknowledgement has reached an interface.
    Acknowledged(u32),
}

/// A packet that leaves a node.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    pub message: u32,
    pub size: u32,
    /// Destination: a port of a node.
    pub node: u32,
    pub job: usize,
}

/// Progress of a message at its destination.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrival {
    /// When the last byte that has arrived did so: packets may end at the ports of a node in another order than they
    /// begin.
    last: u64,
    /// Bytes that have not.
    pub to_come: u32,
    /// What distinguishes it from other messages of its nodes.
    pub number: u32,
}

impl Arrival {
    pub fn of(bytes: u32, number: u32) -> Arrival {
        Arrival { last: 0, to_come: bytes, number }
    }
}

/// What was counted as packets reached their nodes.
#[derive(Debug, Default)]
pub struct Counts {
    pub packets_by_hops: Vec<u64>,
    /// Minimal packets and detours under UGAL.
    pub minimal: [u64; 2],
    pub injected_bytes: u64,
    pub ejected_bytes: u64,
}

pub struct Network {
    pub now: u64,
    seed: u64,
    queue: Queue,
    pub packets: Vec<Packet>,
    free: u32,
    /// Lanes port by port; or virtual output queues, of which the free ones and those of each port are listed.
    inputs: Vec<InputQueue>,
    free_inputs: Vec<u32>,
    queues_of: Vec<Vec<(u64, u32)>>,
    has_lanes: bool,
    outputs: Vec<OutLane>,
    pub ports: Vec<Port>,
    /// Router of each of its ports, and the port that sends to its input side.
    router_of: Vec<u32>,
    sender_of: Vec<u32>,
    pub first_interface: u32,
    /// Port of the router to each node.
    node_port: Vec<u32>,
    node_router: Vec<u32>,
    out_pools: Pools,
    /// Room at the other end, as the sender knows it.
    in_pools: Pools,
    credits: Vec<VecDeque<Credit>>,
    waiters: Vec<Vec<Waiter>>,
    lanes: u32,
    lanes_per_traffic_class: u32,
    unit_of_lane: Vec<u32>,
    /// Lanes of each traffic class and class of channels.
    lanes_of_class: Vec<u64>,
    class_of_channel: Vec<u8>,
    /// For each port its virtual time, and for each of its traffic classes the end of what it has sent.
    virtual_time: Vec<f64>,
    served: Vec<f64>,
    pub routes: Routes,
    ps_per_byte_crossbar: f64,
    least_queue: bool,
    fair: Option<FairArbitration>,
    pub management: Option<CongestionManagement>,
    /// Intermediates that packets under UGAL have drawn, `detours` each, and the free ones among them.
    intermediates: Vec<u32>,
    free_intermediates: Vec<u32>,
    ways: Vec<Way>,
    opened: Vec<u32>,
    /// Of each message.
    pub arrivals: Vec<Arrival>,
    /// Packets that each node has sent.
    sent_packets: Vec<u32>,
    pub counts: Counts,
    pub job_packets: JobLinkPackets,
}

impl Network {
    /// Return bytes and packets of each directed link.
    pub fn link_counts(&self) -> (Vec<u64>, Vec<u64>) {
        let (mut bytes, mut packets) = (vec![0; self.routes.graph.links], vec![0; self.routes.graph.links]);
        for port in self.ports.iter().filter(|port| port.link != NONE) {
            bytes[port.link as usize] += port.bytes;
            packets[port.link as usize] += port.packets;
        }
        (bytes, packets)
    }

    /// Return the packets that have left a node and not reached another one.
    pub fn packets_under_way(&self) -> usize {
        let (mut free, mut next) = (0, self.free);
        while next != NONE {
            (free, next) = (free + 1, self.packets[next as usize].next);
        }
        self.packets.len() - free
    }

    pub fn set_timer(&mut self, time: u64, timer: u32) {
        self.queue.push(Event { key: time << 2 | TASK, b: timer, a: TIMER });
    }

    /// Process events up to one for the caller, and return it; none without further events.
    pub fn next(&mut self) -> Option<NetworkEvent> {
        loop {
            let event = if self.opened.is_empty() {
                self.queue.pop()?
            } else {
                match self.queue.pop_below(self.now << 2 | ASK) {
                    Some(event) => event,
                    None => {
                        self.allocate_opened();
                        continue;
                    }
                }
            };
            debug_assert!(event.time() >= self.now, "time goes back");
            self.now = event.time();
            match event.key & 3 {
                WAKE => {
                    if self.ports[event.a as usize].wake_at == self.now {
                        self.ports[event.a as usize].wake_at = u64::MAX;
                        if event.a >= self.first_interface {
                            return Some(NetworkEvent::Ready(event.a - self.first_interface));
                        }
                        self.look(event.a);
                    }
                }
                ASK => self.ask(event.a),
                _ if event.a == TIMER => return Some(NetworkEvent::Timer(event.b)),
                _ if event.a == ARRIVAL => return Some(NetworkEvent::Arrived(event.b)),
                _ => {
                    let management = self.management.as_mut().expect("packets are acknowledged");
                    return Some(NetworkEvent::Acknowledged(management.acknowledge(event.b)));
                }
            }
        }
    }

    /// Return random bits of something at a port, others after each packet that crosses to it.
    #[inline]
    fn draw(&self, port: u32, what: u64) -> u64 {
        self.draw_once(u64::from(port) << 32 | u64::from(self.ports[port as usize].granted), what)
    }

    #[inline]
    fn draw_once(&self, when: u64, what: u64) -> u64 {
        mix(self.seed ^ when.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ what.wrapping_mul(0xd134_2543_de82_ef95))
    }

    #[inline]
    fn wake(&mut self, port: u32, time: u64) {
        let state = &mut self.ports[port as usize];
        if time < state.wake_at {
            state.wake_at = time;
            self.queue.push(Event { key: time << 2 | WAKE, b: 0, a: port });
        }
    }

    /// Let a port of a router send, and note whether it may take waiting packets.
    fn look(&mut self, port: u32) {
        self.send(port);
        if self.waiters[port as usize].is_empty() {
            self.plan(port);
        } else {
            self.opened.push(port);
        }
    }

    /// Plan the next event of a port: the first time at which a waiting packet may advance.
    fn plan(&mut self, port: u32) {
        let now = self.now;
        let state = &self.ports[port as usize];
        let is_awaited = !self.waiters[port as usize].is_empty();
        let mut time = u64::MAX;
        if state.free_at > now {
            if state.filled != 0 || is_awaited {
                time = state.free_at;
            }
        } else if state.waits_for_credit {
            time = self.credits[port as usize].front().map_or(u64::MAX, |credit| credit.time);
        }
        if is_awaited {
            let mut crossing = state.crossing;
            while crossing != 0 {
                let busy_until = self.outputs[(port * self.lanes + crossing.trailing_zeros()) as usize].busy_until;
                if busy_until > now {
                    time = time.min(busy_until);
                }
                crossing &= crossing - 1;
            }
        }
        if time != u64::MAX {
            self.wake(port, time);
        }
    }

    pub fn packet_bytes(&self) -> u32 {
        self.routes.settings.links.packet_bytes
    }
}

/// Marks the number of a set of several ways.
const SEVERAL: u64 = 1 << 62;

/// Return a number for a set of ways of packets of a traffic class; different sets have different ones.
fn outputs_of(ways: &[Way], traffic_class: u8) -> u64 {
    let traffic_class = u64::from(traffic_class) << 52;
    let number = |way: &Way| {
        u64::from(way.port) << 17
            | u64::from(way.first_class) << 9
            | u64::from(way.last_class) << 1
            | u64::from(way.escape)
    };
    match ways {
        [way] => number(way) | traffic_class,
        _ => ways.iter().fold(traffic_class | 1, |all, way| mix(all ^ number(way))) >> 1 | SEVERAL,
    }
}

/// Return the way of a set of one.
#[inline]
fn only_way(outputs: u64) -> Option<Way> {
    let class = |shift: u32| (outputs >> shift) as u8;
    let way =
        Way { port: (outputs >> 17) as u32, first_class: class(9), last_class: class(1), escape: outputs & 1 == 1 };
    (outputs & SEVERAL == 0).then_some(way)
}

impl Port {
    /// Count a packet that begins to leave, and return when its last byte has left at the bandwidth of the link.
    #[inline]
    fn occupy(&mut self, now: u64, bytes: u32) -> u64 {
        let left_over = if self.free_at == now { self.remainder } else { 0.0 };
        let exact = f64::from(bytes) * self.ps_per_byte + left_over;
        let length = rounded(exact);
        self.remainder = exact - length as f64;
        self.bytes += u64::from(bytes);
        self.packets += 1;
        now + length
    }
}

/// Round a number that is not negative.
#[inline]
fn rounded(number: f64) -> u64 {
    (number + 0.5) as u64
}

/// Return the bits from `first` up to `end`.
fn mask(first: usize, end: usize) -> u64 {
    let below = |end: usize| if end >= 64 { u64::MAX } else { (1 << end) - 1 };
    below(end) & !below(first)
}
