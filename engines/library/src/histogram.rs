//! A histogram of times.

/// Counts of numbers, exact below 1024 and to 0.1 % above.
#[derive(Debug, Clone, Default)]
pub struct Histogram(Vec<u32>);

const EXACT_BITS: u32 = 10;

impl Histogram {
    pub fn add(&mut self, value: u64) {
        let excess = (u64::BITS - value.leading_zeros()).saturating_sub(EXACT_BITS + 1);
        let bucket = ((u64::from(excess) << EXACT_BITS) + (value >> excess)) as usize;
        if bucket >= self.0.len() {
            self.0.resize(bucket + 1, 0);
        }
        self.0[bucket] += 1;
    }

    /// Value and count of each bucket that is not empty; the value is the middle of the bucket, times two.
    pub fn listed(&self) -> Vec<u64> {
        let mut listed = Vec::new();
        for (bucket, &count) in self.0.iter().enumerate().filter(|(_, &count)| count > 0) {
            let excess = (bucket >> EXACT_BITS).saturating_sub(1) as u64;
            let low = (bucket as u64 - (excess << EXACT_BITS)) << excess;
            listed.extend_from_slice(&[2 * low + (1 << excess) - 1, u64::from(count)]);
        }
        listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_exact_below_1024_and_close_above() {
        let mut histogram = Histogram::default();
        for value in [0, 1023, 1023, 5_000, 1_000_000] {
            histogram.add(value);
        }
        let listed = histogram.listed();
        assert_eq!(listed[..4], [0, 1, 2046, 2]);
        for (listed, value) in [(listed[4], 5_000.0), (listed[6], 1_000_000.0)] {
            assert!((listed as f64 / 2.0 / value - 1.0).abs() < 1e-3, "{listed}");
        }
    }
}
