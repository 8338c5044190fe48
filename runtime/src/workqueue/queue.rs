//! The queue: the rules of `state` behind a lock, and what they mean for who waits.

use std::{hash::BuildHasher, pin::pin, sync::Arc, time::Duration};

use hashbrown::DefaultHashBuilder;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use super::{
    Key, Priority, QueueMetrics, QueueStats, RateLimiter,
    clock::Clock,
    inbox::{Addition, Inbox},
    keys::{KeyHash, half},
    limits::QueueLimits,
    state::{Added, Done, State},
    waiters::{ToWake, Waiters},
    waiting::Wait,
};
use crate::NamespacedName;

/// A work queue with client-go's rules, and priorities. All methods may be called from any thread.
///
/// - A key waits at most once, however often it was added. Of those of one priority, the one that waits longest comes first.
/// - A key that a worker has got and not yet [`done`](Self::done) is handed to no other worker. Added meanwhile, it waits again
///   as soon as the worker is done.
/// - [`add_after`](Self::add_after) keeps one time a key, the earliest. It is independent of [`add`](Self::add): a key may wait
///   now and be due later too.
/// - After [`shut_down`](Self::shut_down) nothing can be added, what is delayed or parked is given up, and what waits is still handed
///   out; then [`get`](Self::get) answers `None`.
///
/// # Priorities
///
/// A key of a higher [`Priority`] is handed out before those of lower ones. These do not starve: after seven keys that were preferred to
/// others, the eighth is one of these, of the priority that was passed over longest. With two priorities the lower one so has an eighth
/// of the queue at least, with more of them all but the highest share it.
///
/// A key that waits and is added with a higher priority is raised, to the end of that line; a lower one changes nothing. Times count
/// before priorities: a delayed key waits until it is due. What is added without a priority while a worker holds the key, a retry that
/// is, keeps the priority with which the key was handed out.
///
/// # Parking
///
/// A worker that got a key too early may [`park`](Self::park) it instead of being done: it is taken by nobody, and held by nobody,
/// until it is [`unpark`](Self::unpark)ed or its deadline passes. Then it waits for a worker, whether it was added meanwhile or not.
/// What is added meanwhile is remembered and changes nothing but the priority, if that is higher; a delay that passes is such an add.
///
/// Nothing runs in the background: keys become due when a worker waits or anybody touches the queue. Keys are dropped when nothing is
/// known of them any more; the limiter alone remembers their failures until [`forget`](Self::forget).
pub struct WorkQueue<K = NamespacedName> {
    inbox: Inbox<K>,
    shared: Mutex<Shared<K>>,
    /// No worker holds a key, or nobody should wait for that.
    drained: Notify,
    pub(super) clock: Clock,
    hasher: DefaultHashBuilder,
    limiter: Box<dyn RateLimiter<K>>,
    metrics: Arc<dyn QueueMetrics>,
    is_timed: bool,
}

pub(super) struct Shared<K> {
    pub(super) state: State<K>,
    pub(super) waiters: Waiters,
    /// Whether the inbox is closed.
    is_closed: bool,
    /// What comes out of the inbox; empty between.
    additions: Vec<Addition<K>>,
}

/// What is left to do when nobody waits for the lock.
#[derive(Default)]
pub(super) struct Afterwards {
    pub(super) called: ToWake,
    /// So many keys became dirty.
    added: usize,
}

impl<K: Key> Shared<K> {
    /// The inbox is closed while workers wait: what comes then is for them.
    fn settle(&mut self, inbox: &Inbox<K>, afterwards: &mut Afterwards) {
        let is_closed = !self.waiters.is_empty() || self.state.is_shut_down();
        if is_closed != self.is_closed {
            self.is_closed = is_closed;
            inbox.set_closed(is_closed, &mut self.additions);
            self.take_up(afterwards);
        }
    }

    /// Adds what came out of the inbox.
    fn take_up(&mut self, afterwards: &mut Afterwards) {
        let mut additions = std::mem::take(&mut self.additions);
        self.state.fetch(additions.iter().map(|addition| addition.hash));
        for addition in additions.drain(..) {
            self.add(addition, afterwards);
        }
        self.additions = additions;
    }

    fn add(&mut self, addition: Addition<K>, afterwards: &mut Afterwards) {
        let Addition {
            hash,
            key,
            priority,
            at,
        } = addition;
        let added = self.state.add(hash, key, Some(priority), at);
        self.note(added, afterwards);
    }

