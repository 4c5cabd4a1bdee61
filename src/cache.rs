//! Compiled shaders by content: one compile a key however many threads ask, a byte budget, eviction.

use crate::error::{Error, JitError};
use quick_cache::sync::{Cache as Entries, DefaultLifecycle, GuardResult};
use quick_cache::{OptionsBuilder, Weighter};
use shaderjit_ir::pass::PassError;
use smallvec::SmallVec;
use std::collections::hash_map::RandomState;
use std::sync::atomic::{AtomicU64, Ordering};

/// What identifies a compiled shader: a strong hash of everything that decides its code.
///
/// A container's own digest is no identity: an attacker may write any, and all unsigned files share one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key(pub [u8; 32]);

/// Of fields of more bytes the key has their hash.
const SHORT: usize = 64;

/// Eight bytes of what a key is hashed from.
type Word = [u8; 8];

/// Words that most keys are hashed from, with room for the formats of as many inputs as shaders have. Calls look for
/// code by its key, and allocate nothing.
const USUAL: usize = 128;

/// The fields of a [`Key`], each with its length and filled up to whole words, so that no two lists of fields run
/// together.
pub(crate) struct KeyBuilder(SmallVec<[Word; USUAL]>);

impl KeyBuilder {
    /// Begins the key of a `kind` of thing. Keys of other versions of this crate differ.
    pub fn new(kind: &str) -> KeyBuilder {
        let mut builder = KeyBuilder(SmallVec::new());
        builder.bytes(env!("CARGO_PKG_VERSION").as_bytes()).bytes(kind.as_bytes());
        builder
    }

    /// Adds a field of any length.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut KeyBuilder {
        let hash;
        let (length, short) = match bytes.len() {
            ..=SHORT => (bytes.len(), bytes),
            length => {
                hash = blake3::hash(bytes);
                (length, &hash.as_bytes()[..])
            }
        };
        self.word(length as u64);
        for piece in short.chunks(size_of::<Word>()) {
            let mut word = Word::default();
            word[..piece.len()].copy_from_slice(piece);
            self.0.push(word);
        }
        self
    }

    /// Adds a number.
    pub fn number(&mut self, number: u64) -> &mut KeyBuilder {
        self.word(size_of::<Word>() as u64).word(number)
    }

    fn word(&mut self, word: u64) -> &mut KeyBuilder {
        self.0.push(word.to_le_bytes());
        self
    }

    /// The key.
    pub fn finish(&self) -> Key {
        Key(*blake3::hash(self.0.as_flattened()).as_bytes())
    }
}

/// A value whose memory counts against the budget.
pub(crate) trait Weight {
    /// Bytes it occupies, roughly.
    fn weight(&self) -> u64;
}

/// What the cache of an [`Engine`](crate::Engine) holds and has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CacheStats {
    /// Programs in IR, pieces of native code, and refusals held.
    pub entries: usize,
    /// Bytes of code and IR they occupy, roughly; never above the budget.
    pub bytes: u64,
    /// The budget.
    pub budget: u64,
    /// How often one of them was made: a shader's first compilation counts twice, for IR and native code.
    pub compiles: u64,
    /// How often one of them was there, or another thread was already at it.
    pub hits: u64,
}

/// A value, or why there is none: compilation depends on nothing but the key, so a refusal holds for good.
type Outcome<T> = Result<T, Error>;

/// What a remembered refusal counts.
const REFUSAL_BYTES: u64 = 256;

#[derive(Clone)]
struct ByBytes;

impl<T: Weight> Weighter<Key, Outcome<T>> for ByBytes {
    fn weight(&self, _: &Key, outcome: &Outcome<T>) -> u64 {
        outcome.as_ref().map_or(REFUSAL_BYTES, |value| value.weight().max(1))
    }
}

/// Values by key. A value is a reference to shared memory: what is evicted lives on for those who hold it, and is freed
/// when the last of them lets go.
pub(crate) struct Cache<T: Weight + Clone> {
    entries: Entries<Key, Outcome<T>, ByBytes>,
    compiles: AtomicU64,
    hits: AtomicU64,
}

impl<T: Weight + Clone> Cache<T> {
    /// An empty cache of at most `budget` bytes.
    pub fn new(budget: u64) -> Cache<T> {
        // Each shard has an equal part of the budget and takes nothing larger; with one shard a large shader still
        // fits. What is held under the lock is a lookup, never a compile.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(1024)
            .weight_capacity(budget)
            .build()
            .expect("both capacities are given");
        let entries = Entries::with_options(options, ByBytes, RandomState::new(), DefaultLifecycle::default());
        Cache { entries, compiles: AtomicU64::new(0), hits: AtomicU64::new(0) }
    }

