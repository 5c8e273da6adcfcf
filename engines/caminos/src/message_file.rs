//! The file of `MessageList`: jobs on given nodes, and the messages of each rank.
//!
//! It has one item a line: `messages 1`, `jobs J`; for each job `ranks R`, R lines `NODE`, `messages M`, M lines
//! `PHASE SOURCE DESTINATION PHITS`, with ranks counted within the job. The messages of a rank stand in the order in
//! which it sends them, so their phases do not decrease. `background R` in the place of `ranks R` says that the job
//! repeats its messages until all jobs without it have finished. Before `messages M` there may be `computes C` and C
//! lines `PHASE RANK BEFORE BESIDE`: the cycles for which a rank computes before it posts the messages of the phase, and
//! beside them.
//!
//! Where nodes have several ports, which are CAMINOS' servers, `ports P` stands before `jobs J` if messages leave by the
//! ports of their node in turn, and `stripes P` if each is divided among them. Servers P n to P n + P - 1 are node n.

use crate::input::{BadFile, Lines};

/// What the file says: ranks are counted over all jobs.
#[derive(Debug)]
pub struct MessageFile {
    /// Ports of a node, and whether messages are divided among them.
    pub ports: usize,
    pub striped: bool,
    /// Whether each job is in the background.
    pub background: Vec<bool>,
    /// Job and node of each rank.
    pub ranks: Vec<(usize, usize)>,
    pub messages: Vec<ListedMessage>,
    pub computations: Vec<Computation>,
}

#[derive(Debug)]
pub struct ListedMessage {
    pub phase: usize,
    pub source: usize,
    pub destination: usize,
    pub phits: usize,
}

/// What a rank computes in a phase, in cycles.
#[derive(Debug)]
pub struct Computation {
    pub phase: usize,
    pub rank: usize,
    pub before: usize,
    pub beside: usize,
}

impl MessageFile {
    /// Read the file of a machine with so many servers.
    pub fn read(mut lines: Lines, servers: usize) -> Result<MessageFile, BadFile> {
        lines.format("messages")?;
        let (ports, striped, jobs) = lines.ports_and_jobs()?;
        if ports == 0 || servers % ports > 0 {
            return Err(lines.bad_file("the servers are not so many ports of nodes"));
        }
        let (background, ranks, messages, computations) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut file = MessageFile { ports, striped, background, ranks, messages, computations };
        for job in 0..jobs {
            file.read_job(&mut lines, servers / ports, job)?;
        }
        lines.end()?;
        if !file.background.is_empty() && !file.background.contains(&false) {
            return Err(lines.bad_file("all jobs are in the background, so that none would end"));
        }
        Ok(file)
    }

    /// Leave out messages that are always there before their destination waits for them.
    ///
    /// Messages within a node take no time, so a rank of a background job that waits for no message between nodes and
    /// does not compute runs through any number of rounds at once; what it sends has then arrived for all rounds.
    pub fn without_endless_rounds(mut self) -> MessageFile {
        if !self.background.contains(&true) {
            return self;
        }
        let node = |rank: usize| self.ranks[rank].1;
        let mut takes_time: Vec<bool> = self.ranks.iter().map(|&(job, _)| !self.background[job]).collect();
        for message in self.messages.iter().filter(|m| node(m.source) != node(m.destination)) {
            takes_time[message.source] = true;
            takes_time[message.destination] = true;
        }
        for computation in self.computations.iter().filter(|c| c.before + c.beside > 0) {
            takes_time[computation.rank] = true;
        }
        let mut spreads = true;
        while spreads {
            spreads = false;
            for message in &self.messages {
                spreads |= takes_time[message.source] && !takes_time[message.destination];
                takes_time[message.destination] |= takes_time[message.source];
            }
        }
        self.messages.retain(|message| takes_time[message.source]);
        self.computations.retain(|computation| takes_time[computation.rank]);
        self
    }