    #[inline]
    fn note(&mut self, added: Added, afterwards: &mut Afterwards) {
        afterwards.added += usize::from(added.is_new());
        if added.is_ready() {
            self.waiters.call(1, &mut afterwards.called);
        }
    }
}

impl<K: Key> WorkQueue<K> {
    /// An empty queue.
    pub fn new(limiter: Box<dyn RateLimiter<K>>, metrics: Arc<dyn QueueMetrics>) -> Self {
        Self::with_limits(limiter, metrics, QueueLimits::DEFAULT)
    }

    pub(super) fn with_limits(
        limiter: Box<dyn RateLimiter<K>>,
        metrics: Arc<dyn QueueMetrics>,
        limits: QueueLimits,
    ) -> Self {
        let is_timed = metrics.is_timed();
        Self {
            inbox: Inbox::new(limits.inbox_additions),
            shared: Mutex::new(Shared {
                state: State::new(is_timed, limits),
                waiters: Waiters::default(),
                is_closed: false,
                additions: Vec::new(),
            }),
            drained: Notify::new(),
            clock: Clock::start(),
            hasher: DefaultHashBuilder::default(),
            limiter,
            metrics,
            is_timed,
        }
    }

    /// Adds a key with [`Priority::NORMAL`], unless it waits already.
    pub fn add(&self, key: K) {
        self.add_with_priority(key, Priority::NORMAL);
    }

    /// Adds a key, or raises its priority if it waits already with a lower one.
    pub fn add_with_priority(&self, key: K, priority: Priority) {
        let addition = Addition {
            hash: self.hash(&key),
            key,
            priority,
            at: self.now(),
        };
        if let Some(addition) = self.inbox.put(addition) {
            self.touch(|shared, _, afterwards| shared.add(addition, afterwards));
        }
    }

    /// Adds a key after a time; at once if that is zero. If it is due earlier already, that time stays.
    pub fn add_after(&self, key: K, delay: Duration) {
        let (hash, now) = (self.hash(&key), self.clock.now());
        let is_taken = self.touch(|shared, _, afterwards| {
            if shared.state.is_shut_down() {
                return false;
            }
            // What is due already must not take the new time up.
            let promoted = shared.state.promote(now);
            afterwards.added += promoted.added;
            shared.waiters.call(promoted.ready, &mut afterwards.called);
            if delay.is_zero() {
                let added = shared.state.add(hash, key, None, now);
                shared.note(added, afterwards);
            } else if shared.state.delay(hash, key, None, Clock::after(now, delay)) {
                shared.waiters.call_timekeeper(&mut afterwards.called);
            }
            true
        });
        if is_taken {
            self.metrics.retried();
        }
    }

    /// Adds a key after the time that the rate limiter says, and answers that time. It counts as one more failure of the key.
    pub fn add_rate_limited(&self, key: K) -> Duration {
        let delay = self.limiter.when(&key);
        self.add_after(key, delay);
        delay
    }

    /// Forgets the failures of a key. Call it when the key succeeded, or is given up.
    pub fn forget(&self, key: &K) {
        self.limiter.forget(key);
    }

    /// How many failures of the key the limiter remembers.
    pub fn num_requeues(&self, key: &K) -> usize {
        self.limiter.num_requeues(key)
    }

    /// Waits for a key; `None` once the queue is shut down and empty. Call [`done`](Self::done) or [`park`](Self::park) afterwards.
    ///
    /// Cancel safe: a call that is dropped has taken nothing.
    pub async fn get(&self) -> Option<K> {
        let mut timer = pin!(None);
        let mut wait = Wait::new(self);
        std::future::poll_fn(|cx| wait.poll(timer.as_mut(), cx)).await
    }

    /// Gives a key back that [`get`](Self::get) handed out. If it was added meanwhile, it waits again.
    pub fn done(&self, key: &K) {
        let (done, is_drained) = self.touch(|shared, now, afterwards| {
            let done = shared.state.done(|| self.hash(key), key, now);
            if done.is_some_and(|done| done.again) {
                shared.waiters.call(1, &mut afterwards.called);
            }
            (done, shared.state.is_drained())
        });
        let Some(Done { worked, .. }) = done else { return };
        if self.is_timed {
            self.metrics.worked(worked);
        }
        if is_drained {
            self.drained.notify_waiters();
        }
    }

