//! Traffic `MessageList { filename: "..." }`: jobs on given nodes, and the messages of each rank, from a file.
//!
//! The file has one item a line: `messages 1`, `jobs J`; for each job `ranks R`, R lines `NODE`, `messages M`,
//! M lines `PHASE SOURCE DESTINATION PHITS`, with ranks counted within the job. The messages of a rank stand in
//! the order in which it sends them, so their phases do not decrease.
//!
//! * A rank enters its first phase at cycle 0. It leaves a phase when all messages that it sends or gets in that
//!   phase have arrived, last phit included, and enters its next one in the same cycle. There is no barrier: a rank
//!   waits for its own messages only, and messages of a phase that it has not reached yet are taken and counted.
//! * The ranks of a node share its link: whenever the node can take a new message, the next rank in turn that has
//!   one to send gives its next one. Messages leave a node whole, one after the other.
//! * A message between two ranks of a node arrives in the cycle in which its sender enters the phase.
//! * A job finishes in the cycle in which the last of its ranks leaves its last phase.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::mem::{size_of, size_of_val};
use std::ops::Range;
use std::rc::Rc;

use caminos_lib::quantify::Quantifiable;
use caminos_lib::topology::Topology;
use caminos_lib::traffic::{TaskTrafficState, Traffic, TrafficBuilderArgument, TrafficError};
use caminos_lib::{Message, Time};
use rand::rngs::StdRng;

use crate::input::{BadFile, Lines};
use crate::{graph, shares};

/// For each job the cycle in which it finished, if it has.
pub type FinishCycles = Rc<RefCell<Vec<Option<Time>>>>;

thread_local! {
    /// The progress of the traffic built last: CAMINOS keeps the traffic behind a trait that has no place for it.
    static FINISH: RefCell<FinishCycles> = RefCell::default();
    /// The cycle: CAMINOS tells it to the traffic, and not to the routing.
    static NOW: Cell<Time> = Cell::default();
}

/// The cycle of the simulation.
pub fn now() -> Time {
    NOW.with(Cell::get)
}

/// The finish cycles of the traffic built last.
pub fn finish_cycles() -> FinishCycles {
    FINISH.with(|finish| finish.borrow().clone())
}

/// Build the traffic from its file.
///
/// # Panics
/// With a `BadFile` if the file is not such a list, or does not fit the topology.
pub fn build(argument: TrafficBuilderArgument) -> Box<dyn Traffic> {
    match read(&crate::filename(argument.cv, "MessageList"), argument.topology.num_servers()) {
        Ok(listed) => {
            let nodes = argument.topology.num_servers();
            shares::watch(listed.jobs, nodes, &listed.ranks, graph::layout().links());
            let traffic = MessageList::new(listed, nodes);
            FINISH.with(|place| *place.borrow_mut() = traffic.finish_cycles.clone());
            Box::new(traffic)
        }
        Err(bad) => std::panic::panic_any(bad),
    }
}

/// What the file says: ranks are counted over all jobs.
struct Listed {
    jobs: usize,
    /// Job and node of each rank.
    ranks: Vec<(usize, usize)>,
    messages: Vec<ListedMessage>,
}

struct ListedMessage {
    phase: usize,
    source: usize,
    destination: usize,
    phits: usize,
}

fn read(name: &str, nodes: usize) -> Result<Listed, BadFile> {
    let mut lines = Lines::open(name)?;
    lines.format("messages")?;
    let jobs = lines.header("jobs")?;
    let mut listed = Listed { jobs, ranks: Vec::new(), messages: Vec::new() };
    for job in 0..jobs {
        read_job(&mut lines, nodes, job, &mut listed)?;
    }
    lines.end()?;
    Ok(listed)
}

fn read_job(lines: &mut Lines, nodes: usize, job: usize, listed: &mut Listed) -> Result<(), BadFile> {
    let first = listed.ranks.len();
    let ranks = lines.header("ranks")?;
    for _ in 0..ranks {
        let [node] = lines.numbers("NODE")?;
        if node >= nodes {
            return Err(lines.bad("there is no such node"));
        }
        listed.ranks.push((job, node));
    }
    let mut phase_of = vec![0; ranks];
    for _ in 0..lines.header("messages")? {
        let [phase, source, destination, phits] = lines.numbers("PHASE SOURCE DESTINATION PHITS")?;
        if source >= ranks || destination >= ranks || source == destination {
            return Err(lines.bad("SOURCE and DESTINATION must be two ranks of the job"));
        }
        if phits == 0 {
            return Err(lines.bad("PHITS must be at least 1"));
        }
        if phase < phase_of[source] {
            return Err(lines.bad("the PHASE of a SOURCE must not decrease"));
        }
        phase_of[source] = phase;
        let (source, destination) = (first + source, first + destination);
        listed.messages.push(ListedMessage { phase, source, destination, phits });
    }
    Ok(())
}