    fn read_job(&mut self, lines: &mut Lines, nodes: usize, job: usize) -> Result<(), BadFile> {
        let first = self.ranks.len();
        let (background, ranks) = lines.ranks()?;
        self.background.push(background);
        for _ in 0..ranks {
            let [node] = lines.numbers("NODE")?;
            if node >= nodes {
                return Err(lines.bad("there is no such node"));
            }
            self.ranks.push((job, node));
        }
        let messages = match lines.section()? {
            Some((word, computations)) if word == "computes" => {
                for _ in 0..computations {
                    let [phase, rank, before, beside] = lines.numbers("PHASE RANK BEFORE BESIDE")?;
                    if rank >= ranks {
                        return Err(lines.bad("RANK must be one of the job"));
                    }
                    self.computations.push(Computation { phase, rank: first + rank, before, beside });
                }
                lines.header("messages")?
            }
            Some((word, messages)) if word == "messages" => messages,
            _ => return Err(lines.bad("should be 'computes NUMBER' or 'messages NUMBER'")),
        };
        let mut phase_of = vec![0; ranks];
        for _ in 0..messages {
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
            self.messages.push(ListedMessage { phase, source, destination, phits });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &'static str) -> String {
        MessageFile::read(Lines::of_text(text), 2).expect_err("a bad file").0
    }

    #[test]
    fn ranks_are_counted_over_all_jobs() {
        let text = "messages 1\njobs 2\nranks 1\n0\nmessages 0\nranks 2\n1\n0\nmessages 1\n3 1 0 7\n";
        let file = MessageFile::read(Lines::of_text(text), 2).expect("a file");
        assert_eq!(file.ranks, [(0, 0), (1, 1), (1, 0)]);
        let message = &file.messages[0];
        assert_eq!((message.phase, message.source, message.destination, message.phits), (3, 2, 1, 7));
    }

    #[test]
    fn a_job_is_in_the_background_where_the_file_says_so_and_not_all_are() {
        let text = "messages 1\njobs 2\nbackground 1\n0\nmessages 0\nranks 1\n1\nmessages 0\n";
        let file = MessageFile::read(Lines::of_text(text), 2).expect("a file");
        assert_eq!(file.background, [true, false]);
        let none = "messages 1\njobs 1\nbackground 1\n0\nmessages 0\n";
        assert_eq!(problem(none), "text: all jobs are in the background, so that none would end");
    }

    #[test]
    fn what_ranks_compute_stands_before_their_messages() {
        let text = "messages 1\njobs 2\nranks 1\n0\nmessages 0\nranks 2\n1\n0\ncomputes 1\n3 1 5 0\n\
                    messages 1\n3 1 0 7\n";
        let file = MessageFile::read(Lines::of_text(text), 2).expect("a file");
        let one = &file.computations[0];
        assert_eq!((one.phase, one.rank, one.before, one.beside), (3, 2, 5, 0));
        let other = "messages 1\njobs 1\nranks 1\n0\ncomputes 1\n0 1 5 0\nmessages 0\n";
        assert_eq!(problem(other), "text:6: RANK must be one of the job");
    }

    #[test]
    fn in_the_background_a_rank_that_computes_keeps_those_waiting_that_get_from_it() {
        let job = "0\n0\ncomputes 1\n0 1 3 0\nmessages 2\n0 0 1 1\n0 1 0 1\n";
        let text = format!("messages 1\njobs 2\nranks 0\nmessages 0\nbackground 2\n{job}");
        let file = MessageFile::read(Lines::of_text(Box::leak(text.into_boxed_str())), 2).expect("a file");
        let kept = file.without_endless_rounds();
        assert_eq!((kept.messages.len(), kept.computations.len()), (2, 1));
    }

    #[test]
    fn in_the_background_ranks_that_wait_for_nothing_that_takes_time_send_nothing() {
        // Rank 0 gets from 1, which gets from another node; 3 and 4 are between themselves, and 5 only sends.
        let messages = "0 2 1 1\n0 1 0 1\n0 3 4 1\n0 4 3 1\n0 5 1 1\n";
        let kept = |word: &str| {
            let background = format!("messages 1\njobs 2\nranks 0\nmessages 0\n{} 6\n", word);
            let text = format!("{}0\n0\n1\n0\n0\n0\nmessages 5\n{}", background, messages);
            let file = MessageFile::read(Lines::of_text(Box::leak(text.into_boxed_str())), 2).expect("a file");
            let kept = file.without_endless_rounds().messages;
            kept.iter().map(|m| (m.source, m.destination)).collect::<Vec<_>>()
        };
        assert_eq!(kept("background"), [(2, 1), (1, 0)]);
        assert_eq!(kept("ranks"), [(2, 1), (1, 0), (3, 4), (4, 3), (5, 1)]);
    }

    #[test]
    fn servers_are_the_ports_of_nodes() {
        let file = MessageFile::read(Lines::of_text("messages 1\nstripes 2\njobs 1\nranks 0\nmessages 0\n"), 4);
        assert!(matches!(file, Ok(MessageFile { ports: 2, striped: true, .. })));
        assert!(problem("messages 1\nports 3\njobs 0\n").starts_with("text: the servers"));
        assert_eq!(problem("messages 1\nports 2\njobs 1\nranks 1\n1\n"), "text:5: there is no such node");
    }

    #[test]
    fn bad_lines_are_named() {
        assert_eq!(problem("messages 1\njobs 1\nranks 1\n2\n"), "text:4: there is no such node");
        let two = "messages 1\njobs 1\nranks 2\n0\n1\nmessages 2\n1 0 1 3\n0 0 1 3\n";
        assert_eq!(problem(two), "text:8: the PHASE of a SOURCE must not decrease");
        let none = "messages 1\njobs 1\nranks 2\n0\n1\nmessages 1\n0 0 1 0\n";
        assert_eq!(problem(none), "text:7: PHITS must be at least 1");
        let itself = "messages 1\njobs 1\nranks 2\n0\n1\nmessages 1\n0 1 1 1\n";
        assert_eq!(problem(itself), "text:7: SOURCE and DESTINATION must be two ranks of the job");
    }
}
