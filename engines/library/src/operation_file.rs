//! The file of `TaskGraph`: jobs on given nodes, and the operations of their ranks with dependencies.
//!
//! It has one item a line: `operations 1`, `jobs J`; for each job `ranks R`, R lines `NODE`, `streams S`,
//! `operations N`, N lines `KIND RANK STREAM LENGTH PARTNER`, sorted by RANK, `dependencies D`, D lines
//! `NEEDS OPERATION WHEN`, sorted by NEEDS. `background R` in the place of `ranks R` says that the ranks of the job
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

/// What the file says: ranks, streams and operations are counted over all jobs.
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
    /// What needs each operation, sorted by that: twice the operation, plus 1 if it waits for the start alone.
    pub dependents: Vec<u32>,
    /// For each operation the first of its dependents, and the end of all.
    pub first_dependent: Vec<u32>,
}

#[derive(Debug)]
pub struct ListedOperation {
    pub kind: Kind,
    pub rank: u32,
    pub stream: u32,
    pub partner: u32,
    /// Cycles or phits.
    pub length: u64,
}

/// Operations and dependents are kept in 32 bits.
const MOST: usize = 1 << 31;

impl OperationFile {
    /// Read the file of a machine with so many servers.
    pub fn read(mut lines: Lines, servers: usize) -> Result<OperationFile, BadFile> {
        lines.format("operations")?;
        let (ports, striped, jobs) = ports_and_jobs(&mut lines)?;
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

    fn read_job(&mut self, lines: &mut Lines, nodes: usize, job: usize) -> Result<(), BadFile> {
        let (first_rank, first_stream, first) = (self.ranks.len(), self.streams, self.operations.len());
        let (background, offered, ranks) = background_and_ranks(lines)?;
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

/// Read `jobs J`, maybe after `ports P` or `stripes P`: ports of a node, whether they divide messages, and jobs.
fn ports_and_jobs(lines: &mut Lines) -> Result<(usize, bool, usize), BadFile> {
    match lines.section()? {
        Some((word, ports)) if word == "ports" => Ok((ports, false, lines.header("jobs")?)),
        Some((word, ports)) if word == "stripes" => Ok((ports, true, lines.header("jobs")?)),
        Some((word, jobs)) if word == "jobs" => Ok((1, false, jobs)),
        _ => Err(lines.bad("should be 'ports NUMBER', 'stripes NUMBER' or 'jobs NUMBER'")),
    }
}

/// Read `ranks R`, or `background R` or `offered R` of a job in the background: whether it is, and offers a load, and its ranks.
fn background_and_ranks(lines: &mut Lines) -> Result<(bool, bool, usize), BadFile> {
    match lines.section()? {
        Some((word, ranks)) if word == "ranks" => Ok((false, false, ranks)),
        Some((word, ranks)) if word == "background" => Ok((true, false, ranks)),
        Some((word, ranks)) if word == "offered" => Ok((true, true, ranks)),
        _ => Err(lines.bad("should be 'ranks NUMBER', 'background NUMBER' or 'offered NUMBER'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: &str =
        "operations 1\njobs 1\nranks 2\n0\n1\nstreams 1\noperations 3\n0 0 0 7 0\n1 0 0 4 2\n2 1 0 0 1\n";

    fn read(text: String) -> Result<OperationFile, BadFile> {
        OperationFile::read(Lines::of_text(text), 2)
    }

    fn problem(text: String) -> String {
        read(text).expect_err("a bad file").0
    }

    #[test]
    fn dependents_stand_by_what_they_need() {
        let file = read(format!("{PAIR}dependencies 2\n0 1 0\n1 0 1\n")).expect("a file");
        assert_eq!(file.first_dependent, [0, 1, 2, 2]);
        assert_eq!(file.dependents, [2, 1]);
        assert_eq!((file.operations[1].kind, file.operations[1].partner), (Kind::Send { eager: true }, 2));
    }

    #[test]
    fn bad_lines_are_named() {
        assert!(problem(format!("{PAIR}dependencies 2\n1 0 1\n0 1 0\n")).starts_with("text:13: dependencies must be"));
        assert!(problem(format!("{PAIR}dependencies 1\n1 3 0\n")).starts_with("text:12: NEEDS and"));
        assert!(problem(PAIR.replace("2 1 0 0 1", "2 1 0 0 0")).starts_with("text: a send or receive"));
        assert!(problem(PAIR.replace("0 0 0 7 0", "0 0 1 7 0")).starts_with("text:8: RANK, STREAM"));
        assert!(problem(PAIR.replace("0 0 0 7 0", "4 0 0 7 0")).starts_with("text:8: KIND"));
        assert!(problem(PAIR.replace("0 0 0 7 0", "0 1 0 7 0")).starts_with("text:9: operations must be"));
        assert!(problem(format!("{PAIR}dependencies 1\n1 2 0\n")).starts_with("text:12: NEEDS and OPERATION"));
        assert_eq!(problem(PAIR.replace("ranks 2\n0\n1", "ranks 2\n0\n2")), "text:5: there is no such node");
        let none = "operations 1\njobs 1\nbackground 0\nstreams 0\noperations 0\ndependencies 0\n";
        assert_eq!(problem(none.into()), "text: all jobs are in the background, so that none would end");
    }

    #[test]
    fn ranks_that_offer_a_load_have_gaps() {
        let offered = "offered 2\n0 500\n1 0\nstreams 0\noperations 0\ndependencies 0\n";
        let file = read(format!("{}dependencies 0\n{offered}", PAIR.replace("jobs 1", "jobs 2"))).expect("a file");
        assert_eq!(file.gaps_ps, [None, None, Some(500), Some(0)]);
        assert_eq!(file.jobs, [(false, 3), (true, 3)]);
        let short = offered.replace("0 500", "0");
        assert!(problem(format!("operations 1\njobs 1\n{short}")).starts_with("text:4: should be 'NODE GAP'"));
    }

    #[test]
    fn servers_are_the_ports_of_nodes() {
        let file = read("operations 1\nstripes 2\njobs 0\n".into()).expect("a file");
        assert_eq!((file.ports, file.striped), (2, true));
        assert!(problem("operations 1\nports 3\njobs 0\n".into()).starts_with("text: the servers"));
        let absent = "operations 1\nports 2\njobs 1\nranks 1\n1\n";
        assert_eq!(problem(absent.into()), "text:5: there is no such node");
    }
}
