//! Policy of [`OwnEvents::ReconcileOnce`](super::OwnEvents): when a reconcile is followed by one extra call.
//!
//! This file decides and does nothing else: [`is_change`] says whether a write changed something, [`FollowUpState`] whether the call of a
//! key is followed by another one, and when. The consistency store feeds it and carries out its decisions.
//!
//! - A reconcile that changed something is followed by one extra call at low priority. The key waits in the work queue, where a call for
//!   another reason replaces the extra call, and the worker runs it once the cache shows the writes.
//! - A reconcile that changed nothing is not followed by a call. So a controller that writes only differences needs one extra call after
//!   its last change; one that changes something in each reconcile would never stop, and is slowed down after
//!   [`MAX_IMMEDIATE_FOLLOW_UPS`].

use std::{fmt, time::Duration};

use tokio::time::Instant;

use crate::{
    NamespacedName,
    client::{CachedObject, WriteKind, WriteRecord},
    controller::Outcome,
};

/// So many extra calls in a row, without a foreign change, are made at once.
const MAX_IMMEDIATE_FOLLOW_UPS: u32 = 20;
/// The delay of the first extra call after those; each further one doubles it.
const FOLLOW_UP_DELAY_MIN: Duration = Duration::from_secs(1);
const FOLLOW_UP_DELAY_MAX: Duration = Duration::from_mins(5);
/// One warning per controller and interval names a key that changes something in each reconcile.
pub(super) const FOLLOW_UP_WARNING_INTERVAL: Duration = Duration::from_hours(1);

/// What a write's answer is compared with.
#[derive(Debug, Clone, Copy)]
pub(super) enum WriteBaseline<'a> {
    /// The object in the caches when the request was sent, one entry for each informer that covers it.
    Cached(&'a [Option<&'a CachedObject>]),
    /// No informer covers the object: whether this controller's last answer for it had the same uid and resource version.
    LastAnswer { is_same: bool },
}

/// Whether a write changed something.
///
/// The cache decides, not the API server's previous object: a reconcile has read the cache, so an answer that the cache did not show can
/// contain a foreign change that the reconcile has not seen.
pub(super) fn is_change(
    effect: WriteKind,
    (uid, version): (&str, &str),
    baseline: WriteBaseline<'_>,
) -> bool {
    match (effect, baseline) {
        // Reviews, tokens and evictions.
        (WriteKind::Written, _) if version.is_empty() => false,
        (WriteKind::Written, WriteBaseline::Cached(cached)) => {
            let is_same = |cached: &CachedObject| *cached.uid == *uid && *cached.version == *version;
            !cached.iter().all(|cached| cached.is_some_and(is_same))
        }
        (WriteKind::Deleted, WriteBaseline::Cached(cached)) => {
            let is_deleting = |cached: &&CachedObject| *cached.uid == *uid && cached.is_deleting;
            !cached.iter().flatten().any(is_deleting)
        }
        (WriteKind::Removed, WriteBaseline::Cached(_)) => true,
        (_, WriteBaseline::LastAnswer { is_same }) => !is_same,
    }
}

/// The object that a reconcile changed, for the warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedObject {
    kind: Box<str>,
    name: NamespacedName,
    verb: &'static str,
    subresource: Option<&'static str>,
}

/// The extra call of one key.
#[derive(Debug, Default)]
pub(super) struct FollowUpState {
    /// The last change of the call that runs, or ran last.
    changed: Option<ChangedObject>,
    /// Extra calls in a row without a foreign change.
    in_a_row: u32,
    /// An extra call was decided, and no call has started since.
    is_pending: bool,
    /// When a delayed extra call is due.
    pub(super) due: Option<Instant>,
}

/// When the extra call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FollowUp {
    /// There is none.
    None,
    /// As soon as the cache shows the writes.
    Immediate,
    /// After this delay, unless a call for another reason replaces it.
    Delayed(Duration),
}

impl ChangedObject {
    pub(super) fn of(write: &WriteRecord) -> Self {
        Self {
            kind: (*write.kind.kind).into(),
            name: write.name.clone(),
            verb: write.verb,
            subresource: write.subresource,
        }
    }

    pub(super) fn verb(&self) -> String {
        match self.subresource {
            Some(subresource) => format!("{} {subresource}", self.verb),
            None => self.verb.to_owned(),
        }
    }
}

impl fmt::Display for ChangedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

impl FollowUpState {
    /// A call of the key starts, and replaces a delayed extra call. Returns the time of that.
    pub(super) fn start(&mut self) -> Option<Instant> {
        self.changed = None;
        self.is_pending = false;
        self.due.take()
    }

    /// The running reconcile changed an object.
    pub(super) fn record_change(&mut self, changed: ChangedObject) {
        self.changed = Some(changed);
    }

    /// A change enqueued the key that is not one of its own writes.
    pub(super) fn record_foreign_change(&mut self) {
        self.in_a_row = 0;
    }

    /// Decides about the extra call after a reconcile. `is_enqueued`: a foreign change already brings the next call.
    pub(super) fn finish(&mut self, outcome: Outcome, is_enqueued: bool) -> FollowUp {
        match outcome {
            // These bring their own call, with backoff.
            Outcome::Requeue | Outcome::Error | Outcome::Panic | Outcome::Timeout => FollowUp::None,
            // A terminal error is not retried, so it does not bring a call of its own.
            Outcome::Success | Outcome::RequeueAfter | Outcome::TerminalError => {
                if self.changed.is_none() {
                    self.in_a_row = 0;
                    return FollowUp::None;
                }
                if is_enqueued {
                    return FollowUp::None;
                }
                self.next()
            }
        }
    }

    /// Decides about the extra call after a write of a task that outlived its reconcile.
    pub(super) fn finish_late_write(&mut self) -> FollowUp {
        if self.is_pending {
            FollowUp::None
        } else {
            self.next()
        }
    }

    /// The last object that was changed.
    pub(super) fn changed(&self) -> Option<&ChangedObject> {
        self.changed.as_ref()
    }

    pub(super) fn in_a_row(&self) -> u32 {
        self.in_a_row
    }

    /// Whether nothing needs to be remembered of the key.
    pub(super) fn is_idle(&self) -> bool {
        self.in_a_row == 0 && self.due.is_none()
    }

    fn next(&mut self) -> FollowUp {
        self.is_pending = true;
        self.in_a_row = self.in_a_row.saturating_add(1);
        match self.in_a_row.checked_sub(MAX_IMMEDIATE_FOLLOW_UPS + 1) {
            None => FollowUp::Immediate,
            Some(doublings) => {
                let factor = 2_u32.saturating_pow(doublings);
                FollowUp::Delayed(
                    FOLLOW_UP_DELAY_MIN
                        .saturating_mul(factor)
                        .min(FOLLOW_UP_DELAY_MAX),
                )
            }
        }
    }
}

#[cfg(test)]
#[path = "follow_up_tests.rs"]
mod tests;
