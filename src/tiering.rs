//! Native code that is made beside the calls: what a shader has got of it so far, the queues of what is asked for, and
//! the threads that make it.
//!
//! A job is one program for one layout, whoever asks. Everybody points weakly at everybody: what nobody holds any more
//! is not compiled, and neither shaders nor the thread keep an engine alive.

use crate::cache::Key;
use crate::error::JitError;
use crate::jit::Layout;
use crate::native::Native;
use crate::options::Lanes;
use crate::prepared::Prepared;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, Weak};
use std::thread::JoinHandle;

/// Native code, or why there is none.
pub(crate) type Outcome = Result<Arc<Native>, JitError>;

/// Where native code is made. That is an engine; shaders and workers, which are below it, know no more of it than this.
pub(crate) trait Maker: Send + Sync {
    /// Native code of a program for a layout: made now, unless it is there.
    fn native(&self, prepared: &Arc<Prepared>, layout: &Layout, lanes: Lanes) -> Outcome;

    /// The same without waiting: what there is, or else a worker is asked for it.
    fn ask(&self, tier: &Arc<Tier>, layout: &Layout) -> Option<Arc<Native>>;
}

/// The way back to it. It keeps no engine alive.
pub(crate) type Home = Weak<dyn Maker>;

/// The layouts beside its own that a shader keeps native code for. That of more is asked of the cache.
const OTHERS: usize = 4;

/// What a shader has got so far.
pub(crate) struct Tier {
    pub prepared: Arc<Prepared>,
    pub layout: Layout,
    pub lanes: Lanes,
    pub home: Home,
    /// For its own layout.
    own: OnceLock<Outcome>,
    /// For layouts that calls have bound, the latest last.
    others: Mutex<VecDeque<(Layout, Outcome)>>,
}

impl Tier {
    /// Nothing yet.
    pub fn new(prepared: Arc<Prepared>, layout: Layout, lanes: Lanes, home: Home) -> Arc<Tier> {
        Arc::new(Tier { prepared, layout, lanes, home, own: OnceLock::new(), others: Mutex::default() })
    }

    /// What has become of its own layout, if anything yet.
    pub fn own(&self) -> Option<&Outcome> {
        self.own.get()
    }

    /// The same, waited for.
    pub fn wait(&self) -> &Outcome {
        self.own.wait()
    }

    /// The native code for a layout, if it is there. If not it will be, unless it cannot be made.
    pub fn native_for(self: &Arc<Tier>, layout: &Layout) -> Option<Arc<Native>> {
        if *layout == self.layout {
            return self.own.get()?.clone().ok();
        }
        let known = self.others().iter().find(|(other, _)| other == layout).map(|(_, outcome)| outcome.clone());
        match known {
            Some(outcome) => outcome.ok(),
            None => self.home.upgrade()?.ask(self, layout),
        }
    }

    /// Takes what has become of a layout.
    pub fn receive(&self, layout: &Layout, outcome: Outcome) {
        if *layout == self.layout {
            // Only where somebody was faster, with the same.
            let _ = self.own.set(outcome);
            return;
        }
        let mut others = self.others();
        others.retain(|(other, _)| other != layout);
        if others.len() == OTHERS {
            others.pop_front();
        }
        others.push_back((layout.clone(), outcome));
    }

    fn others(&self) -> MutexGuard<'_, VecDeque<(Layout, Outcome)>> {
        self.others.lock().expect("nobody panics with the lock held")
    }
}

/// Programs of more instructions, edges and parameters wait for each other alone.
const LARGE: u64 = 4096;

/// The workers of an engine: one for programs that take milliseconds, and one for those that may take tenths of a
/// second, so that nobody's small program waits for somebody's large one.
#[derive(Default)]
pub(crate) struct Workers {
    quick: Worker,
    slow: Worker,
}

impl Workers {
    /// Asks for native code under this key, of the program of `tier` for `layout`.
    pub fn ask(&self, home: &Home, key: Key, tier: &Arc<Tier>, layout: &Layout) {
        let is_large = shaderjit_ir::batch::size(&tier.prepared.function) > LARGE;
        if let Err(error) = if is_large { &self.slow } else { &self.quick }.push(home, key, tier, layout) {
            tier.receive(layout, Err(error));
        }
    }

