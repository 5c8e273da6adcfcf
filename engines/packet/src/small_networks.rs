//! Random small networks with few buffers: after each event no packet waits beside an open lane, no link idles beside a packet
//! that may go, all bytes arrive, and nothing is faster than the links allow.

use std::fmt::Write as _;

use library::graph::Graph;
use library::input::Lines;
use library::operation_file::OperationFile;
use library::random::Random;

use crate::jobs::Jobs;
use crate::network::Network;
use crate::routes::Routes;
use crate::settings::Settings;

/// A connected graph of routers with parallel cables of two classes, as text; all routers have nodes.
fn any_graph(random: &mut Random, routers: usize, nodes: usize) -> String {
    let mut text = format!("graph 1\nrouters {routers}\nclasses 2\nnodes {nodes}\n");
    (0..nodes).for_each(|node| writeln!(text, "{}", node % routers).expect("text"));
    let more = random.below(routers);
    writeln!(text, "cables {}", routers - 1 + more).expect("text");
    for router in 1..routers {
        writeln!(text, "{} {router} {} {}", random.below(router), random.below(2), 1 + random.below(2)).expect("text");
    }
    for _ in 0..more {
        let tail = random.below(routers);
        let head = (tail + 1 + random.below(routers - 1)) % routers;
        writeln!(text, "{tail} {head} {} 1", random.below(2)).expect("text");
    }
    let mut groups = format!("groups {routers}\n");
    (0..routers).for_each(|router| writeln!(groups, "{}", router % 2).expect("text"));
    text + &groups
}

/// A ring or a line of routers with a node each.
fn line(routers: usize, wraps: bool) -> String {
    let mut text = format!("graph 1\nrouters {routers}\nclasses 2\nnodes {routers}\n");
    (0..routers).for_each(|router| writeln!(text, "{router}").expect("text"));
    let cables = routers - usize::from(!wraps);
    writeln!(text, "cables {cables}").expect("text");
    (0..cables).for_each(|tail| writeln!(text, "{tail} {} 0 1", (tail + 1) % routers).expect("text"));
    format!("{text}dimensions 1\n{routers} {} 0\n", u8::from(wraps))
}

/// Messages between random nodes, in rounds that wait for each other.
fn messages(random: &mut Random, nodes: usize, count: usize) -> (String, u64) {
    let message = |_| {
        let source = random.below(nodes);
        let destination = (source + 1 + random.below(nodes - 1)) % nodes;
        ([source, destination], 1 + random.below(900), random.below(2) == 0)
    };
    let messages: Vec<([usize; 2], usize, bool)> = (0..count).map(message).collect();
    // The operations of a rank: its sends, then its receives.
    let of_message =
        |(number, (ends, ..)): (usize, &([usize; 2], usize, bool))| [0, 1].map(|end| (ends[end], end, number));
    let mut operations: Vec<(usize, usize, usize)> = messages.iter().enumerate().flat_map(of_message).collect();
    operations.sort_unstable();
    let row = |&(rank, end, number): &(usize, usize, usize)| {
        let (_, bytes, eager) = messages[number];
        let partner =
            operations.iter().position(|&(_, other, of)| (other, of) == (1 - end, number)).expect("a partner");
        match (end, eager) {
            (0, true) => format!("1 {rank} 0 {bytes} {partner}"),
            (0, false) => format!("3 {rank} 0 {bytes} {partner}"),
            _ => format!("2 {rank} 0 0 {partner}"),
        }
    };
    let all: Vec<String> = operations.iter().map(row).collect();
    let mut text = format!("operations 1\njobs 1\nranks {nodes}\n");
    (0..nodes).for_each(|node| writeln!(text, "{node}").expect("text"));
    writeln!(text, "streams 0\noperations {}", all.len()).expect("text");
    let bytes = messages.iter().map(|&(_, bytes, _)| bytes as u64).sum();
    (text + &all.join("\n") + "\ndependencies 0\n", bytes)
}

struct Case {
    routing: &'static str,
    channels: String,
    buffers: &'static str,
    management: u8,
}

fn settings(case: &Case, seed: u64, random: &mut Random) -> Settings {
    let latencies: Vec<usize> = (0..3).map(|_| [0, 40, 500][random.below(3)]).collect();
    let text = format!(
        "packet 1\nseed {seed}\nrouting {}\nugal 2 1 0 {}\nclass_weight 1 {}\nbandwidth_Bps 1e9 {}e9 {}e9\n\
         latency_ns {} {} {}\nrouter_latency_ns {}\npacket_bytes 200\nbuffer_bytes {}\nbuffers {}\nchannels {}\n\
         crossbar_speedup {}\ninjection {}\ntraffic_classes 1\njob_classes 0\ncongestion_management {}\n\
         overhead 0 0 0\ntimes 0\n",
        case.routing,
        random.below(2),
        1 + random.below(3),
        1 + random.below(3),
        1 + random.below(2),
        latencies[0],
        latencies[1],
        latencies[2],
        [0, 100][random.below(2)],
        4000 + 200 * random.below(4),
        case.buffers,
        case.channels,
        1 + random.below(2),
        1 + random.below(4),
        case.management,
    );
    Settings::read(Lines::of_text(text)).expect("settings")
}

fn simulate(graph: String, case: &Case, seed: u64, random: &mut Random) {
    let settings = settings(case, seed, random);
    let graph = Graph::read(Lines::of_text(graph), 2).expect("a graph");
    let nodes = graph.node_router.len();
    let (text, bytes) = messages(random, nodes, 5 + 6 * nodes);
    let network = Network::new(&settings, Routes::new(&settings, graph).expect("routes"));
    let file = OperationFile::read(Lines::of_text(text), nodes).expect("operations");
    let mut jobs = Jobs::new(network, file, &settings);
    jobs.run_with(|network| network.check()).expect("the job finishes");
    let counts = jobs.counts();
    assert_eq!((counts.injected_bytes, counts.ejected_bytes), (bytes, bytes), "{} {seed}", case.routing);
}

#[test]
fn no_event_is_lost_on_any_graph() {
    for seed in 0..120 {
        let mut random = Random::new(1000 + seed);
        let routers = 2 + random.below(6);
        let classes = 2 * routers + 1;
        for routing in [
            "minimal split router",
            "valiant split router",
            "ugal split router",
            "adaptive split router",
            "ugal split group",
            "valiant split group",
        ] {
            for buffers in ["port", "channel"] {
                let channels = format!("{} {classes} hops", classes + random.below(3) * classes);
                let case = Case { routing, channels, buffers, management: (seed % 2) as u8 };
                let nodes = routers + random.below(routers);
                simulate(any_graph(&mut random, routers, nodes), &case, seed, &mut random);
            }
        }
    }
}

#[test]
fn no_event_is_lost_on_rings_and_lines() {
    for seed in 0..100 {
        let mut random = Random::new(5000 + seed);
        let routers = 3 + random.below(5);
        for (routing, channels, wraps) in [
            ("dimension-order split router", "2 2 dateline", true),
            ("dimension-order positive router", "4 2 dateline", true),
            ("dimension-order alternate router", "1 1 one", false),
            ("adaptive split router", "3 2 escape", false),
        ] {
            let buffers = if seed % 2 == 0 { "port" } else { "channel" };
            let case = Case { routing, channels: channels.into(), buffers, management: 0 };
            simulate(line(routers, wraps), &case, seed, &mut random);
        }
    }
}
