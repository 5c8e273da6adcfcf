//! Operations of ranks that wait for each other: when each starts and ends, and when ranks and jobs finish.
//!
//! * An operation starts when the last of those that it needs has ended, or started. A computation also waits for its
//!   stream, in the order in which computations could start.
//! * A send posts its message at its node. A synchronous send has ended when all of its message has arrived, an eager one
//!   when its last byte has left the node. A message within a node arrives at once.
//! * A receive has ended when it has started and its message has arrived.
//! * A rank finishes with the last of its operations, a job with the last of its ranks.
//! * A rank of a background job begins again when its operations have ended and its messages have arrived, without a
//!   barrier, until all other jobs have finished. A rank whose round takes no time executes one round; its messages
//!   then count as received in all rounds of other ranks.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Range};

use crate::operation_file::{Kind, ListedOperation, OperationFile};

/// A time, in the unit of the simulator.
pub trait Time: Copy + Debug + Default + Add<Output = Self> + AddAssign {
    fn since(self, earlier: Self) -> Self;

    /// Return a duration that the file lists.
    fn of_length(length: u64) -> Self;
}

/// In the unit of the file: picoseconds, or cycles.
impl Time for u64 {
    fn since(self, earlier: u64) -> u64 {
        self.saturating_sub(earlier)
    }

    fn of_length(length: u64) -> u64 {
        length
    }
}

/// Nanoseconds.
impl Time for f64 {
    fn since(self, earlier: f64) -> f64 {
        self - earlier
    }

    fn of_length(length_ps: u64) -> f64 {
        length_ps as f64 / 1000.0
    }
}

#[derive(Debug, Default)]
struct Operation<T> {
    listed: ListedOperation,
    /// What it waits for before it starts, and how much of that is missing.
    needs: u32,
    missing: u32,
    started_at: T,
    /// Of a receive: whether it has started, and messages that have arrived for it.
    has_started: bool,
    arrived: u32,
}

/// Messages that have arrived for a receive if its message is there in all rounds.
const ALWAYS: u32 = u32::MAX;

#[derive(Debug, Default)]
struct Rank<T> {
    job: usize,
    node: usize,
    /// Its number among the ranks of the node.
    number: usize,
    operations: Range<usize>,
    /// Whether it begins again when nothing is left.
    repeats: bool,
    /// Whether it only lists sends, of which others post copies.
    lists: bool,
    /// Operations that have not ended; if the rank repeats them, eager messages that have not arrived, too.
    left: usize,
    /// Computations and sends that have started and not ended.
    active: usize,
    /// The time since which it has none, and the time before in which it had none.
    inactive_since: T,
    waited: T,
}

/// What a rank computes one after another.
#[derive(Debug, Clone, Default)]
struct Stream {
    busy: bool,
    waiting: VecDeque<u32>,
}

#[derive(Debug)]
struct Job {
    background: bool,
    ranks_left: usize,
}

/// A message that a rank posts at its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posted {
    pub node: usize,
    /// The number of the rank on the node.
    pub rank: usize,
    pub send: u32,
    pub bytes: u32,
}

#[derive(Debug, Default)]
pub struct Operations<T = u64> {
    operations: Vec<Operation<T>>,
    /// For each operation where what needs it begins; then all of that: twice its number, plus 1 if it needs the start.
    first_dependent: Vec<u32>,
    dependents: Vec<u32>,
    ranks: Vec<Rank<T>>,
    streams: Vec<Stream>,
    jobs: Vec<Job>,
    /// Jobs that are not in the background and have not finished.
    jobs_left: usize,
    /// Computations of these jobs that have not ended, and messages that have not arrived.
    under_way: usize,
    starting: VecDeque<u32>,
    /// Ends of computations, and posted messages, for the simulator to take.
    pub timers: Vec<(T, u32)>,
    pub posted: Vec<Posted>,
    /// When each job and each rank finished, if it has; a background job never does.
    pub job_finish: Vec<Option<T>>,
    pub rank_finish: Vec<Option<T>>,
    /// Time of each rank in which it neither computed nor sent.
    pub rank_waiting: Vec<T>,
    /// Start and end of each operation, and the arrival of its message, if they are asked for.
    pub times: Option<Vec<[T; 3]>>,
}

