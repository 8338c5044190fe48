//! The work queue: the rules of `queue_state` behind a lock, and the wake-ups of waiting workers.

use std::{hash::BuildHasher, pin::pin, sync::Arc, time::Duration};

use hashbrown::DefaultHashBuilder;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use super::{
    Key, NoQueueMetrics, Priority, QueueMetrics, QueueStats, RateLimiter,
    get_future::GetFuture,
    key_table::{KeyHash, short_hash},
    queue_clock::QueueClock,
    queue_state::{AddOutcome, DoneOutcome, QueueState},
    waiters::{ToWake, Waiters},
};
use crate::NamespacedName;

/// A work queue with client-go's rules, and priorities. All methods may be called from any thread.
///
/// - Keys are deduplicated: a key is queued at most once, however often it is added. Keys of one priority are first in, first out.
/// - While a worker processes a key, from [`get`](Self::get) until [`done`](Self::done), no other worker gets it. If the key is added in
///   the meantime, it is requeued when the worker is done.
/// - [`add_after`](Self::add_after) keeps one due time a key, the earliest. It is independent of [`add`](Self::add): a key may be queued
///   now and be due later as well.
/// - After [`shut_down`](Self::shut_down) nothing can be added, delayed and parked keys are dropped, and queued keys are still handed out;
///   then [`get`](Self::get) returns `None`.
///
/// # Priorities
///
/// Keys of a higher [`Priority`] are handed out first. Lower priorities do not starve: after seven keys that were preferred to others, the
/// eighth is of a lower priority, the one that was passed over longest. So of two priorities the lower one has at least an eighth of the
/// queue's throughput; of more, all but the highest share it.
///
/// A queued key that is added with a higher priority moves to the end of that priority's line; a lower priority changes nothing. A delayed
/// key waits until it is due, whatever its priority. A key that is added without a priority while a worker processes it (a requeue) keeps
/// the priority with which it was handed out.
///
/// # Parking
///
/// A worker that got a key too early can [`park`](Self::park) it instead of calling `done`: no worker gets it until it is
/// [`unpark`](Self::unpark)ed or its deadline passes. Then it is queued, whether it was added in the meantime or not. An add in the
/// meantime, also by a delay that passes, only raises the priority.
///
/// There is no background task: keys become due when a worker waits or the queue is used. A key without state uses no memory; only the rate
/// limiter remembers its failures, until [`forget`](Self::forget).
pub struct WorkQueue<K = NamespacedName> {
    shared: Mutex<QueueShared<K>>,
    /// Notified when no worker processes a key, and when waiting for that should end.
    drained: Notify,
    pub(super) clock: QueueClock,
    hasher: DefaultHashBuilder,
    limiter: Box<dyn RateLimiter<K>>,
    metrics: Arc<dyn QueueMetrics>,
    is_timed: bool,
}

pub(super) struct QueueShared<K> {
    pub(super) state: QueueState<K>,
    pub(super) waiters: Waiters,
}

/// What to do after the lock is released.
#[derive(Default)]
pub(super) struct AfterUnlock {
    pub(super) to_wake: ToWake,
    /// How many keys became dirty.
    added: usize,
}

impl<K: Key> QueueShared<K> {
    #[inline]
    fn note_added(&mut self, added: AddOutcome, after: &mut AfterUnlock) {
        after.added += usize::from(added.is_new());
        if added.is_ready() {
            self.waiters.wake(1, &mut after.to_wake);
        }
    }
}

impl<K: Key> WorkQueue<K> {
    /// Creates an empty queue.
    pub fn new(limiter: Box<dyn RateLimiter<K>>) -> Self {
        Self::with_metrics(limiter, Arc::new(NoQueueMetrics))
    }

