//! Where the operator runs: in which namespace, under which name.

use std::{env, fs};

/// Where a pod finds the namespace that it runs in.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The namespace of the leader lease: the flag's, the pod's by `POD_NAMESPACE`, the service account's, the kubeconfig context's.
pub(super) fn leader_namespace(flag: Option<&str>, context: &str) -> String {
    first_given([
        flag.map(str::to_owned),
        env::var("POD_NAMESPACE").ok(),
        fs::read_to_string(NAMESPACE_FILE).ok(),
    ])
    .unwrap_or_else(|| context.to_owned())
}

/// A name that no other replica has: the host's, for people, and a random part.
pub(super) fn identity() -> String {
    let host = first_given([
        env::var("HOSTNAME").ok(),
        fs::read_to_string("/proc/sys/kernel/hostname").ok(),
        fs::read_to_string("/etc/hostname").ok(),
    ])
    .unwrap_or_else(|| "operator".to_owned());
    // As long as a UUID and as random; nobody reads it as one.
    format!("{host}_{:032x}", rand::random::<u128>())
}

fn first_given(texts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    texts
        .into_iter()
        .flatten()
        .map(|text| text.trim().to_owned())
        .find(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_text_that_says_something_counts() {
        assert_eq!(
            first_given([None, Some(" \n".into()), Some("shop\n".into()), Some("x".into())]),
            Some("shop".into())
        );
        assert_eq!(leader_namespace(Some("flag"), "context"), "flag");
    }

    #[test]
    fn identities_differ() {
        let (one, other) = (identity(), identity());
        assert_ne!(one, other);
        assert_eq!(one.rsplit_once('_').unwrap().1.len(), 32);
    }
}
