//! The file of `TaskGraph`: jobs on given nodes, and the operations of their ranks with dependencies.
//!
//! It has one item a line: `operations 1`, `jobs J`; for each job `ranks R`, R lines `NODE`, `streams S`,
//! `operations N`, N lines `KIND RANK STREAM LENGTH PARTNER`, sorted by RANK, `dependencies D`, D lines
//! `NEEDS OPERATION WHEN`, sorted by NEEDS. `background R` instead of `ranks R` says that the ranks of the job
//! repeat their operations until all jobs without it have finished.
//!
//! `offered R`, followed by R lines `NODE GAP`, says that ranks of a background job post copies of their sends, drawn at random,
//! with exponential gaps of this mean in picoseconds, or none if GAP is 0.
//!
//! KIND is 0 (computation of LENGTH cycles), 1 (eager send of LENGTH phits), 2 (receive) or 3 (synchronous send); PARTNER
//! is the receive of a send and the send of a receive. WHEN is 0 if NEEDS has to have ended, and 1 if it has to have
//! started; both are of one rank. Ranks, streams and operations are counted within the job.
//!
//! Where nodes have several ports, which are CAMINOS' servers, `ports P` stands before `jobs J` if messages leave by the
//! ports of their node in turn, and `stripes P` if each is divided among them. Servers P n to P n + P - 1 are node n.

use crate::input::{BadFile, Lines};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    #[default]
    Calc,
    Send {
        eager: bool,
    },
    Receive,
}

/// Content of the file; ranks, streams and operations are numbered over all jobs.
#[derive(Debug, Default)]
pub struct OperationFile {
    /// Ports of a node, and whether messages are divided among them.
    pub ports: usize,
    pub striped: bool,
    /// Whether each job is in the background, and the end of its operations.
    pub jobs: Vec<(bool, usize)>,
    /// Job and node of each rank.
    pub ranks: Vec<(usize, usize)>,
    /// Mean gap between the messages of each rank that offers a load; none of others.
    pub gaps_ps: Vec<Option<u64>>,
    pub streams: usize,
    pub operations: Vec<ListedOperation>,
    /// Dependents of each operation, sorted by operation: twice the number of the dependent, plus 1 if it waits only
    /// for the start.
    pub dependents: Vec<u32>,
    /// For each operation the first of its dependents, and the end of all.
    pub first_dependent: Vec<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct ListedOperation {
    pub kind: Kind,
    pub rank: u32,
    pub stream: u32,
    pub partner: u32,
    /// Picoseconds or bytes; in CAMINOS cycles or phits.
    pub length: u64,
}

/// Operations and dependents are kept in 32 bits.
const MOST: usize = 1 << 31;

impl OperationFile {
    /// Read the file of a machine with so many servers.
    pub fn read(mut lines: Lines, servers: usize) -> Result<OperationFile, BadFile> {
        lines.format("operations")?;
        let (word, mut ports) = lines.word_of(&["jobs", "ports", "stripes"])?;
        let jobs = if word == "jobs" { std::mem::replace(&mut ports, 1) } else { lines.header("jobs")? };
        let striped = word == "stripes";
        if ports == 0 || servers % ports > 0 {
            return Err(lines.bad_file("the servers are not so many ports of nodes"));
        }
        let mut file = OperationFile { ports, striped, first_dependent: vec![0], ..OperationFile::default() };
        for job in 0..jobs {
            file.read_job(&mut lines, servers / ports, job)?;
        }
        lines.end()?;
        if !file.jobs.is_empty() && file.jobs.iter().all(|&(background, _)| background) {
            return Err(lines.bad_file("all jobs are in the background, so that none would end"));
        }
        Ok(file)
    }

    /// Return the number of ranks of each node.
    pub fn ranks_of_nodes(&self, nodes: usize) -> Vec<usize> {
        let mut ranks = vec![0; nodes];
        self.ranks.iter().for_each(|&(_, node)| ranks[node] += 1);
        ranks
    }

