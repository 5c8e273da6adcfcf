//! Room in buffers: what the units of a buffer hold, and what they have in common.
//!
//! A *unit* is a class of channels, or a channel if each has a buffer of its own. Each unit has room of its own for a
//! packet at least, so that a class never waits for the packets of another one to leave a buffer; the units of a traffic
//! class share the rest (dynamically allocated multi-queue buffers: Tamir and Frazier, IEEE Trans. Computers 41(6), 1992).

/// How a buffer is divided.
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

    /// Give `bytes` to each unit.
    pub fn separate(bytes: u32, units: usize, traffic_classes: usize) -> Division {
        Division { units, traffic_classes, own: bytes, common: 0 }
    }
}

/// The buffers of all ports.
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

    /// Return whether a packet has room.
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

#[cfg(test)]
mod tests {
    use super::*;
    use library::random::Random;

    #[test]
    fn every_unit_has_room_for_a_packet_whatever_the_others_hold() {
        let mut random = Random::new(3);
        for units in [1, 2, 3, 7] {
            let (least, bytes) = (100, 800);
            let mut pools = Pools::new(2, Division::shared(bytes, units, 2, least));
            let mut packets: Vec<(u32, u32)> = Vec::new();
            for _ in 0..10_000 {
                let (unit, size) = (random.below(2 * units) as u32, 1 + random.below(100) as u32);
                let held = |unit: u32| packets.iter().filter(|p| p.0 == unit).map(|p| p.1).sum::<u32>();
                if pools.has_room(1, unit, size) {
                    pools.take(1, unit, size);
                    packets.push((unit, size));
                } else {
                    assert!(held(unit) > 0, "a unit without packets has room");
                }
                for class in 0..2 {
                    let of_class = packets.iter().filter(|p| p.0 as usize / units == class);
                    assert!(of_class.map(|p| p.1).sum::<u32>() <= bytes);
                }
                if !packets.is_empty() && random.below(2) == 0 {
                    let (unit, size) = packets.swap_remove(random.below(packets.len()));
                    pools.give_back(1, unit, size);
                }
            }
            packets.drain(..).for_each(|(unit, size)| pools.give_back(1, unit, size));
            assert!(pools.held.iter().chain(&pools.in_common).all(|&bytes| bytes == 0));
        }
    }
}
