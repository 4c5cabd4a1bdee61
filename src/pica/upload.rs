//! The ports that take more than one word: code, operand descriptors, float uniforms. Each advances by itself.

use crate::container::shbin::float24_to_f32;

/// Where the next word of a port goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor(u32);

impl Cursor {
    /// Sets it, as the index register of the port does.
    pub fn set(&mut self, index: u32) {
        self.0 = index & 0xfff;
    }

    /// Where the word goes that is being written. Past the end of the memory there are indices too, of which there is
    /// none.
    pub fn advance(&mut self) -> usize {
        let at = self.0 as usize;
        self.0 = self.0.saturating_add(1);
        at
    }
}

/// The port of float uniforms: words are collected until a register is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FloatUpload {
    index: u32,
    is_f32: bool,
    words: [u32; 4],
    filled: usize,
}

impl FloatUpload {
    /// The register's word of configuration: the index in bits 6..0, and in bit 31 whether words are 32-bit floats.
    /// What was incomplete is forgotten.
    pub fn configure(&mut self, word: u32) {
        *self = FloatUpload { index: word & 0x7f, is_f32: word >> 31 != 0, ..FloatUpload::default() };
    }

    /// The register that is filled next.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Takes a word. Returns a uniform and its index once it is complete; registers past `c95` do not exist.
    pub fn push(&mut self, word: u32) -> Option<(usize, [f32; 4])> {
        self.words[self.filled] = word;
        self.filled += 1;
        if self.filled < if self.is_f32 { 4 } else { 3 } {
            return None;
        }
        self.filled = 0;
        // The last component comes first.
        let [w0, w1, w2, w3] = self.words;
        let value = if self.is_f32 {
            [w3, w2, w1, w0].map(f32::from_bits)
        } else {
            [w2 & 0xff_ffff, w1 << 8 & 0xff_ff00 | w2 >> 24, w0 << 16 & 0xff_0000 | w1 >> 16, w0 >> 8]
                .map(float24_to_f32)
        };
        let index = self.index as usize;
        self.index = self.index.saturating_add(1);
        (index < 96).then_some((index, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_floats_of_24_bits_are_three_words() {
        let mut upload = FloatUpload::default();
        upload.configure(94);
        // x = 1, y = -1, z = 2, w = 0.5: 3f0000, bf0000, 400000, 3e0000.
        let words = [0x3e_0000 << 8 | 0x40_0000 >> 16, 0x40_0000 << 16 | 0xbf_0000 >> 8, 0xbf_0000 << 24 | 0x3f_0000];
        let value = [1.0, -1.0, 2.0, 0.5];
        for index in [94, 95] {
            assert_eq!(words.map(|word| upload.push(word)), [None, None, Some((index, value))]);
        }
        assert_eq!(words.map(|word| upload.push(word)), [None; 3], "there is no c96");
    }

    #[test]
    fn every_bit_of_a_float_of_24_bits_arrives() {
        for (component, bits) in (0..4).flat_map(|c| (0..24).map(move |bit| (c, 1u32 << bit))) {
            let mut components = [0; 4];
            components[component] = bits;
            let [x, y, z, w] = components;
            let mut upload = FloatUpload::default();
            upload.configure(3);
            let words = [w << 8 | z >> 16, z << 16 | y >> 8, y << 24 | x];
            let [_, _, value] = words.map(|word| upload.push(word));
            assert_eq!(value, Some((3, components.map(float24_to_f32))));
        }
    }

    #[test]
    fn four_floats_of_32_bits_are_four_words_backwards() {
        let mut upload = FloatUpload::default();
        upload.push(7);
        upload.configure(1 << 31 | 5);
        let words = [4.0f32, 3.0, 2.0, 1.1].map(f32::to_bits);
        assert_eq!(words.map(|word| upload.push(word)), [None, None, None, Some((5, [1.1, 2.0, 3.0, 4.0]))]);
    }
}