impl<T: Time> Operations<T> {
    /// Set up the operations of a file; with `times` those of each are noted.
    pub fn new(file: OperationFile, times: bool) -> Operations<T> {
        let mut ranks_of_node = vec![0; file.ranks.iter().map(|&(_, node)| node + 1).max().unwrap_or(0)];
        let ranks = file.ranks.iter().zip(&file.gaps_ps).map(|(&(job, node), gap_ps)| {
            ranks_of_node[node] += 1;
            let number = ranks_of_node[node] - 1;
            Rank { job, node, number, lists: gap_ps.is_some(), ..Rank::default() }
        });
        let ranks: Vec<Rank<T>> = ranks.collect();
        let jobs: Vec<Job> = file.jobs.iter().map(|&(background, _)| Job { background, ranks_left: 0 }).collect();
        let mut operations = Operations {
            times: times.then(|| vec![[T::default(); 3]; file.operations.len()]),
            operations: (file.operations.into_iter())
                .map(|listed| Operation { listed, ..Operation::default() })
                .collect(),
            first_dependent: file.first_dependent,
            dependents: file.dependents,
            job_finish: vec![None; jobs.len()],
            rank_finish: vec![None; ranks.len()],
            rank_waiting: vec![T::default(); ranks.len()],
            ranks,
            streams: vec![Stream::default(); file.streams],
            jobs_left: jobs.iter().filter(|job| !job.background).count(),
            jobs,
            ..Operations::default()
        };
        operations.count();
        operations.begin_jobs();
        operations
    }

    pub fn are_finished(&self) -> bool {
        self.jobs_left == 0
    }

    /// Return whether foreground jobs can never finish: none of their operations is under way.
    pub fn are_stuck(&self) -> bool {
        self.jobs_left > 0 && self.under_way == 0
    }

    /// Count operations of a rank that begin or cease to be under way.
    fn count_under_way(&mut self, rank: u32, more: bool) {
        if !self.jobs[self.ranks[rank as usize].job].background {
            self.under_way = if more { self.under_way + 1 } else { self.under_way - 1 };
        }
    }

    /// Return the job and the node of the rank of an operation.
    pub fn job_and_node(&self, operation: u32) -> (usize, usize) {
        let rank = &self.ranks[self.operations[operation as usize].listed.rank as usize];
        (rank.job, rank.node)
    }

    pub fn receive_of(&self, send: u32) -> u32 {
        self.operations[send as usize].listed.partner
    }

    /// Return the node of a rank, its number there, and its sends.
    pub fn sends_of(&self, rank: usize) -> (usize, usize, Vec<u32>) {
        let Rank { node, number, ref operations, .. } = self.ranks[rank];
        let is_send = |&one: &usize| matches!(self.operations[one].listed.kind, Kind::Send { .. });
        (node, number, operations.clone().filter(is_send).map(|one| one as u32).collect())
    }

    pub fn is_eager(&self, send: u32) -> bool {
        self.operations[send as usize].listed.kind == Kind::Send { eager: true }
    }

    pub fn posted_at(&self, send: u32) -> T {
        self.operations[send as usize].started_at
    }

    pub fn bytes_of(&self, send: u32) -> u64 {
        self.operations[send as usize].listed.length
    }

    /// Return which rank has operations that have not ended, for a message about a run that does not end.
    pub fn unfinished(&self) -> String {
        let unfinished = |rank: &Rank<T>| rank.left > 0 && !self.jobs[rank.job].background;
        let rank = self.ranks.iter().position(unfinished).expect("a job has not finished");
        format!("rank {rank} of job {} waits", self.ranks[rank].job)
    }

    /// End a computation, or an eager send whose last byte has left its node.
    pub fn end_active(&mut self, number: u32, now: T) {
        let ListedOperation { kind, rank, .. } = self.operations[number as usize].listed;
        if kind == Kind::Calc {
            self.count_under_way(rank, false);
        }
        self.deactivate(number, now);
        self.settle(now);
    }

    fn deactivate(&mut self, number: u32, now: T) {
        let rank = &mut self.ranks[self.operations[number as usize].listed.rank as usize];
        rank.active -= 1;
        rank.inactive_since = now;
        self.end(number as usize, now);
    }

    /// Let the last byte of a message between nodes arrive.
    pub fn arrive(&mut self, send: u32, now: T) {
        self.count_under_way(self.operations[send as usize].listed.rank, false);
        if let Some(times) = &mut self.times {
            times[send as usize][2] = now;
        }
        if !self.is_eager(send) {
            self.deactivate(send, now);
        }
        self.arrive_at(self.receive_of(send) as usize, now);
        self.settle(now);
    }

    /// Count what operations, ranks and jobs consist of.
    fn count(&mut self) {
        for &dependent in &self.dependents {
            self.operations[dependent as usize / 2].needs += 1;
        }
        let mut begin = 0;
        for (index, rank) in self.ranks.iter_mut().enumerate() {
            let end = begin + self.operations[begin..].partition_point(|one| one.listed.rank as usize <= index);
            rank.operations = begin..end;
            begin = end;
            self.jobs[rank.job].ranks_left += 1;
        }
        for (index, takes_time) in self.take_time().into_iter().enumerate() {
            let rank = &mut self.ranks[index];
            rank.repeats = takes_time && self.jobs[rank.job].background;
        }
    }