    /// Gives a key back that [`get`](Self::get) handed out, instead of [`done`](Self::done), and puts it aside until
    /// [`unpark`](Self::unpark) or the deadline; see [above](Self#parking). Answers whether it is parked.
    ///
    /// What the worker waits for may have happened just before: look again afterwards, and unpark if so.
    ///
    /// In a queue that is shut down this is `done`. A key that no worker holds is left alone. Metrics count the time neither as work
    /// nor as waiting, and the end of it as an addition.
    pub fn park(&self, key: &K, deadline: Instant) -> bool {
        let (hash, at) = (self.hash(key), self.clock.at(deadline));
        let parked = self.touch(|shared, _, afterwards| {
            let is_first = shared.state.park(hash, key, at)?;
            if is_first {
                shared.waiters.call_timekeeper(&mut afterwards.called);
            }
            Some(())
        });
        if parked.is_none() {
            self.done(key);
        }
        parked.is_some()
    }

    /// Makes a parked key wait for a worker again. Answers whether it was parked: if not, nothing happens.
    pub fn unpark(&self, key: &K) -> bool {
        let hash = self.hash(key);
        self.touch(|shared, now, afterwards| {
            let added = shared.state.unpark(hash, key, now);
            added.map(|added| shared.note(added, afterwards)).is_some()
        })
    }

    /// The keys that workers hold, in no particular order.
    pub fn processing(&self) -> Vec<K> {
        self.look(|shared, _, _| shared.state.processing().cloned().collect())
    }

    /// How many keys wait for a worker.
    pub fn len(&self) -> usize {
        self.look(|shared, _, _| shared.state.len())
    }

    /// Whether no key waits for a worker.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the queue holds. Linear in the number of workers.
    pub fn stats(&self) -> QueueStats {
        self.look(|shared, now, _| shared.state.stats(now))
    }

    /// Takes nothing more. What waits is still handed out, what is delayed or parked is given up.
    /// Ends the wait of [`shut_down_with_drain`](Self::shut_down_with_drain).
    pub fn shut_down(&self) {
        self.close(false);
    }

    /// Shuts down, and waits until workers have given back all that they hold. What waits is not waited for, as in client-go:
    /// a key that was added while it was processed waits again when it is given back, and workers should [`get`](Self::get) it.
    pub async fn shut_down_with_drain(&self) {
        self.close(true);
        loop {
            let mut drained = pin!(self.drained.notified());
            drained.as_mut().enable();
            {
                let shared = self.shared.lock();
                if shared.state.is_idle() || !shared.state.draining {
                    return;
                }
            }
            drained.await;
        }
    }

    /// Whether one of the two was called.
    pub fn is_shutting_down(&self) -> bool {
        self.shared.lock().state.is_shut_down()
    }

    pub(super) fn waited(&self, duration: Duration) {
        if self.is_timed {
            self.metrics.waited(duration);
        }
    }

    /// Looks at the state as it is now: what is due is done first.
    pub(super) fn look<T>(&self, look: impl FnOnce(&mut Shared<K>, u64, &mut Afterwards) -> T) -> T {
        self.touch(|shared, now, afterwards| {
            if shared.state.next_due().is_none() {
                return look(shared, now, afterwards);
            }
            let now = if self.is_timed { now } else { self.clock.now() };
            let promoted = shared.state.promote(now);
            afterwards.added += promoted.added;
            let seen = look(shared, now, afterwards);
            // One of them may have been taken just now.
            let ready = promoted.ready.min(shared.state.len());
            shared.waiters.call(ready, &mut afterwards.called);
            seen
        })
    }

    /// Works on the state, with what was added taken up, whatever is due: who takes keys looks after that. Who is called is woken
    /// afterwards. In a queue that is not timed the time is zero.
    fn touch<T>(&self, work: impl FnOnce(&mut Shared<K>, u64, &mut Afterwards) -> T) -> T {
        let (now, mut afterwards) = (self.now(), Afterwards::default());
        let done = {
            let shared = &mut *self.shared.lock();
            if self.inbox.take(&mut shared.additions) {
                shared.take_up(&mut afterwards);
            }
            let done = work(shared, now, &mut afterwards);
            shared.settle(&self.inbox, &mut afterwards);
            done
        };
        afterwards.called.wake();
        for _ in 0..afterwards.added {
            self.metrics.added();
        }
        done
    }

    fn now(&self) -> u64 {
        if self.is_timed { self.clock.now() } else { 0 }
    }

    fn hash(&self, key: &K) -> KeyHash {
        half(self.hasher.hash_one(key))
    }

    fn close(&self, drain: bool) {
        let given_up = self.look(|shared, _, afterwards| {
            shared.state.draining = drain;
            shared.waiters.call_all(&mut afterwards.called);
            shared.state.shut_down()
        });
        drop(given_up);
        self.drained.notify_waiters();
    }
}