/// A rank's part in one phase.
#[derive(Debug)]
struct Step {
    /// Messages to other nodes, in send order.
    sends: Range<usize>,
    /// Messages to ranks of the same node.
    local_sends: Range<usize>,
    /// Messages that the rank sends or gets in this phase and that have not arrived.
    outstanding: usize,
}

#[derive(Debug)]
struct Rank {
    job: usize,
    node: usize,
    /// The step it is in, and the end of its steps.
    step: usize,
    end: usize,
    /// The message it sends next.
    next: usize,
}

/// A message to send, or one within a node.
#[derive(Debug, Clone)]
struct Post {
    source: usize,
    source_step: usize,
    destination: usize,
    destination_step: usize,
    phits: usize,
}

/// The ranks of a node and whose turn it is.
#[derive(Debug, Default)]
struct Node {
    ranks: Vec<usize>,
    turn: usize,
    /// How many of the ranks have a message to send now.
    ready: usize,
}

#[derive(Debug)]
struct MessageList {
    ranks: Vec<Rank>,
    steps: Vec<Step>,
    /// Messages between nodes, rank by rank.
    posts: Vec<Post>,
    /// Messages within nodes, rank by rank.
    local_posts: Vec<Post>,
    nodes: Vec<Node>,
    /// The messages on their way, and the place of each among the `posts`.
    on_their_way: HashMap<*const Message, (Rc<Message>, usize)>,
    ranks_left: Vec<usize>,
    jobs_left: usize,
    finish_cycles: FinishCycles,
}

impl MessageList {
    fn new(listed: Listed, nodes: usize) -> MessageList {
        let mut pairs: Vec<(usize, usize)> = Vec::with_capacity(2 * listed.messages.len());
        pairs.extend(listed.messages.iter().map(|m| (m.source, m.phase)));
        pairs.extend(listed.messages.iter().map(|m| (m.destination, m.phase)));
        pairs.sort_unstable();
        pairs.dedup();
        let step_of = |rank, phase| pairs.binary_search(&(rank, phase)).expect("each rank and phase has a step");
        let mut order: Vec<usize> = (0..listed.messages.len()).collect();
        order.sort_by_key(|&message| listed.messages[message].source);

        let mut steps: Vec<Step> =
            pairs.iter().map(|_| Step { sends: 0..0, local_sends: 0..0, outstanding: 0 }).collect();
        let (mut posts, mut local_posts) = (Vec::new(), Vec::new());
        for message in order.into_iter().map(|index| &listed.messages[index]) {
            let source_step = step_of(message.source, message.phase);
            let destination_step = step_of(message.destination, message.phase);
            let &ListedMessage { source, destination, phits, .. } = message;
            let post = Post { source, source_step, destination, destination_step, phits };
            let local = listed.ranks[message.source].1 == listed.ranks[message.destination].1;
            let step = &mut steps[source_step];
            let (list, range) =
                if local { (&mut local_posts, &mut step.local_sends) } else { (&mut posts, &mut step.sends) };
            if range.start == range.end {
                range.start = list.len();
            }
            list.push(post);
            range.end = list.len();
            steps[source_step].outstanding += 1;
            steps[destination_step].outstanding += 1;
        }
        MessageList::start(listed, nodes, &pairs, steps, posts, local_posts)
    }

    fn start(
        listed: Listed,
        nodes: usize,
        pairs: &[(usize, usize)],
        steps: Vec<Step>,
        posts: Vec<Post>,
        local_posts: Vec<Post>,
    ) -> MessageList {
        let mut traffic = MessageList {
            ranks: Vec::with_capacity(listed.ranks.len()),
            steps,
            posts,
            local_posts,
            nodes: (0..nodes).map(|_| Node::default()).collect(),
            on_their_way: HashMap::new(),
            ranks_left: vec![0; listed.jobs],
            jobs_left: listed.jobs,
            finish_cycles: Rc::new(RefCell::new(vec![None; listed.jobs])),
        };
        for (index, &(job, node)) in listed.ranks.iter().enumerate() {
            let step = pairs.partition_point(|&(rank, _)| rank < index);
            let end = pairs.partition_point(|&(rank, _)| rank <= index);
            traffic.ranks.push(Rank { job, node, step, end, next: 0 });
            traffic.nodes[node].ranks.push(index);
            traffic.ranks_left[job] += 1;
        }
        for job in 0..listed.jobs {
            if traffic.ranks_left[job] == 0 {
                traffic.finish_job(job, 0);
            }
        }
        let mut arriving = Vec::new();
        for rank in 0..traffic.ranks.len() {
            traffic.enter(rank, 0, &mut arriving);
        }
        traffic.settle(arriving, 0);
        traffic
    }

