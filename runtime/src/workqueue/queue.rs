//! The queue: the rules of `state`, and the waiting.

use std::{future::pending, pin::pin, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::{
    Key, QueueMetrics, QueueStats, RateLimiter,
    state::{Added, Promoted, State},
};
use crate::ObjectName;

/// A work queue with client-go's rules. All methods may be called from any thread.
///
/// - A key waits at most once, however often it was added: first come, first served.
/// - A key that a worker has got and not yet [`done`](Self::done) is handed to no other worker. Added meanwhile, it waits again
///   as soon as the worker is done.
/// - [`add_after`](Self::add_after) keeps one time a key, the earliest. It is independent of [`add`](Self::add): a key may wait
///   now and be due later too.
/// - After [`shut_down`](Self::shut_down) nothing can be added, what is delayed is given up, and what waits is still handed
///   out; then [`get`](Self::get) answers `None`.
///
/// Nothing runs in the background: delayed keys become due when a worker waits or anybody touches the queue. Keys are dropped
/// when nothing is known of them any more; the limiter alone remembers their failures until [`forget`](Self::forget).
pub struct WorkQueue<K = ObjectName> {
    state: Mutex<State<K>>,
    /// A key can be taken, or there is a time to wait for and nobody does, or the queue is shut down.
    ready: Notify,
    /// The timekeeper sleeps too long.
    earlier: Notify,
    /// No worker holds a key, or nobody should wait for that.
    drained: Notify,
    limiter: Box<dyn RateLimiter<K>>,
    metrics: Arc<dyn QueueMetrics>,
}

impl<K: Key> WorkQueue<K> {
    /// An empty queue.
    pub fn new(limiter: Box<dyn RateLimiter<K>>, metrics: Arc<dyn QueueMetrics>) -> Self {
        Self {
            state: Mutex::new(State::new()),
            ready: Notify::new(),
            earlier: Notify::new(),
            drained: Notify::new(),
            limiter,
            metrics,
        }
    }

    /// Adds a key, unless it waits already.
    pub fn add(&self, key: K) {
        let added = self.look(|state, now| state.add(key, now));
        if added != Added::No {
            self.metrics.added();
        }
        if added == Added::Ready {
            self.ready.notify_one();
        }
    }

    /// Adds a key after a time; at once if that is zero. If it is due earlier already, nothing changes.
    pub fn add_after(&self, key: K, delay: Duration) {
        /// What is further away than the clock reaches: tokio's own far future.
        const FAR: Duration = Duration::from_hours(30 * 365 * 24);
        if self.is_shutting_down() {
            return;
        }
        self.metrics.retried();
        if delay.is_zero() {
            return self.add(key);
        }
        let (is_first, has_timekeeper) =
            self.look(|state, now| (state.delay(key, now + delay.min(FAR)), state.has_timekeeper));
        match (is_first, has_timekeeper) {
            (true, true) => self.earlier.notify_one(),
            (true, false) => self.ready.notify_one(),
            (false, _) => {}
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

    /// Waits for a key, longest waiting first; `None` once the queue is shut down and empty. Call [`done`](Self::done) afterwards.
    ///
    /// Cancel safe: a call that is dropped has taken nothing.
    pub async fn get(&self) -> Option<K> {
        let mut timekeeper = None;
        loop {
            if let Taken::Key(key) = self.take() {
                return Some(key);
            }
            // Registered before looking again, so that nothing added in between is missed.
            let mut ready = pin!(self.ready.notified());
            ready.as_mut().enable();
            match self.take() {
                Taken::Key(key) => return Some(key),
                Taken::ShutDown => return None,
                Taken::Nothing => {}
            }
            if timekeeper.is_none() {
                timekeeper = Timekeeper::of(self);
            }
            match &timekeeper {
                None => ready.await,
                Some(timekeeper) => tokio::select! {
                    () = ready => {}
                    () = timekeeper.next_due() => {}
                    () = self.earlier.notified() => {}
                },
            }
        }
    }

    /// Gives a key back that [`get`](Self::get) handed out. If it was added meanwhile, it waits again.
    pub fn done(&self, key: &K) {
        let (done, is_idle) = self.look(|state, now| (state.done(key, now), state.is_idle()));
        let Some(done) = done else { return };
        self.metrics.worked(done.worked);
        if done.again {
            self.ready.notify_one();
        }
        if is_idle {
            self.drained.notify_waiters();
        }
    }

    /// The keys that workers hold, in no particular order. Linear in the number of keys.
    pub fn processing(&self) -> Vec<K> {
        self.look(|state, _| state.processing().cloned().collect())
    }

    /// How many keys wait for a worker.
    pub fn len(&self) -> usize {
        self.look(|state, _| state.len())
    }

    /// Whether no key waits for a worker.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the queue holds. Linear in the number of keys.
    pub fn stats(&self) -> QueueStats {
        self.look(|state, now| state.stats(now))
    }

    /// Takes nothing more. What waits is still handed out, what is delayed is given up.
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
                let state = self.state.lock();
                if state.is_idle() || !state.draining {
                    return;
                }
            }
            drained.await;
        }
    }

    /// Whether one of the two was called.
    pub fn is_shutting_down(&self) -> bool {
        self.state.lock().is_shut_down()
    }

    fn close(&self, drain: bool) {
        self.look(|state, _| {
            state.shut_down();
            state.draining = drain;
        });
        self.ready.notify_waiters();
        self.drained.notify_waiters();
    }

    fn take(&self) -> Taken<K> {
        let (taken, is_shut_down) = self.look(|state, now| (state.take(now), state.is_shut_down()));
        match taken {
            Some((key, waited)) => {
                self.metrics.waited(waited);
                Taken::Key(key)
            }
            None if is_shut_down => Taken::ShutDown,
            None => Taken::Nothing,
        }
    }

    /// Looks at the state as it is now: the keys whose time has come are added first.
    fn look<T>(&self, look: impl FnOnce(&mut State<K>, Instant) -> T) -> T {
        let now = Instant::now();
        let (Promoted { added, ready }, seen) = {
            let mut state = self.state.lock();
            (state.promote(now), look(&mut state, now))
        };
        for _ in 0..added {
            self.metrics.added();
        }
        for _ in 0..ready {
            self.ready.notify_one();
        }
        seen
    }
}

enum Taken<K> {
    Key(K),
    ShutDown,
    Nothing,
}

/// The one waiting worker that sleeps until the first delayed key is due; the others only wait to be called. When it leaves, with a
/// key or cancelled, it calls another.
struct Timekeeper<'a, K: Key>(&'a WorkQueue<K>);

impl<'a, K: Key> Timekeeper<'a, K> {
    /// Nothing when there is one, or no time to wait for.
    fn of(queue: &'a WorkQueue<K>) -> Option<Self> {
        let mut state = queue.state.lock();
        if state.has_timekeeper || state.next_due().is_none() {
            return None;
        }
        state.has_timekeeper = true;
        Some(Self(queue))
    }

    async fn next_due(&self) {
        let due = self.0.state.lock().next_due();
        match due {
            Some(due) => sleep_until(due).await,
            None => pending().await,
        }
    }
}

impl<K: Key> Drop for Timekeeper<'_, K> {
    fn drop(&mut self) {
        let another = {
            let mut state = self.0.state.lock();
            state.has_timekeeper = false;
            state.next_due().is_some()
        };
        if another {
            self.0.ready.notify_one();
        }
    }
}
