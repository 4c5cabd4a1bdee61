//! Sums of what stands before, in groups of 128 values.

/// Values of a group.
pub const GROUP: usize = 128;

/// The work-efficient scan: sums up a tree, and down again. Totals of the groups go to `totals`.
pub fn tree(values: &[u32], sums: &mut [u32], totals: &mut [u32]) {
    for ((values, sums), total) in values.as_chunks().0.iter().zip(sums.as_chunks_mut().0).zip(totals) {
        let mut s: [u32; GROUP] = *values;
        let mut step = 1;
        while step < GROUP {
            for at in (2 * step - 1..GROUP).step_by(2 * step) {
                s[at] = s[at].wrapping_add(s[at - step]);
            }
            step *= 2;
        }
        *total = s[GROUP - 1];
        s[GROUP - 1] = 0;
        while step > 1 {
            step /= 2;
            for at in (2 * step - 1..GROUP).step_by(2 * step) {
                let before = s[at - step];
                s[at - step] = s[at];
                s[at] = s[at].wrapping_add(before);
            }
        }
        *sums = s;
    }
}

/// A running sum.
pub fn running(values: &[u32], sums: &mut [u32], totals: &mut [u32]) {
    let groups = values.as_chunks::<GROUP>().0.iter().zip(sums.as_chunks_mut::<GROUP>().0);
    for ((values, sums), total) in groups.zip(totals) {
        *total = 0;
        for (value, sum) in values.iter().zip(sums) {
            *sum = *total;
            *total = total.wrapping_add(*value);
        }
    }
}
