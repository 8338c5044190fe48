//! Nodes that pods name and that no cache has. They may be new, and the cache behind: only after a while they count as gone.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use tokio::time::Instant;

/// Missing nodes, and since when they have been missing, by the monotonic clock: a wall clock that jumps makes no node go earlier.
#[derive(Debug, Default)]
pub(super) struct Quarantine(HashMap<String, Instant>);

impl Quarantine {
    /// Sets which nodes are missing now. Returns those that have been missing for the period.
    pub(super) fn update(&mut self, missing: HashSet<String>, period: Duration, now: Instant) -> Vec<String> {
        self.0.retain(|node, _| missing.contains(node));
        for node in missing {
            self.0.entry(node).or_insert(now);
        }
        let due = self
            .0
            .iter()
            .filter(|(_, since)| now.duration_since(**since) >= period);
        due.map(|(node, _)| node.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_is_due_when_it_was_missing_all_the_time() {
        let (mut quarantine, start, period) =
            (Quarantine::default(), Instant::now(), Duration::from_secs(40));
        let missing = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<HashSet<_>>()
        };
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(quarantine.update(missing(&["a", "b"]), period, at(0)).is_empty());
        assert!(quarantine.update(missing(&["a"]), period, at(39)).is_empty());
        // An earlier time changes nothing.
        assert!(quarantine.update(missing(&["a"]), period, at(0)).is_empty());
        assert_eq!(quarantine.update(missing(&["a", "b"]), period, at(40)), ["a"]);
        assert!(quarantine.update(missing(&["b"]), period, at(79)).is_empty());
        assert_eq!(quarantine.update(missing(&["b"]), period, at(80)), ["b"]);
    }
}