    fn read_job(&mut self, lines: &mut Lines, nodes: usize, job: usize) -> Result<(), BadFile> {
        let (first_rank, first_stream, first) = (self.ranks.len(), self.streams, self.operations.len());
        let (word, ranks) = lines.word_of(&["ranks", "background", "offered"])?;
        let (background, offered) = (word != "ranks", word == "offered");
        for _ in 0..ranks {
            let (node, gap_ps) = if offered {
                let [node, gap_ps] = lines.numbers("NODE GAP")?;
                (node, Some(gap_ps as u64))
            } else {
                let [node] = lines.numbers("NODE")?;
                (node, None)
            };
            if node >= nodes {
                return Err(lines.bad("there is no such node"));
            }
            self.ranks.push((job, node));
            self.gaps_ps.push(gap_ps);
        }
        let streams = lines.header("streams")?;
        self.streams += streams;
        let operations = lines.header("operations")?;
        if first + operations >= MOST {
            return Err(lines.bad("there are too many operations"));
        }
        for _ in 0..operations {
            let [kind, rank, stream, length, partner] = lines.numbers("KIND RANK STREAM LENGTH PARTNER")?;
            let kind = match kind {
                0 => Kind::Calc,
                1 | 3 => Kind::Send { eager: kind == 1 },
                2 => Kind::Receive,
                _ => return Err(lines.bad("KIND must be 0, 1, 2 or 3")),
            };
            if rank >= ranks || partner >= operations || (kind == Kind::Calc && stream >= streams) {
                return Err(lines.bad("RANK, STREAM and PARTNER must be of the job"));
            }
            if matches!(kind, Kind::Send { .. }) && length >= MOST {
                return Err(lines.bad("a send has fewer than 2^31 bytes or phits"));
            }
            let [rank, stream, partner] =
                [first_rank + rank, first_stream + stream, first + partner].map(|number| number as u32);
            if self.operations.last().map_or(false, |last| last.rank > rank) {
                return Err(lines.bad("operations must be sorted by RANK"));
            }
            self.operations.push(ListedOperation { kind, rank, stream, partner, length: length as u64 });
        }
        self.check_partners(lines, first)?;
        self.read_dependencies(lines, first)?;
        self.jobs.push((background, self.operations.len()));
        Ok(())
    }

    fn check_partners(&self, lines: &Lines, first: usize) -> Result<(), BadFile> {
        for (number, one) in self.operations.iter().enumerate().skip(first) {
            let partner = &self.operations[one.partner as usize];
            let of_message = matches!(
                (one.kind, partner.kind),
                (Kind::Send { .. }, Kind::Receive) | (Kind::Receive, Kind::Send { .. })
            );
            if one.kind != Kind::Calc && !(of_message && partner.partner as usize == number) {
                return Err(lines.bad_file("a send or receive is not the partner of its partner"));
            }
        }
        Ok(())
    }

    fn read_dependencies(&mut self, lines: &mut Lines, first: usize) -> Result<(), BadFile> {
        let dependencies = lines.header("dependencies")?;
        let operations = self.operations.len() - first;
        if self.dependents.len() + dependencies >= MOST {
            return Err(lines.bad("there are too many dependencies"));
        }
        for _ in 0..dependencies {
            let [needs, operation, when] = lines.numbers("NEEDS OPERATION WHEN")?;
            if needs >= operations || operation >= operations || when > 1 {
                return Err(lines.bad("NEEDS and OPERATION must be of the job, and WHEN 0 or 1"));
            }
            let (needs, operation) = (first + needs, first + operation);
            if self.operations[needs].rank != self.operations[operation].rank {
                return Err(lines.bad("NEEDS and OPERATION must be of one rank"));
            }
            if needs + 1 < self.first_dependent.len() {
                return Err(lines.bad("dependencies must be sorted by NEEDS"));
            }
            self.first_dependent.resize(needs + 1, self.dependents.len() as u32);
            self.dependents.push((2 * operation + when) as u32);
        }
        self.first_dependent.resize(self.operations.len() + 1, self.dependents.len() as u32);
        Ok(())
    }
}
