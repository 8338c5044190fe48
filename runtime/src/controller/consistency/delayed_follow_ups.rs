//! Delayed follow-ups: the extra calls that are slowed down, at most one a key, their warning and their timer.

use std::collections::BTreeSet;

use tokio::time::{Instant, sleep_until};

use super::{
    ConsistencyState, ConsistencyStore,
    follow_up::{ChangedObject, FOLLOW_UP_WARNING_INTERVAL, FollowUp},
};
use crate::{NamespacedName, workqueue::Priority};

/// Keys by the time of their delayed extra call.
#[derive(Debug, Default)]
pub(super) struct DelayedFollowUps(BTreeSet<(Instant, NamespacedName)>);

impl DelayedFollowUps {
    /// Adds a key. Returns whether it is due before all others.
    pub(super) fn insert(&mut self, due: Instant, key: NamespacedName) -> bool {
        let is_earliest = self.next().is_none_or(|next| due < next);
        self.0.insert((due, key));
        is_earliest
    }

    pub(super) fn remove(&mut self, due: Instant, key: &NamespacedName) {
        self.0.remove(&(due, key.clone()));
    }

    /// When the next key is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.first().map(|(due, _)| *due)
    }

    /// Takes out the keys that are due by now, in their order.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<NamespacedName> {
        let mut keys = Vec::new();
        while self.next().is_some_and(|due| due <= now) {
            keys.extend(self.0.pop_first().map(|(_, key)| key));
        }
        keys
    }
}

/// An extra call to be counted and logged.
pub(super) struct ScheduledFollowUp {
    follow_up: FollowUp,
    /// The changed object and the extra calls in a row, if a warning is due.
    warning: Option<(ChangedObject, u32)>,
}

impl ConsistencyStore {
    /// Sets the timer of a delayed extra call. [`report_follow_up`](Self::report_follow_up) counts and logs it without the lock.
    pub(super) fn schedule(
        &self,
        state: &mut ConsistencyState,
        key: &NamespacedName,
        follow_up: FollowUp,
    ) -> ScheduledFollowUp {
        let mut scheduled = ScheduledFollowUp {
            follow_up,
            warning: None,
        };
        let (FollowUp::Delayed(delay), Some(record)) = (follow_up, state.keys.get_mut(key)) else {
            return scheduled;
        };
        let now = Instant::now();
        let is_warned = state
            .warned_of_follow_ups
            .is_some_and(|warned| now.saturating_duration_since(warned) < FOLLOW_UP_WARNING_INTERVAL);
        if !is_warned {
            state.warned_of_follow_ups = Some(now);
            let in_a_row = record.follow_up.in_a_row();
            let changed = record.follow_up.changed().cloned();
            scheduled.warning = changed.map(|object| (object, in_a_row));
        }
        let due = now + delay;
        if let Some(replaced) = record.follow_up.due.replace(due) {
            state.delayed.remove(replaced, key);
        }
        if state.delayed.insert(due, key.clone()) {
            self.earlier_follow_up.notify_one();
        }
        scheduled
    }

    /// Counts an extra call, and logs a delayed one. Returns whether it is to be made at once.
    pub(super) fn report_follow_up(&self, key: &NamespacedName, scheduled: &ScheduledFollowUp) -> bool {
        let delay = match scheduled.follow_up {
            FollowUp::None => return false,
            FollowUp::Immediate => {
                self.metrics.follow_up_scheduled();
                return true;
            }
            FollowUp::Delayed(delay) => delay,
        };
        self.metrics.follow_up_scheduled();
        self.metrics.follow_up_delayed();
        if let Some((object, in_a_row)) = &scheduled.warning {
            let (controller, verb) = (&*self.controller, object.verb());
            tracing::warn!(
                controller, %key, %object, verb, in_a_row, ?delay,
                "every reconcile of the key changes the object: its next extra call is delayed; write only what differs, \
                 or set `.own_events(OwnEvents::Ignore)`"
            );
        }
        false
    }

    /// Enqueues delayed extra calls when they are due, until it is dropped.
    pub(in crate::controller) async fn run_delayed_follow_ups(&self) {
        loop {
            let earlier = self.earlier_follow_up.notified();
            let next = {
                let mut state = self.state.lock();
                let ConsistencyState { keys, delayed, .. } = &mut *state;
                for key in delayed.take_due(Instant::now()) {
                    if let Some(record) = keys.get_mut(&key) {
                        record.follow_up.due = None;
                    }
                    self.queue.add_with_priority(key, Priority::LOW);
                }
                delayed.next()
            };
            match next {
                Some(next) => tokio::select! {
                    () = earlier => {}
                    () = sleep_until(next) => {}
                },
                None => earlier.await,
            }
        }
    }
}