    /// Whether a round of each rank takes time: it computes, has a message between nodes, or waits for such a rank.
    fn take_time(&self) -> Vec<bool> {
        let mut take_time = vec![false; self.ranks.len()];
        let listed = || self.operations.iter().map(|one| &one.listed);
        for (number, one) in listed().enumerate() {
            take_time[one.rank as usize] |= match one.kind {
                Kind::Calc => one.length > 0,
                _ => self.job_and_node(number as u32).1 != self.job_and_node(one.partner).1,
            };
        }
        let mut spreads = true;
        while spreads {
            spreads = false;
            for receive in listed().filter(|one| one.kind == Kind::Receive) {
                let (rank, sender) =
                    (receive.rank as usize, self.operations[receive.partner as usize].listed.rank as usize);
                spreads |= take_time[sender] && !take_time[rank];
                take_time[rank] |= take_time[sender];
            }
        }
        take_time
    }

    fn begin_jobs(&mut self) {
        for job in 0..self.jobs.len() {
            if self.jobs[job].ranks_left == 0 && !self.jobs[job].background {
                self.finish_job(job, T::default());
            }
        }
        for rank in 0..self.ranks.len() {
            if self.ranks[rank].lists {
                continue;
            }
            self.begin(rank);
            if self.ranks[rank].operations.is_empty() {
                self.finish_rank(rank, T::default());
            }
        }
        self.settle(T::default());
    }

    fn begin(&mut self, rank: usize) {
        let operations = self.ranks[rank].operations.clone();
        let mut left = operations.len();
        for one in &mut self.operations[operations.clone()] {
            one.missing = one.needs;
            one.has_started = false;
            left += usize::from(self.ranks[rank].repeats && one.listed.kind == (Kind::Send { eager: true }));
        }
        self.ranks[rank].left = left;
        for number in operations {
            if self.operations[number].needs == 0 {
                self.let_start(number);
            }
        }
    }

    fn count_down(&mut self, rank: usize, now: T) {
        self.ranks[rank].left -= 1;
        if self.ranks[rank].left > 0 {
            return;
        }
        if self.ranks[rank].repeats {
            self.begin(rank);
        } else {
            self.finish_rank(rank, now);
        }
    }

    fn finish_rank(&mut self, rank: usize, now: T) {
        let one = &self.ranks[rank];
        let job = one.job;
        if self.jobs[job].background {
            return;
        }
        let waited = one.waited + if one.active == 0 { now.since(one.inactive_since) } else { T::default() };
        self.rank_finish[rank] = Some(now);
        self.rank_waiting[rank] = waited;
        self.jobs[job].ranks_left -= 1;
        if self.jobs[job].ranks_left == 0 {
            self.finish_job(job, now);
        }
    }

    fn finish_job(&mut self, job: usize, now: T) {
        self.job_finish[job] = Some(now);
        self.jobs_left -= 1;
    }

    /// Start all operations that may start now.
    fn settle(&mut self, now: T) {
        while let Some(number) = self.starting.pop_front() {
            self.start(number as usize, now);
        }
    }

    /// Start an operation whose dependencies are met, or queue it at its stream.
    fn let_start(&mut self, number: usize) {
        let ListedOperation { kind, stream, .. } = self.operations[number].listed;
        if kind == Kind::Calc {
            let stream = &mut self.streams[stream as usize];
            if stream.busy {
                stream.waiting.push_back(number as u32);
                return;
            }
            stream.busy = true;
        }
        self.starting.push_back(number as u32);
    }

    /// Release the dependents of an operation that has ended, or started.
    fn release(&mut self, number: usize, start: bool) {
        for index in self.first_dependent[number]..self.first_dependent[number + 1] {
            let (dependent, of_start) = (self.dependents[index as usize] / 2, self.dependents[index as usize] % 2 == 1);
            if of_start == start {
                let one = &mut self.operations[dependent as usize];
                one.missing -= 1;
                if one.missing == 0 {
                    self.let_start(dependent as usize);
                }
            }
        }
    }

