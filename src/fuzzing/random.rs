//! Random bytes that are the same each time.

/// So many random bytes, or a few more (SplitMix64).
pub fn random(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    std::iter::repeat_with(next).take(count.div_ceil(8)).flat_map(u64::to_le_bytes).collect()
}
