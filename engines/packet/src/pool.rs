//! Room in buffers: what the units of a buffer hold, and what they have in common.
//!
//! A *unit* is a class of channels, or a channel if each has a buffer of its own. Each unit has room of its own for a
//! packet at least, so that a class never waits for the packets of another one to leave a buffer; the units of a traffic
//! class share the rest (dynamically allocated multi-queue buffers: Tamir and Frazier, IEEE Trans. Computers 41(6), 1992).

#[derive(Debug, Clone)]
pub struct Division {
    pub units: usize,
    traffic_classes: usize,
    own: u32,
    common: u32,
}

impl Division {
    /// Divide `bytes` of each traffic class among units; each has `least` bytes of its own, and half of its equal part.
    pub fn shared(bytes: u32, units: usize, traffic_classes: usize, least: u32) -> Division {
        let own = if units == 1 { bytes } else { least.max(bytes / (2 * units as u32)) };
        Division { units, traffic_classes, own, common: bytes.saturating_sub(own * units as u32) }
    }

    pub fn separate(bytes: u32, units: usize, traffic_classes: usize) -> Division {
        Division { units, traffic_classes, own: bytes, common: 0 }
    }
}

#[derive(Debug)]
pub struct Pools {
    division: Division,
    held: Vec<u32>,
    in_common: Vec<u32>,
}

impl Pools {
    pub fn new(ports: usize, division: Division) -> Pools {
        Pools {
            held: vec![0; ports * division.units * division.traffic_classes],
            in_common: vec![0; ports * division.traffic_classes],
            division,
        }
    }

    /// Index of a unit's count; `unit` counts those of all traffic classes.
    #[inline]
    fn index(&self, port: u32, unit: u32) -> usize {
        port as usize * self.division.units * self.division.traffic_classes + unit as usize
    }

    #[inline]
    fn common_index(&self, port: u32, unit: u32) -> usize {
        port as usize * self.division.traffic_classes + unit as usize / self.division.units
    }

    #[inline]
    pub fn has_room(&self, port: u32, unit: u32, bytes: u32) -> bool {
        let held = self.held[self.index(port, unit)];
        let Division { own, common, .. } = self.division;
        let more = (held + bytes).saturating_sub(own.max(held));
        more == 0 || (common > 0 && self.in_common[self.common_index(port, unit)] + more <= common)
    }

    #[inline]
    pub fn take(&mut self, port: u32, unit: u32, bytes: u32) {
        let index = self.index(port, unit);
        let held = self.held[index];
        self.held[index] = held + bytes;
        let more = (held + bytes).saturating_sub(self.division.own.max(held));
        if more > 0 {
            let common = self.common_index(port, unit);
            self.in_common[common] += more;
        }
    }

    #[inline]
    pub fn give_back(&mut self, port: u32, unit: u32, bytes: u32) {
        let index = self.index(port, unit);
        let held = self.held[index];
        self.held[index] = held - bytes;
        let less = held.saturating_sub(self.division.own.max(held - bytes));
        if less > 0 {
            let common = self.common_index(port, unit);
            self.in_common[common] -= less;
        }
    }
}