    /// The value of `key`, made by `compile` if it is not there. Of several threads that ask at once one compiles, and
    /// the others wait for its result.
    ///
    /// # Errors
    /// What `compile` says, or has said for this key before.
    pub fn get_or_compile(&self, key: Key, compile: impl FnOnce() -> Result<T, Error>) -> Outcome<T> {
        let guard = match self.entries.get_value_or_guard(&key, None) {
            GuardResult::Value(outcome) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                return outcome;
            }
            GuardResult::Guard(guard) => guard,
            GuardResult::Timeout => unreachable!("no timeout was given"),
        };
        self.compiles.fetch_add(1, Ordering::Relaxed);
        let outcome = compile();
        if !is_transient(&outcome) {
            // It fails only if somebody removed the placeholder, and then there is nobody to tell.
            let _ = guard.insert(outcome.clone());
        }
        outcome
    }

    /// The value of `key` if it is there. Never waits.
    pub fn get(&self, key: &Key) -> Option<Outcome<T>> {
        let outcome = self.entries.get(key)?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(outcome)
    }

    /// Every value held, in no order.
    pub fn values(&self) -> Vec<T> {
        self.entries.iter().filter_map(|(_, outcome)| outcome.ok()).collect()
    }

    /// Lets go of everything.
    pub fn clear(&self) {
        self.entries.clear();
    }

    /// Counters.
    pub fn stats(&self) -> CacheStats {
        CacheStats {
            entries: self.entries.len(),
            bytes: self.entries.weight(),
            budget: self.entries.capacity(),
            compiles: self.compiles.load(Ordering::Relaxed),
            hits: self.hits.load(Ordering::Relaxed),
        }
    }
}

/// Whether the next attempt may go better: memory for code may be free again.
fn is_transient<T>(outcome: &Outcome<T>) -> bool {
    matches!(outcome, Err(Error::Jit(JitError::Codegen(_)) | Error::Pass(PassError::OutOfTime)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ContainerError;
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Arc, Barrier};
    use std::time::Duration;

    struct Blob(u64);

    impl Weight for Arc<Blob> {
        fn weight(&self) -> u64 {
            self.0
        }
    }

    fn blob(bytes: u64) -> Arc<Blob> {
        Arc::new(Blob(bytes))
    }

    fn key(number: u64) -> Key {
        KeyBuilder::new("test").number(number).finish()
    }

    #[test]
    fn fields_do_not_run_together() {
        let of = |fields: &[&[u8]]| {
            let mut builder = KeyBuilder::new("test");
            fields.iter().for_each(|field| _ = builder.bytes(field));
            builder.finish()
        };
        assert_ne!(of(&[b"ab", b"c"]), of(&[b"a", b"bc"]));
        assert_ne!(of(&[b"ab"]), of(&[b"ab", b""]));
        assert_eq!(of(&[b"ab"]), of(&[b"ab"]));
    }

    #[test]
    fn threads_that_ask_at_once_share_one_compile() {
        let cache = Cache::new(1 << 20);
        let (compiles, barrier) = (AtomicUsize::new(0), Barrier::new(8));
        let values: Vec<Arc<Blob>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        cache.get_or_compile(key(1), || {
                            compiles.fetch_add(1, Ordering::SeqCst);
                            std::thread::sleep(Duration::from_millis(20));
                            Ok(blob(10))
                        })
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
        });
        assert_eq!(compiles.load(Ordering::SeqCst), 1);
        assert!(values.iter().all(|value| Arc::ptr_eq(value, &values[0])));
        let stats = cache.stats();
        assert_eq!((stats.entries, stats.bytes, stats.compiles, stats.hits), (1, 10, 1, 7));
    }

    #[test]
    fn what_is_evicted_is_freed_with_its_last_user() {
        let cache = Cache::new(100);
        let held = cache.get_or_compile(key(0), || Ok(blob(40))).unwrap();
        let mut made = vec![Arc::downgrade(&held)];
        for number in 1..50 {
            made.push(Arc::downgrade(&cache.get_or_compile(key(number), || Ok(blob(40))).unwrap()));
            assert!(cache.stats().bytes <= 100);
        }
        // Those in the cache and the one still held; nothing else.
        let alive = made.iter().filter(|value| value.strong_count() > 0).count();
        assert!(alive <= 3, "{alive}");
        assert!(made[0].strong_count() > 0);
        cache.clear();
        drop(held);
        assert!(made.iter().all(|value| value.strong_count() == 0));
    }

    #[test]
    fn what_exceeds_the_budget_is_given_but_not_kept() {
        let cache = Cache::new(100);
        assert_eq!(cache.get_or_compile(key(0), || Ok(blob(101))).unwrap().0, 101);
        assert_eq!(cache.stats().bytes, 0);
    }

    #[test]
    fn refusals_are_remembered_unless_they_may_pass() {
        let cache = Cache::<Arc<Blob>>::new(1 << 20);
        let lasting = Error::from(ContainerError::MissingPart { what: "program" });
        let passing = Error::from(JitError::Codegen("no memory".into()));
        for _ in 0..3 {
            assert_eq!(cache.get_or_compile(key(0), || Err(lasting.clone())).err(), Some(lasting.clone()));
            assert_eq!(cache.get_or_compile(key(1), || Err(passing.clone())).err(), Some(passing.clone()));
        }
        assert_eq!(cache.stats().compiles, 1 + 3);
        assert!(cache.get_or_compile(key(1), || Ok(blob(1))).is_ok());
    }
}
