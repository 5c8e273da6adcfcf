//! Random numbers: SplitMix64 (Steele, Lea, Flood: OOPSLA 2014), the same on every machine.

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mix bits.
#[inline]
pub fn mix(bits: u64) -> u64 {
    let mut z = bits.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Return a number below `end` from the upper 32 of random bits.
#[inline]
pub fn below(bits: u64, end: u32) -> u32 {
    (((bits >> 32) * u64::from(end)) >> 32) as u32
}

#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    #[inline]
    pub fn bits(&mut self) -> u64 {
        let bits = mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        bits
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// A number from 0 to 1, 1 excluded.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number of the exponential distribution of mean 1.
    pub fn exponential(&mut self) -> f64 {
        -logarithm(1.0 - self.unit())
    }
}

/// Return the natural logarithm of a number from 2^-53 to 1: that of the C library differs between machines.
fn logarithm(number: f64) -> f64 {
    let bits = number.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if mantissa > std::f64::consts::SQRT_2 {
        (mantissa, exponent) = (mantissa / 2.0, exponent + 1);
    }
    // ln m = 2 artanh((m - 1) / (m + 1)), by its series.
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    let mut sum = 0.0;
    for term in (0..12).rev() {
        sum = sum * square + 1.0 / f64::from(2 * term + 1);
    }
    f64::from(exponent) * std::f64::consts::LN_2 + 2.0 * ratio * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_right_to_rounding() {
        let mut random = Random::new(5);
        for _ in 0..100_000 {
            let number = (1.0 - random.unit()).powi(3).max(1e-15);
            assert!((logarithm(number) - number.ln()).abs() <= 4e-16 * number.ln().abs().max(1.0), "{number}");
        }
        assert_eq!(logarithm(1.0), 0.0);
    }
}
