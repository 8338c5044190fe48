//! How soon failed pods are replaced: a pod that the node rejects would otherwise be created and fail in a loop.

use std::{collections::HashMap, time::Duration};

use k8s_openapi::jiff::Timestamp;
use parking_lot::Mutex;

const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_mins(15);
/// A node without failed pods for this long begins with the first delay again.
const RESET_AFTER: Duration = Duration::from_mins(30);

/// The backoff of failed pods, by DaemonSet and node.
#[derive(Default)]
pub(super) struct FailedPodBackoff(Mutex<HashMap<Box<str>, Backoffs>>);

/// The backoffs of a DaemonSet's nodes. A new generation begins without.
#[derive(Default)]
struct Backoffs {
    generation: i64,
    by_node: HashMap<Box<str>, Backoff>,
}

#[derive(Clone, Copy)]
struct Backoff {
    since: Timestamp,
    delay: Duration,
}

impl Backoff {
    /// Returns the time since the last failed pod; zero if the clock was set back.
    fn elapsed(&self, now: Timestamp) -> Duration {
        Duration::try_from(now.duration_since(self.since)).unwrap_or_default()
    }

    fn is_over(&self, now: Timestamp) -> bool {
        self.elapsed(now) > RESET_AFTER
    }
}

impl FailedPodBackoff {
    /// Returns how long a failed pod on the node has to stay; none: it may be deleted now.
    pub(super) fn remaining(
        &self,
        uid: &str,
        generation: i64,
        node: &str,
        now: Timestamp,
    ) -> Option<Duration> {
        let all = self.0.lock();
        let backoffs = all
            .get(uid)
            .filter(|backoffs| backoffs.generation == generation)?;
        let backoff = backoffs.by_node.get(node)?;
        backoff
            .delay
            .checked_sub(backoff.elapsed(now))
            .filter(|remaining| !remaining.is_zero())
    }

    /// Records that failed pods on these nodes are deleted: the next ones have to stay twice as long.
    pub(super) fn record<'n>(
        &self,
        uid: &str,
        generation: i64,
        nodes: impl Iterator<Item = &'n str>,
        now: Timestamp,
    ) {
        let mut nodes = nodes.peekable();
        if nodes.peek().is_none() {
            return;
        }
        let mut all = self.0.lock();
        let backoffs = all.entry(uid.into()).or_default();
        if backoffs.generation != generation {
            *backoffs = Backoffs {
                generation,
                by_node: HashMap::new(),
            };
        }
        backoffs.by_node.retain(|_, backoff| !backoff.is_over(now));
        for node in nodes {
            let known = backoffs.by_node.get(node);
            let delay = known.map_or(FIRST_DELAY, |known| (known.delay * 2).min(MAX_DELAY));
            backoffs
                .by_node
                .insert(node.into(), Backoff { since: now, delay });
        }
    }

    /// Drops the backoffs of a DaemonSet that was deleted.
    pub(super) fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::SignedDuration;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap() + SignedDuration::from_secs(second)
    }

    #[test]
    fn delay_doubles_up_to_the_limit_and_is_reset() {
        let backoff = FailedPodBackoff::default();
        let remaining = |second| backoff.remaining("1", 1, "a", at(second));
        let mut second = 0;
        for delay in [1_i64, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900] {
            assert_eq!(remaining(second), None);
            backoff.record("1", 1, ["a"].into_iter(), at(second));
            assert_eq!(remaining(second), Some(Duration::from_secs(delay.unsigned_abs())));
            assert_eq!(remaining(second + delay - 1), Some(Duration::from_secs(1)));
            second += delay;
        }
        second += 1801;
        backoff.record("1", 1, ["a"].into_iter(), at(second));
        assert_eq!(remaining(second), Some(FIRST_DELAY));
    }

    #[test]
    fn other_nodes_generations_and_daemon_sets_have_their_own() {
        let backoff = FailedPodBackoff::default();
        backoff.record("1", 1, ["a"].into_iter(), at(0));
        for (uid, generation, node) in [("1", 1, "b"), ("1", 2, "a"), ("2", 1, "a")] {
            assert_eq!(backoff.remaining(uid, generation, node, at(0)), None);
        }
        backoff.record("1", 2, ["b"].into_iter(), at(0));
        assert_eq!(backoff.remaining("1", 1, "a", at(0)), None);
        backoff.forget("1");
        assert_eq!(backoff.remaining("1", 2, "b", at(0)), None);
    }

    #[test]
    fn clock_that_is_set_back_does_not_lengthen_the_delay() {
        let backoff = FailedPodBackoff::default();
        backoff.record("1", 1, ["a"].into_iter(), at(0));
        assert_eq!(backoff.remaining("1", 1, "a", at(-100_000)), Some(FIRST_DELAY));
        assert_eq!(backoff.remaining("1", 1, "a", Timestamp::MAX), None);
        assert_eq!(backoff.remaining("1", 1, "a", Timestamp::MIN), Some(FIRST_DELAY));
    }
}
