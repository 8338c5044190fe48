//! Delays that have begun.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio::time::Instant;

/// When each delay began, by the uid of its object, and what else distinguishes it.
#[derive(Debug, Default)]
pub(crate) struct Timers(HashMap<String, HashMap<(&'static str, i64), Instant>>);

impl Timers {
    /// Returns the remaining time of a delay that began with the first call for `timer`; none if it is over.
    pub(crate) fn remaining(
        &mut self,
        uid: &str,
        timer: (&'static str, i64),
        wait: Duration,
        now: Instant,
    ) -> Option<Duration> {
        let of_object = self.0.entry(uid.to_owned()).or_default();
        let started = *of_object.entry(timer).or_insert(now);
        let remaining = (started + wait).saturating_duration_since(now);
        (!remaining.is_zero()).then_some(remaining)
    }

    /// Removes the delays of all other objects.
    pub(crate) fn retain(&mut self, uids: &HashSet<&str>) {
        self.0.retain(|uid, _| uids.contains(&**uid));
    }
}
