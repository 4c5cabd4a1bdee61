//! Keys in order, in groups of 512.

/// Keys of a group.
pub const GROUP: usize = 512;

/// Batcher's bitonic network.
pub fn bitonic(keys: &[u32], sorted: &mut [u32]) {
    for (keys, sorted) in keys.as_chunks().0.iter().zip(sorted.as_chunks_mut().0) {
        let mut s: [u32; GROUP] = *keys;
        let mut run = 2;
        while run <= GROUP {
            let mut apart = run / 2;
            while apart > 0 {
                for pair in 0..GROUP / 2 {
                    let at = 2 * pair - (pair & (apart - 1));
                    let (one, other) = (s[at], s[at + apart]);
                    let (low, high) = (one.min(other), one.max(other));
                    let is_rising = at & run == 0;
                    s[at] = if is_rising { low } else { high };
                    s[at + apart] = if is_rising { high } else { low };
                }
                apart /= 2;
            }
            run *= 2;
        }
        *sorted = s;
    }
}

/// The standard library's.
pub fn standard(keys: &[u32], sorted: &mut [u32]) {
    for (keys, sorted) in keys.as_chunks::<GROUP>().0.iter().zip(sorted.as_chunks_mut::<GROUP>().0) {
        *sorted = *keys;
        sorted.sort_unstable();
    }
}
