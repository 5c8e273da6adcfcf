//! The file of `MessageList`: jobs on given nodes, and the messages of each rank.
//!
//! It has one item a line: `messages 1`, `jobs J`; for each job `ranks R`, R lines `NODE`, `messages M`, M lines
//! `PHASE SOURCE DESTINATION PHITS`, with ranks counted within the job. The messages of a rank stand in the order in
//! which it sends them, so their phases do not decrease.

use crate::input::{BadFile, Lines};

/// What the file says: ranks are counted over all jobs.
#[derive(Debug)]
pub struct MessageFile {
    pub jobs: usize,
    /// Job and node of each rank.
    pub ranks: Vec<(usize, usize)>,
    pub messages: Vec<ListedMessage>,
}

#[derive(Debug)]
pub struct ListedMessage {
    pub phase: usize,
    pub source: usize,
    pub destination: usize,
    pub phits: usize,
}

impl MessageFile {
    /// Read the file of a machine with so many nodes.
    pub fn read(mut lines: Lines, nodes: usize) -> Result<MessageFile, BadFile> {
        lines.format("messages")?;
        let jobs = lines.header("jobs")?;
        let mut file = MessageFile { jobs, ranks: Vec::new(), messages: Vec::new() };
        for job in 0..jobs {
            file.read_job(&mut lines, nodes, job)?;
        }
        lines.end()?;
        Ok(file)
    }

    fn read_job(&mut self, lines: &mut Lines, nodes: usize, job: usize) -> Result<(), BadFile> {
        let first = self.ranks.len();
        let ranks = lines.header("ranks")?;
        for _ in 0..ranks {
            let [node] = lines.numbers("NODE")?;
            if node >= nodes {
                return Err(lines.bad("there is no such node"));
            }
            self.ranks.push((job, node));
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
