//! What the file of settings says.
//!
//! `packet 1`, `seed N`, `routing KIND TIE VIA`, `ugal DETOURS BIAS THRESHOLD_BYTES PROGRESSIVE`, `class_weight W...`,
//! `bandwidth_Bps B...`, `latency_ns L...`, the last two for each class of cables and then for the links to nodes,
//! `router_latency_ns L`, `packet_bytes N`, `buffer_bytes N`, `buffers port|channel`, `channels CHANNELS CLASSES SCHEME`,
//! `crossbar_speedup X`, `injection N`, `traffic_classes SHARE...`, `job_classes C...`, `congestion_management BYTES` with
//! the first window, or 0 for none, `overhead SEND_NS RECEIVE_NS NS_PER_BYTE`, `times 0|1|2`, and for offered traffic
//! `offered ARRIVALS BURST LOAD MESSAGE_BYTES WARMUP_PS BATCH_PS BATCHES DRAIN`, with the mean size of the messages, and
//! `sizes`, with three numbers for each row of their distribution, or none for one size.

use library::input::{BadFile, Lines};
use library::offered::{Arrivals, Sizes};
use library::settings::{Kind, Links, Routing};
use library::window::Window;

/// How the channel class of a packet's next hop follows from its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Hop k uses class k, or the last one (Günther: IEEE Trans. Communications 29(4), 1981).
    Hops,
    /// The machine's file lists it.
    Listed,
    /// One class for each part of a path that ends with a global hop: before a detour, up to its intermediate, behind it,
    /// and in the last group (Kim, Dally, Scott and Abts: ISCA 2008).
    GlobalHops,
    /// Class 0 before the dateline of a ring, class 1 behind it (Dally and Seitz: IEEE Trans. Computers 36(5), 1987).
    Dateline,
    /// Class 0, of one channel, is an escape by dimension order (Duato: IEEE Trans. Parallel and Distributed Systems 4(12), 1993).
    Escape,
    /// All hops use class 0.
    One,
}

const SCHEMES: [(&str, Scheme); 6] = [
    ("hops", Scheme::Hops),
    ("listed", Scheme::Listed),
    ("global-hops", Scheme::GlobalHops),
    ("dateline", Scheme::Dateline),
    ("escape", Scheme::Escape),
    ("one", Scheme::One),
];

/// Traffic that nodes offer without end.
#[derive(Debug, Clone)]
pub struct Offered {
    pub arrivals: Arrivals,
    pub load: f64,
    pub sizes: Sizes,
    /// In ps.
    pub window: Window,
}

#[derive(Debug, Clone)]
pub struct Settings {
    pub routing: Routing,
    pub detours: usize,
    pub bias: f64,
    pub threshold_bytes: f64,
    /// Whether packets under UGAL decide again.
    pub progressive: bool,
    pub links: Links,
    pub buffer_bytes: u32,
    /// Whether each channel has a buffer of its own.
    pub buffer_per_channel: bool,
    pub channels: usize,
    pub classes: usize,
    pub scheme: Scheme,
    pub crossbar_speedup: f64,
    pub injection: usize,
    pub traffic_classes: Vec<f64>,
    pub job_classes: Vec<usize>,
    pub first_window_bytes: u32,
    /// Whether times of operations, and of messages, are in the result.
    pub times: bool,
    pub message_times: bool,
    pub offered: Option<Offered>,
}