    /// Drops every job and ends the threads, when they have finished what they have in hand.
    pub fn close(&self) {
        let threads = [&self.quick, &self.slow].map(Worker::close);
        // Told both before waiting for either. A thread that has panicked has nothing more to say.
        threads.into_iter().flatten().for_each(|thread| _ = thread.join());
    }
}

/// A queue and its thread, which begins with the first job.
#[derive(Default)]
struct Worker {
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    order: VecDeque<Key>,
    /// Those in `order`.
    jobs: HashMap<Key, Job>,
    thread: Option<JoinHandle<()>>,
    is_closed: bool,
}

/// One program for one layout, with who waits for it.
struct Job {
    layout: Layout,
    waiting: Vec<Weak<Tier>>,
}

impl Job {
    /// Tells everybody.
    fn end(&self, outcome: &Outcome) {
        self.waiting.iter().filter_map(Weak::upgrade).for_each(|tier| tier.receive(&self.layout, outcome.clone()));
    }
}

impl Worker {
    fn push(&self, home: &Home, key: Key, tier: &Arc<Tier>, layout: &Layout) -> Result<(), JitError> {
        let mut state = self.queue.lock();
        if state.is_closed {
            return Err(JitError::Abandoned);
        }
        if state.thread.is_none() {
            let (queue, home) = (Arc::clone(&self.queue), Weak::clone(home));
            let thread = std::thread::Builder::new().name("shaderjit".to_string()).spawn(move || serve(&queue, &home));
            let thread = thread.map_err(|error| JitError::Codegen(format!("no thread to make code on: {error}")))?;
            state.thread = Some(thread);
        }
        state.add(key, tier, layout);
        self.queue.wake.notify_one();
        Ok(())
    }

    /// Drops every job; the thread ends with the one it has in hand.
    fn close(&self) -> Option<JoinHandle<()>> {
        let (jobs, thread) = {
            let mut state = self.queue.lock();
            state.is_closed = true;
            state.order.clear();
            (std::mem::take(&mut state.jobs), state.thread.take())
        };
        self.queue.wake.notify_all();
        jobs.values().for_each(|job| job.end(&Err(JitError::Abandoned)));
        thread
    }
}

impl State {
    fn add(&mut self, key: Key, tier: &Arc<Tier>, layout: &Layout) {
        if self.jobs.len() == self.jobs.capacity() {
            // Before it grows, what nobody waits for goes.
            self.jobs.retain(|_, job| job.waiting.iter().any(|tier| tier.strong_count() > 0));
            self.order.retain(|key| self.jobs.contains_key(key));
        }
        let job = self.jobs.entry(key).or_insert_with(|| {
            self.order.push_back(key);
            Job { layout: layout.clone(), waiting: Vec::new() }
        });
        let tier = Arc::downgrade(tier);
        job.waiting.retain(|other| other.strong_count() > 0 && !other.ptr_eq(&tier));
        job.waiting.push(tier);
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with the lock held")
    }

    /// The next job; `None` when there will be none.
    fn next(&self) -> Option<Job> {
        let idle = |state: &mut State| state.order.is_empty() && !state.is_closed;
        let mut state = self.wake.wait_while(self.lock(), idle).expect("nobody panics with the lock held");
        let key = state.order.pop_front()?;
        Some(state.jobs.remove(&key).expect("there is a job for every key in order"))
    }
}

/// The thread.
fn serve(queue: &Queue, home: &Home) {
    while let Some(job) = queue.next() {
        let Some(tier) = job.waiting.iter().find_map(Weak::upgrade) else { continue };
        let Some(home) = home.upgrade() else {
            job.end(&Err(JitError::Abandoned));
            continue;
        };
        // A defect must not leave anybody waiting.
        let made = catch_unwind(AssertUnwindSafe(|| make(&*home, &tier, &job.layout)));
        job.end(&made.unwrap_or_else(|_| Err(JitError::Codegen("a panic while making code".to_string()))));
    }
}

fn make(home: &dyn Maker, tier: &Tier, layout: &Layout) -> Outcome {
    let native = home.native(&tier.prepared, layout, tier.lanes)?;
    // Nobody shall wait for the exact form when a guard fails.
    native.complete();
    Ok(native)
}
