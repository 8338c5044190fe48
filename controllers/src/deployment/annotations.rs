//! The annotations of a Deployment's ReplicaSets: revisions, sizes, and what is copied from the Deployment.

use super::{
    desired::DesiredState,
    replica_sets::{Annotations, TrackedReplicaSet},
};

/// The place of a template in the order of rollouts. Also on the Deployment.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
/// The revisions that the ReplicaSet had before, separated by commas: it was rolled back to.
pub(super) const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// The Deployment's replicas when it last changed the ReplicaSet's size: distinguishes a scaled Deployment from a rollout.
pub(super) const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
/// The same, with the surge: the base of proportional scaling.
pub(super) const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
/// The revision to roll back to, zero for the one before. Formerly a field of the Deployment.
pub(super) const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The most bytes of a history of revisions: about a hundred revisions.
const MAX_HISTORY_BYTES: usize = 2000;

/// Annotations that are not copied between a Deployment and its ReplicaSets.
const NOT_COPIED: [&str; 6] = [
    LAST_APPLIED,
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    ROLLBACK_TO,
];

fn is_copied(key: &str) -> bool {
    !NOT_COPIED.contains(&key)
}

/// Returns the annotations that the ReplicaSet with the Deployment's template should have: its own, the Deployment's, and the revision, if it
/// is greater than the one that it has.
pub(super) fn of_new_replica_set(own: &Annotations, deployment: &Annotations, revision: i64) -> Annotations {
    with_revision(own, deployment, revision, MAX_HISTORY_BYTES)
}

fn with_revision(
    own: &Annotations,
    deployment: &Annotations,
    revision: i64,
    max_history_bytes: usize,
) -> Annotations {
    let mut annotations = own.clone();
    let copied = deployment.iter().filter(|(key, _)| is_copied(key));
    annotations.extend(copied.map(|(key, value)| (key.clone(), value.clone())));
    let former = own.get(REVISION).filter(|former| !former.is_empty());
    let former_number = match former.map(|former| former.parse::<i64>()) {
        Some(Ok(number)) => number,
        None => 0,
        // Another program wrote it. It stays; upstream leaves the other annotations as they are, too.
        Some(Err(_)) => return annotations,
    };
    if former_number < revision {
        annotations.insert(REVISION.to_owned(), revision.to_string());
        if let Some(former) = former {
            let history = own.get(REVISION_HISTORY).map_or("", String::as_str);
            if let Some(history) = appended(history, former, max_history_bytes) {
                annotations.insert(REVISION_HISTORY.to_owned(), history);
            }
        }
    }
    annotations
}

/// Appends a revision to a history; drops the oldest revisions if it gets too long. None if the revision alone is too long.
fn appended(history: &str, revision: &str, max_bytes: usize) -> Option<String> {
    if history.is_empty() {
        return Some(revision.to_owned());
    }
    let mut kept = history;
    while kept.len() + 1 + revision.len() > max_bytes {
        match kept.split_once(',') {
            Some((_, rest)) => kept = rest,
            None => return (revision.len() <= max_bytes).then(|| revision.to_owned()),
        }
    }
    Some(format!("{kept},{revision}"))
}

/// Returns the annotations of a Deployment that is rolled back to a ReplicaSet: those of the ReplicaSet, which once were the Deployment's.
pub(super) fn of_rolled_back(deployment: &Annotations, replica_set: &Annotations) -> Annotations {
    let own = deployment.iter().filter(|(key, _)| !is_copied(key));
    let restored = replica_set.iter().filter(|(key, _)| is_copied(key));
    own.chain(restored)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Returns the annotations that record the sizes of a Deployment.
pub(super) fn of_sizes(desired: &DesiredState) -> [(&'static str, String); 2] {
    [
        (DESIRED_REPLICAS, desired.replicas.to_string()),
        (MAX_REPLICAS, desired.max_replicas().to_string()),
    ]
}

/// Returns a recorded size; none if there is none, or another program wrote it.
pub(super) fn recorded_size(replica_set: &TrackedReplicaSet, key: &str) -> Option<i64> {
    parse_size(replica_set.annotation(key)?)
}

fn parse_size(text: &str) -> Option<i64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let size = is_number.then(|| text.parse::<i32>().ok()).flatten()?;
    Some(size.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(pairs: &[(&str, &str)]) -> Annotations {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn annotations_are_copied_except_those_of_rollouts() {
        let deployment = annotations(&[
            ("test", "new"),
            ("other", "value"),
            (LAST_APPLIED, "{}"),
            (REVISION, "1"),
            (REVISION_HISTORY, "1"),
            (DESIRED_REPLICAS, "1"),
            (MAX_REPLICAS, "1"),
            (ROLLBACK_TO, "1"),
        ]);
        let own = annotations(&[("test", "old"), ("own", "stays"), (DESIRED_REPLICAS, "7")]);
        let expected = annotations(&[
            ("test", "new"),
            ("other", "value"),
            ("own", "stays"),
            (DESIRED_REPLICAS, "7"),
            (REVISION, "3"),
        ]);
        assert_eq!(of_new_replica_set(&own, &deployment, 3), expected);
    }

    #[test]
    fn history_of_revisions_is_limited() {
        let mut own = Annotations::new();
        for revision in 11..=20 {
            own = with_revision(&own, &Annotations::new(), revision, 5);
            assert_eq!(own[REVISION], revision.to_string());
            let history = own.get(REVISION_HISTORY).map_or("", String::as_str);
            match revision {
                11 => assert_eq!(history, ""),
                12 => assert_eq!(history, "11"),
                _ => assert_eq!(history, format!("{},{}", revision - 2, revision - 1)),
            }
        }
        assert_eq!(appended("1,2", "345678", 5), None);
        assert_eq!(appended("12345", "3", 5).unwrap(), "3");
    }

    #[test]
    fn revision_only_grows_and_a_foreign_one_stays() {
        for (own, revision, expected) in [
            ("5", 3, "5"),
            ("5", 5, "5"),
            ("", 3, "3"),
            ("three", 4, "three"),
            ("-1", 1, "1"),
        ] {
            let own = annotations(&[(REVISION, own)]);
            let updated = of_new_replica_set(&own, &annotations(&[("a", "b")]), revision);
            assert_eq!((&*updated[REVISION], &*updated["a"]), (expected, "b"));
        }
    }

    #[test]
    fn rollback_restores_annotations() {
        let deployment = annotations(&[
            ("change-cause", "edit"),
            ("added", "later"),
            (REVISION, "2"),
            (LAST_APPLIED, "{}"),
        ]);
        let replica_set = annotations(&[
            ("change-cause", "create"),
            (REVISION, "1"),
            (DESIRED_REPLICAS, "3"),
        ]);
        let expected = annotations(&[("change-cause", "create"), (REVISION, "2"), (LAST_APPLIED, "{}")]);
        assert_eq!(of_rolled_back(&deployment, &replica_set), expected);
    }

    #[test]
    fn recorded_sizes_are_numbers_of_32_bits() {
        for (text, expected) in [
            ("0", Some(0)),
            ("13", Some(13)),
            ("2147483647", Some(2_147_483_647)),
            ("2147483648", None),
            ("4294967296", None),
            ("-1", None),
            ("+1", None),
            ("invalid", None),
            ("", None),
        ] {
            assert_eq!(parse_size(text), expected, "{text}");
        }
    }
}