impl Settings {
    pub fn read(mut lines: Lines) -> Result<Settings, BadFile> {
        lines.format("packet")?;
        let routing = Routing::read(&mut lines)?;
        let [detours, bias, threshold_bytes, progressive]: [f64; 4] = lines.values("ugal")?;
        let links = Links::read(&mut lines)?;
        let [buffer_bytes]: [u32; 1] = lines.values("buffer_bytes")?;
        let [buffers]: [String; 1] = lines.values("buffers")?;
        let buffer_per_channel = lines.choice(&buffers, &[("port", false), ("channel", true)])?;
        let [channels, classes, scheme]: [String; 3] = lines.values("channels")?;
        let scheme = lines.choice(&scheme, &SCHEMES)?;
        let (channels, classes) = match (channels.parse::<usize>(), classes.parse::<usize>()) {
            (Ok(channels), Ok(classes)) if classes > 0 && channels >= classes => (channels, classes),
            _ => return Err(lines.bad("the number of channels must be at least the number of classes")),
        };
        let [crossbar_speedup]: [f64; 1] = lines.values("crossbar_speedup")?;
        if crossbar_speedup <= 0.0 || !crossbar_speedup.is_finite() {
            return Err(lines.bad("the speed-up of the crossbar is above 0"));
        }
        let [injection]: [usize; 1] = lines.values("injection")?;
        let traffic_classes: Vec<f64> = lines.list("traffic_classes")?;
        if traffic_classes.is_empty() || !traffic_classes.iter().all(|&share| share > 0.0) || injection == 0 {
            return Err(lines.bad("needs at least one traffic class, and at least one message in flight"));
        }
        if channels * traffic_classes.len() > 64 {
            return Err(lines.bad("a port has 64 channels at most, those of all traffic classes together"));
        }
        let job_classes: Vec<usize> = lines.list("job_classes")?;
        if job_classes.iter().any(|&class| class >= traffic_classes.len()) {
            return Err(lines.bad("there is no such traffic class"));
        }
        let [first_window_bytes] = lines.values("congestion_management")?;
        let overhead: [f64; 3] = lines.values("overhead")?;
        if overhead != [0.0; 3] {
            return Err(lines.bad("overheads of messages are not simulated"));
        }
        let [times]: [u8; 1] = lines.values("times")?;
        let offered = if lines.are_at_end() { None } else { Some(offered(&mut lines)?) };
        let settings = Settings {
            detours: (detours as usize).max(1),
            bias,
            threshold_bytes,
            progressive: progressive != 0.0 && routing.kind == Kind::Ugal,
            routing,
            links,
            buffer_bytes,
            buffer_per_channel,
            channels,
            classes,
            scheme,
            crossbar_speedup,
            injection,
            traffic_classes,
            job_classes,
            first_window_bytes,
            times: times != 0,
            message_times: times == 2,
            offered,
        };
        let least = settings.least_buffer();
        if buffer_bytes < least {
            return Err(lines.bad(&format!("a buffer has {least} bytes at least")));
        }
        Ok(settings)
    }

    /// Return the bytes of a buffer below which a class of channels would have no packet of its own.
    pub fn least_buffer(&self) -> u32 {
        let packets = if self.buffer_per_channel { 4 } else { (self.classes + 1).max(4) };
        packets as u32 * self.links.packet_bytes
    }
}

fn offered(lines: &mut Lines) -> Result<Offered, BadFile> {
    let [arrivals, burst, load, message, warmup, batch, batches, drain]: [String; 8] = lines.values("offered")?;
    let rows: Vec<f64> = lines.list("sizes")?;
    let whole = |word: &str| word.parse::<u64>().ok();
    let arrivals = burst.parse().ok().and_then(|burst| Arrivals::of(&arrivals, burst));
    let load = load.parse::<f64>().ok();
    let sizes =
        message.parse().ok().filter(|&mean| mean < f64::from(1_u32 << 31)).and_then(|mean| Sizes::new(mean, &rows));
    match (arrivals, load, sizes, whole(&warmup), whole(&batch), whole(&batches), whole(&drain)) {
        (Some(arrivals), Some(load), Some(sizes), Some(warmup), Some(batch), Some(batches), Some(drain))
            if load > 0.0 && batch > 0 && batches > 0 =>
        {
            Ok(Offered { arrivals, load, sizes, window: Window { warmup, batch, batches, drain } })
        }
        _ => Err(lines.bad("should follow 'offered ARRIVALS BURST LOAD MESSAGE WARMUP BATCH BATCHES DRAIN'")),
    }
}