    /// Creates an empty queue that reports metrics.
    #[doc(hidden)]
    pub fn with_metrics(limiter: Box<dyn RateLimiter<K>>, metrics: Arc<dyn QueueMetrics>) -> Self {
        let is_timed = metrics.is_timed();
        Self {
            shared: Mutex::new(QueueShared {
                state: QueueState::new(is_timed),
                waiters: Waiters::default(),
            }),
            drained: Notify::new(),
            clock: QueueClock::start(),
            hasher: DefaultHashBuilder::default(),
            limiter,
            metrics,
            is_timed,
        }
    }

    /// Adds (enqueues) a key with [`Priority::NORMAL`], unless it is queued already.
    pub fn add(&self, key: K) {
        self.add_with_priority(key, Priority::NORMAL);
    }

    /// Adds a key, or raises its priority if it is queued with a lower one.
    pub fn add_with_priority(&self, key: K, priority: Priority) {
        // Hashed before the lock is taken.
        let hash = self.hash(&key);
        self.with_state(|shared, now, after| {
            let added = shared.state.add(hash, key, Some(priority), now);
            shared.note_added(added, after);
        });
    }

    /// Requeues a key after a delay, or at once if that is zero. An earlier due time of the key is kept.
    pub fn add_after(&self, key: K, delay: Duration) {
        let (hash, now) = (self.hash(&key), self.clock.now());
        let is_taken = self.with_state(|shared, _, after| {
            if shared.state.is_shut_down() {
                return false;
            }
            // Keys that are due already come first.
            let promoted = shared.state.promote(now);
            after.added += promoted.added;
            shared.waiters.wake(promoted.ready, &mut after.to_wake);
            if delay.is_zero() {
                let added = shared.state.add(hash, key, None, now);
                shared.note_added(added, after);
            } else if shared.state.delay(hash, key, None, QueueClock::after(now, delay)) {
                shared.waiters.wake_timer_owner(&mut after.to_wake);
            }
            true
        });
        if is_taken {
            self.metrics.retried();
        }
    }

    /// Requeues a key with backoff, after the delay of the rate limiter, and returns that delay. It counts as a failure of the key.
    pub fn add_rate_limited(&self, key: K) -> Duration {
        let delay = self.limiter.when(&key);
        self.add_after(key, delay);
        delay
    }

    /// Resets the backoff of a key. Call it when the key succeeded or is not retried.
    pub fn forget(&self, key: &K) {
        self.limiter.forget(key);
    }

    /// Returns how many failures of the key the rate limiter remembers.
    pub fn num_requeues(&self, key: &K) -> usize {
        self.limiter.num_requeues(key)
    }

    /// Waits for a key; `None` once the queue is shut down and empty. Call [`done`](Self::done) or [`park`](Self::park) afterwards.
    ///
    /// Cancel safe: a dropped call has taken no key.
    pub async fn get(&self) -> Option<K> {
        let mut timer = pin!(None);
        let mut wait = GetFuture::new(self);
        std::future::poll_fn(|cx| wait.poll(timer.as_mut(), cx)).await
    }

    /// Ends the processing of a key from [`get`](Self::get). If the key was added in the meantime, it is queued again.
    pub fn done(&self, key: &K) {
        let (done, is_drained) = self.with_state(|shared, now, after| {
            let done = shared.state.done(|| self.hash(key), key, now);
            if done.is_some_and(|done| done.is_requeued) {
                shared.waiters.wake(1, &mut after.to_wake);
            }
            (done, shared.state.is_drained())
        });
        let Some(DoneOutcome { worked, .. }) = done else {
            return;
        };
        if self.is_timed {
            self.metrics.worked(worked);
        }
        if is_drained {
            self.drained.notify_waiters();
        }
    }

