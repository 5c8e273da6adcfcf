//! End-to-end congestion management: a window of bytes in flight for each pair of an interface and a destination, by the rule
//! of DCTCP (Alizadeh et al., SIGCOMM 2010, doi:10.1145/1851182.1851192).
//!
//! The router of a node marks a packet that finds more than `THRESHOLD_PACKETS` packets in the output queue to the node. When
//! a packet has arrived, an acknowledgement with its mark reaches the sender after the latency of the way back; it takes no
//! bandwidth. Once in a window the sender estimates the share of marked bytes, alpha <- (1 - g) alpha + g F, and if any was
//! marked the window becomes (1 - alpha / 2) of itself; otherwise it grows by a packet. A window has one packet at least. It
//! begins with the bandwidth-delay product, and alpha with 1, so that the first marks halve it (as in Linux).

use std::collections::HashMap;

/// Packets in the output queue to a node above which packets are marked; DCTCP's K for the delays of a network interface.
pub const THRESHOLD_PACKETS: u32 = 8;

/// Weight of the newest share of marked bytes (g of DCTCP).
const GAIN: f64 = 1.0 / 16.0;

/// The window of a pair, in bytes.
#[derive(Debug, Clone, Copy)]
struct Window {
    bytes: f64,
    alpha: f64,
    in_flight: u32,
    /// Bytes acknowledged since the last estimate, and those of them that were marked.
    acknowledged: u32,
    marked: u32,
}

#[derive(Debug, Clone, Copy)]
pub struct Acknowledgement {
    pub interface: u32,
    pub destination: u32,
    pub bytes: u32,
    pub is_marked: bool,
}

#[derive(Debug)]
pub struct CongestionManagement {
    packet: f64,
    first: f64,
    windows: HashMap<(u32, u32), Window>,
    under_way: Vec<Acknowledgement>,
    free: Vec<u32>,
}

impl CongestionManagement {
    /// Windows begin with `first` bytes, and never have more.
    pub fn new(packet: u32, first: u32) -> CongestionManagement {
        let first = f64::from(first.max(packet));
        CongestionManagement {
            packet: f64::from(packet),
            first,
            windows: HashMap::new(),
            under_way: Vec::new(),
            free: Vec::new(),
        }
    }

    fn window(&mut self, interface: u32, destination: u32) -> &mut Window {
        let first = Window { bytes: self.first, alpha: 1.0, in_flight: 0, acknowledged: 0, marked: 0 };
        self.windows.entry((interface, destination)).or_insert(first)
    }

    /// Return whether an interface may send so many bytes to a destination.
    pub fn allows(&mut self, interface: u32, destination: u32, bytes: u32) -> bool {
        let window = self.window(interface, destination);
        window.in_flight == 0 || f64::from(window.in_flight + bytes) <= window.bytes
    }

    pub fn send(&mut self, interface: u32, destination: u32, bytes: u32) {
        self.window(interface, destination).in_flight += bytes;
    }

    /// Keep an acknowledgement until it arrives, and return its number.
    pub fn keep(&mut self, acknowledgement: Acknowledgement) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.under_way[number as usize] = acknowledgement;
                number
            }
            None => {
                self.under_way.push(acknowledgement);
                self.under_way.len() as u32 - 1
            }
        }
    }

    /// Let an acknowledgement arrive; return the interface that it comes to.
    pub fn acknowledge(&mut self, number: u32) -> u32 {
        self.free.push(number);
        let Acknowledgement { interface, destination, bytes, is_marked } = self.under_way[number as usize];
        let (packet, first) = (self.packet, self.first);
        let window = self.window(interface, destination);
        window.in_flight -= bytes;
        window.acknowledged += bytes;
        window.marked += if is_marked { bytes } else { 0 };
        if f64::from(window.acknowledged) >= window.bytes {
            let share = f64::from(window.marked) / f64::from(window.acknowledged);
            window.alpha += GAIN * (share - window.alpha);
            let next =
                if window.marked > 0 { window.bytes * (1.0 - window.alpha / 2.0) } else { window.bytes + packet };
            window.bytes = next.max(packet).min(first);
            (window.acknowledged, window.marked) = (0, 0);
        }
        interface
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Send and acknowledge packets of 100 bytes one at a time; return the window in the end.
    fn after(packets: usize, is_marked: impl Fn(usize) -> bool) -> f64 {
        let mut management = CongestionManagement::new(100, 1000);
        for number in 0..packets {
            management.send(3, 4, 100);
            let acknowledgement =
                Acknowledgement { interface: 3, destination: 4, bytes: 100, is_marked: is_marked(number) };
            let number = management.keep(acknowledgement);
            assert_eq!(management.acknowledge(number), 3);
        }
        management.window(3, 4).bytes
    }

    #[test]
    fn a_window_follows_the_rule_of_dctcp() {
        // Ten marked packets halve the window; ten of which five were marked leave 1 - (15/16 + 1/32) / 2 of it.
        assert!((after(10, |_| true) - 500.0).abs() < 1e-9);
        assert!((after(10, |number| number < 5) - 515.625).abs() < 1e-9);
        assert_eq!(after(2000, |_| true), 100.0);
        // A window is not larger than at first.
        assert_eq!(after(500, |_| false), 1000.0);
        assert!(after(2000, |number| number % 4 == 0) > after(2000, |number| number % 2 == 0));
    }

    #[test]
    fn a_window_limits_the_bytes_in_flight_of_its_pair_alone() {
        let mut management = CongestionManagement::new(100, 200);
        assert!(management.allows(0, 1, 100));
        management.send(0, 1, 100);
        management.send(0, 1, 100);
        assert!(!management.allows(0, 1, 1) && management.allows(0, 2, 100) && management.allows(1, 1, 100));
        let number = management.keep(Acknowledgement { interface: 0, destination: 1, bytes: 100, is_marked: false });
        management.acknowledge(number);
        assert!(management.allows(0, 1, 100));
    }
}
