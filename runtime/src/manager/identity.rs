//! The replica's identity in the leader election, and the namespace of the lease.

use std::{env, fs};

/// The file that holds the pod's namespace.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// Returns the namespace of the leader lease: the first of the flag, `POD_NAMESPACE`, the service account and the kubeconfig context.
pub(crate) fn operator_namespace(flag: Option<&str>, context: &str) -> String {
    first_non_empty([
        flag.map(str::to_owned),
        env::var("POD_NAMESPACE").ok(),
        fs::read_to_string(NAMESPACE_FILE).ok(),
    ])
    .unwrap_or_else(|| context.to_owned())
}

/// Returns a unique identity: the host name, for readability, and a random part, as client-go's.
pub(super) fn identity() -> String {
    let host = first_non_empty([
        env::var("HOSTNAME").ok(),
        fs::read_to_string("/proc/sys/kernel/hostname").ok(),
        fs::read_to_string("/etc/hostname").ok(),
    ])
    .unwrap_or_else(|| "operator".to_owned());
    // As long and as random as a UUID, without its format.
    format!("{host}_{:032x}", rand::random::<u128>())
}

fn first_non_empty(texts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
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
    fn first_non_empty_text_is_used() {
        assert_eq!(
            first_non_empty([None, Some(" \n".into()), Some("shop\n".into()), Some("x".into())]),
            Some("shop".into())
        );
        assert_eq!(operator_namespace(Some("flag"), "context"), "flag");
    }

    #[test]
    fn identities_differ() {
        let (one, other) = (identity(), identity());
        assert_ne!(one, other);
        assert_eq!(one.rsplit_once('_').unwrap().1.len(), 32);
    }
}
