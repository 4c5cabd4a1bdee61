//! Sets of entities.

use cranelift_entity::EntityRef;
use smallvec::{SmallVec, smallvec};
use std::fmt;
use std::marker::PhantomData;

/// A set of entities: a bit for each number. Passes ask for members of such sets more often than for anything else.
#[derive(Clone, PartialEq, Eq)]
pub struct EntitySet<K> {
    /// Most functions have no more than 128 blocks, and many no more values that are in question.
    words: SmallVec<[u64; 2]>,
    of: PhantomData<K>,
}

impl<K> Default for EntitySet<K> {
    fn default() -> EntitySet<K> {
        EntitySet { words: SmallVec::new(), of: PhantomData }
    }
}

impl<K: EntityRef> EntitySet<K> {
    /// The empty set.
    pub fn new() -> EntitySet<K> {
        EntitySet::default()
    }

    /// The empty set, with room for the first so many entities.
    pub fn with_capacity(count: usize) -> EntitySet<K> {
        EntitySet { words: smallvec![0; count.div_ceil(64)], of: PhantomData }
    }

    /// Whether an entity is a member.
    #[inline]
    pub fn contains(&self, entity: K) -> bool {
        let index = entity.index();
        self.words.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 != 0)
    }

    /// Adds an entity; says whether it was missing.
    #[inline]
    pub fn insert(&mut self, entity: K) -> bool {
        let index = entity.index();
        if index / 64 >= self.words.len() {
            self.words.resize(index / 64 + 1, 0);
        }
        let (word, bit) = (&mut self.words[index / 64], 1 << (index % 64));
        let was_missing = *word & bit == 0;
        *word |= bit;
        was_missing
    }

    /// Takes an entity out; says whether it was a member.
    #[inline]
    pub fn remove(&mut self, entity: K) -> bool {
        let index = entity.index();
        let Some(word) = self.words.get_mut(index / 64) else { return false };
        let bit = 1 << (index % 64);
        let was_member = *word & bit != 0;
        *word &= !bit;
        was_member
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// The members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = K> {
        self.words.iter().enumerate().flat_map(|(number, &word)| {
            let rest = |&word: &u64| if word == 0 { None } else { Some(word & (word - 1)) };
            let bits = std::iter::successors(Some(word), rest).take_while(|&word| word != 0);
            bits.map(move |word| K::new(64 * number + word.trailing_zeros() as usize))
        })
    }

    /// Those of the first so many entities that are no members.
    pub fn others(&self, count: usize) -> EntitySet<K> {
        let mut others = EntitySet::with_capacity(count);
        for (number, word) in others.words.iter_mut().enumerate() {
            *word = !self.words.get(number).copied().unwrap_or(0);
        }
        if let Some(last) = others.words.last_mut()
            && !count.is_multiple_of(64)
        {
            *last &= (1 << (count % 64)) - 1;
        }
        others
    }
}

impl<K: EntityRef> Extend<K> for EntitySet<K> {
    fn extend<T: IntoIterator<Item = K>>(&mut self, entities: T) {
        entities.into_iter().for_each(|entity| _ = self.insert(entity));
    }
}

impl<K: EntityRef + fmt::Debug> fmt::Debug for EntitySet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    #[test]
    fn members_come_and_go() {
        let [a, b, c] = [3, 64, 200].map(Value::from_u32);
        let mut set = EntitySet::with_capacity(65);
        assert!(set.is_empty() && set.insert(b) && !set.insert(b) && set.insert(a));
        assert!(set.contains(a) && set.contains(b) && !set.contains(c) && !set.remove(c));
        assert_eq!(set.iter().collect::<Vec<_>>(), [a, b]);
        assert_eq!(set.others(66).iter().count(), 64);
        assert!(!set.others(66).contains(c) && set.others(201).contains(c));
        set.extend([c]);
        assert!(set.remove(a) && set.remove(b) && set.contains(c));
        assert_eq!(format!("{set:?}"), "{v200}");
    }
}