    fn start(&mut self, number: usize, now: T) {
        self.release(number, true);
        if let Some(times) = &mut self.times {
            // A message within a node arrives at once.
            (times[number][0], times[number][2]) = (now, now);
        }
        let ListedOperation { kind, rank, partner, length, .. } = self.operations[number].listed;
        let (_, node) = self.job_and_node(number as u32);
        match kind {
            Kind::Calc if length == 0 => self.end(number, now),
            Kind::Calc => {
                self.activate(rank as usize, now);
                self.count_under_way(rank, true);
                self.timers.push((now + T::of_length(length), number as u32));
            }
            Kind::Send { .. } if self.job_and_node(partner).1 == node => {
                self.end(number, now);
                self.arrive_at(partner as usize, now);
            }
            Kind::Send { .. } => {
                self.activate(rank as usize, now);
                self.count_under_way(rank, true);
                self.operations[number].started_at = now;
                let rank = self.ranks[rank as usize].number;
                self.posted.push(Posted { node, rank, send: number as u32, bytes: length as u32 });
            }
            Kind::Receive => {
                self.operations[number].has_started = true;
                self.end_received(number, now);
            }
        }
    }

    /// Let the message of a receive arrive.
    fn arrive_at(&mut self, receive: usize, now: T) {
        let sender = self.operations[receive].listed.partner as usize;
        let ListedOperation { kind, rank, .. } = self.operations[sender].listed;
        let sender = &self.ranks[rank as usize];
        let is_there_always = self.jobs[sender.job].background && !sender.repeats;
        let is_counted = sender.repeats && kind == (Kind::Send { eager: true });
        let one = &mut self.operations[receive];
        one.arrived = if is_there_always { ALWAYS } else { one.arrived + 1 };
        self.end_received(receive, now);
        if is_counted {
            self.count_down(rank as usize, now);
        }
    }

    /// End a receive that has started if a message has arrived for it.
    fn end_received(&mut self, number: usize, now: T) {
        let one = &mut self.operations[number];
        if one.has_started && one.arrived > 0 {
            one.has_started = false;
            one.arrived -= u32::from(one.arrived != ALWAYS);
            self.end(number, now);
        }
    }

    fn activate(&mut self, rank: usize, now: T) {
        let rank = &mut self.ranks[rank];
        if rank.active == 0 {
            rank.waited += now.since(rank.inactive_since);
        }
        rank.active += 1;
    }

    fn end(&mut self, number: usize, now: T) {
        let ListedOperation { kind, rank, stream, .. } = self.operations[number].listed;
        if let Some(times) = &mut self.times {
            times[number][1] = now;
        }
        if kind == Kind::Calc {
            let stream = &mut self.streams[stream as usize];
            match stream.waiting.pop_front() {
                Some(next) => self.starting.push_back(next),
                None => stream.busy = false,
            }
        }
        self.release(number, false);
        self.count_down(rank as usize, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Lines;

    fn of_jobs(text: &'static str) -> Operations<u64> {
        Operations::new(OperationFile::read(Lines::of_text(text), 3).expect("a file"), true)
    }

    #[test]
    fn messages_of_later_rounds_do_not_stand_for_those_of_this_one() {
        // Ranks 0 and 1 send to rank 2 in each round.
        let text = "operations 1\njobs 2\nranks 1\n0\nstreams 1\noperations 1\n0 0 0 90 0\ndependencies 0\n\
                    background 3\n0\n1\n2\nstreams 0\noperations 4\n3 0 0 9 2\n3 1 0 9 3\n2 2 0 0 0\n2 2 0 0 1\n\
                    dependencies 0\n";
        let mut run = of_jobs(text);
        for _ in 0..3 {
            run.arrive(1, 10);
        }
        assert_eq!(run.ranks[3].left, 1);
        run.arrive(2, 20);
        // In its second round it has taken the message of that round of rank 0; that of the third one waits.
        assert_eq!((run.ranks[3].left, run.operations[3].arrived), (1, 1));
    }

    #[test]
    fn a_background_rank_whose_round_takes_no_time_does_not_repeat_for_ever() {
        // Ranks 0 and 1 of node 2 exchange messages; rank 2 there gets one from 1, and computes.
        let text = "operations 1\njobs 2\nbackground 3\n2\n2\n2\nstreams 1\noperations 7\n3 0 0 9 2\n2 0 0 0 3\n\
                    2 1 0 0 0\n3 1 0 9 1\n3 1 0 9 5\n2 2 0 0 4\n0 2 0 10 0\ndependencies 2\n2 4 0\n5 6 0\n\
                    ranks 1\n0\nstreams 0\noperations 0\ndependencies 0\n";
        let mut run = of_jobs(text);
        for round in 1..4 {
            assert_eq!(std::mem::take(&mut run.timers), [(10 * round, 6)]);
            run.end_active(6, 10 * round);
        }
        // A job without operations has finished at once.
        assert_eq!(run.job_finish, [None, Some(0)]);
    }
}
