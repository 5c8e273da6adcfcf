//! What the file of settings says: one word and its values a line, in this order.
//!
//! `flow 1`, `seed N`, `routing KIND TIE VIA`, `class_weight W...`, `bandwidth_Bps B...`, `latency_ns L...`, the last two
//! for each class of cables and then for the links to nodes, `router_latency_ns L`, `packet_bytes N`, `window_bytes N`,
//! `injection N`, `batching E`, `record 0|1`.

use library::input::{BadFile, Lines};
use library::settings::{Links, Routing};

#[derive(Debug, Clone)]
pub struct Settings {
    pub routing: Routing,
    pub links: Links,
    pub packet: f64,
    /// Bytes of a node that the network may hold while the node counts them as sent.
    pub window: f64,
    pub injection: usize,
    /// Events within this part of a flow's life are taken together.
    pub batching: f64,
    pub record: bool,
}

impl Settings {
    pub fn read(name: &str) -> Result<Settings, BadFile> {
        let mut lines = Lines::open(name)?;
        lines.format("flow")?;
        let (routing, links) = (Routing::read(&mut lines)?, Links::read(&mut lines)?);
        let [window] = lines.values("window_bytes")?;
        let [injection] = lines.values("injection")?;
        let [batching] = lines.values("batching")?;
        let [record]: [u8; 1] = lines.values("record")?;
        let packet = f64::from(links.packet_bytes);
        Ok(Settings { routing, packet, links, window, injection, batching, record: record != 0 })
    }
}