    fn finish_job(&mut self, job: usize, cycle: Time) {
        self.finish_cycles.borrow_mut()[job] = Some(cycle);
        self.jobs_left -= 1;
    }

    /// Let a rank begin its next step, or finish if there is none; its messages within the node arrive next.
    fn enter(&mut self, rank: usize, cycle: Time, arriving: &mut Vec<Post>) {
        let rank = &mut self.ranks[rank];
        // All that a phase waits for may have arrived before the rank does.
        while rank.step < rank.end && self.steps[rank.step].outstanding == 0 {
            rank.step += 1;
        }
        if rank.step < rank.end {
            let step = &self.steps[rank.step];
            rank.next = step.sends.start;
            self.nodes[rank.node].ready += usize::from(!step.sends.is_empty());
            arriving.extend_from_slice(&self.local_posts[step.local_sends.clone()]);
            return;
        }
        let job = rank.job;
        self.ranks_left[job] -= 1;
        if self.ranks_left[job] == 0 {
            self.finish_job(job, cycle);
        }
    }

    /// Let messages arrive, and go on with the ranks that they set free.
    fn settle(&mut self, mut arriving: Vec<Post>, cycle: Time) {
        while let Some(post) = arriving.pop() {
            for rank in self.arrive(&post) {
                self.enter(rank, cycle, &mut arriving);
            }
        }
    }

    /// Count a message as arrived; give the ranks that can enter their next step by that.
    fn arrive(&mut self, post: &Post) -> Vec<usize> {
        let mut free = Vec::new();
        for (rank, step) in [(post.source, post.source_step), (post.destination, post.destination_step)] {
            self.steps[step].outstanding -= 1;
            if self.steps[step].outstanding == 0 && self.ranks[rank].step == step {
                self.ranks[rank].step += 1;
                free.push(rank);
            }
        }
        free
    }
}

impl Traffic for MessageList {
    fn generate_message(
        &mut self,
        origin: usize,
        cycle: Time,
        _topology: &dyn Topology,
        _rng: &mut StdRng,
    ) -> Result<Rc<Message>, TrafficError> {
        let node = &mut self.nodes[origin];
        loop {
            let index = node.ranks[node.turn];
            node.turn = (node.turn + 1) % node.ranks.len();
            let rank = &mut self.ranks[index];
            if rank.step == rank.end || rank.next >= self.steps[rank.step].sends.end {
                continue;
            }
            let post = &self.posts[rank.next];
            let destination = self.ranks[post.destination].node;
            let message = Rc::new(Message { origin, destination, size: post.phits, creation_cycle: cycle });
            let rank = &mut self.ranks[index];
            self.on_their_way.insert(Rc::as_ptr(&message), (message.clone(), rank.next));
            rank.next += 1;
            if rank.next == self.steps[rank.step].sends.end {
                node.ready -= 1;
            }
            return Ok(message);
        }
    }
    fn probability_per_cycle(&self, task: usize) -> f32 {
        if self.nodes[task].ready > 0 {
            1.0
        } else {
            0.0
        }
    }
    fn should_generate(&self, task: usize, cycle: Time, _rng: &mut StdRng) -> bool {
        NOW.with(|now| now.set(cycle));
        self.nodes[task].ready > 0
    }
    fn try_consume(
        &mut self,
        _task: usize,
        message: Rc<Message>,
        cycle: Time,
        _topology: &dyn Topology,
        _rng: &mut StdRng,
    ) -> bool {
        let (_, index) = match self.on_their_way.remove(&Rc::as_ptr(&message)) {
            Some(found) => found,
            None => return false,
        };
        self.settle(vec![self.posts[index].clone()], cycle);
        true
    }
    fn is_finished(&self) -> bool {
        self.jobs_left == 0
    }
    fn task_state(&self, task: usize, _cycle: Time) -> TaskTrafficState {
        if self.nodes[task].ready > 0 {
            TaskTrafficState::Generating
        } else if self.nodes[task].ranks.iter().all(|&rank| self.ranks[rank].step == self.ranks[rank].end) {
            TaskTrafficState::Finished
        } else {
            TaskTrafficState::WaitingData
        }
    }
    fn number_tasks(&self) -> usize {
        self.nodes.len()
    }
}

impl Quantifiable for MessageList {
    fn total_memory(&self) -> usize {
        let lists = size_of_val(&self.posts[..]) + size_of_val(&self.local_posts[..]) + size_of_val(&self.steps[..]);
        size_of::<MessageList>() + lists + size_of_val(&self.ranks[..])
    }
    fn print_memory_breakdown(&self) {
        println!("message list: {} bytes", self.total_memory());
    }
    fn forecast_total_memory(&self) -> usize {
        self.total_memory()
    }
}