    /// Ends the processing of a key from [`get`](Self::get), and parks it until [`unpark`](Self::unpark) or the deadline; see
    /// [above](Self#parking). Returns whether it is parked.
    ///
    /// The event that the worker waits for may have happened just before: check again afterwards, and unpark if so.
    ///
    /// In a queue that is shut down this is `done`. For a key that no worker processes, it does nothing. Metrics count the parked time
    /// neither as work nor as waiting, and its end as an addition.
    pub fn park(&self, key: &K, deadline: Instant) -> bool {
        let (hash, at) = (self.hash(key), self.clock.at(deadline));
        let parked = self.with_state(|shared, _, after| {
            let is_first = shared.state.park(hash, key, at)?;
            if is_first {
                shared.waiters.wake_timer_owner(&mut after.to_wake);
            }
            Some(())
        });
        if parked.is_none() {
            self.done(key);
        }
        parked.is_some()
    }

    /// Queues a parked key. Returns whether it was parked; if not, nothing happens.
    pub fn unpark(&self, key: &K) -> bool {
        let hash = self.hash(key);
        self.with_state(|shared, now, after| {
            let added = shared.state.unpark(hash, key, now);
            added.map(|added| shared.note_added(added, after)).is_some()
        })
    }

    /// Returns the keys that workers process, in no particular order.
    pub fn processing(&self) -> Vec<K> {
        self.with_current(|shared, _, _| shared.state.processing().cloned().collect())
    }

    /// Returns the number of queued keys, without delayed and parked ones.
    pub fn len(&self) -> usize {
        self.with_current(|shared, _, _| shared.state.len())
    }

    /// Returns whether no key is queued.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the queue's figures. Linear in the number of workers.
    #[doc(hidden)]
    pub fn stats(&self) -> QueueStats {
        self.with_current(|shared, now, _| shared.state.stats(now))
    }

    /// Shuts down: nothing can be added, delayed and parked keys are dropped, queued keys are still handed out.
    /// Ends the wait of [`shut_down_with_drain`](Self::shut_down_with_drain).
    pub fn shut_down(&self) {
        self.close(false);
    }

    /// Shuts down, and waits until no worker processes a key. As in client-go, it does not wait for queued keys: a key that was added while it
    /// was processed is queued again, and workers should [`get`](Self::get) it.
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

    /// Returns whether the queue is shut down or draining.
    pub fn is_shutting_down(&self) -> bool {
        self.shared.lock().state.is_shut_down()
    }

    pub(super) fn waited(&self, duration: Duration) {
        if self.is_timed {
            self.metrics.waited(duration);
        }
    }

    /// Calls `work` with the current state: keys that are due are queued first.
    pub(super) fn with_current<T>(
        &self,
        work: impl FnOnce(&mut QueueShared<K>, u64, &mut AfterUnlock) -> T,
    ) -> T {
        self.with_state(|shared, now, after| {
            if shared.state.next_due().is_none() {
                return work(shared, now, after);
            }
            let now = if self.is_timed { now } else { self.clock.now() };
            let promoted = shared.state.promote(now);
            after.added += promoted.added;
            let result = work(shared, now, after);
            // `work` may have taken one of them.
            let ready = promoted.ready.min(shared.state.len());
            shared.waiters.wake(ready, &mut after.to_wake);
            result
        })
    }

    /// Calls `work` with the state and the time, without queueing keys that are due. Workers are woken after the lock is released. In a queue
    /// that is not timed, the time is zero.
    fn with_state<T>(&self, work: impl FnOnce(&mut QueueShared<K>, u64, &mut AfterUnlock) -> T) -> T {
        let (now, mut after) = (self.now(), AfterUnlock::default());
        let result = work(&mut self.shared.lock(), now, &mut after);
        after.to_wake.wake();
        for _ in 0..after.added {
            self.metrics.added();
        }
        result
    }

    fn now(&self) -> u64 {
        if self.is_timed { self.clock.now() } else { 0 }
    }

    fn hash(&self, key: &K) -> KeyHash {
        short_hash(self.hasher.hash_one(key))
    }

    fn close(&self, drain: bool) {
        let dropped = self.with_current(|shared, _, after| {
            shared.state.draining = drain;
            shared.waiters.wake_all(&mut after.to_wake);
            shared.state.shut_down()
        });
        drop(dropped);
        self.drained.notify_waiters();
    }
}
