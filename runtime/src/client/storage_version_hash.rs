//! The hash by which an API server shows in which version it stores the objects of a kind.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::digest::{SHA256, digest};

use super::{Connection, DiscoveryError, discovery::api_resources};
use crate::ApiResource;

/// Bytes of the digest that the hash has.
const BYTES: usize = 8;

/// Returns the hash of a version, as kube-apiserver computes it.
pub(crate) fn of(group: &str, version: &str, kind: &str) -> String {
    let text = format!("{group}/{version}/{kind}");
    STANDARD.encode(&digest(&SHA256, text.as_bytes()).as_ref()[..BYTES])
}

/// Returns the hash that the API server has for a kind now; none if it does not serve the kind's version, or has no hash of it.
pub(crate) async fn discover(
    connection: &Connection,
    kind: &ApiResource,
) -> Result<Option<String>, DiscoveryError> {
    let resources = api_resources(connection, &kind.group, &kind.version).await?;
    let mut resources = resources.into_iter().flatten();
    let found = resources.find(|resource| resource.name == kind.plural);
    Ok(found.and_then(|resource| resource.storage_version_hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_that_of_kube_apiserver() {
        assert_eq!(of("", "v1", "Pod"), "xPOwRZ+Yhw8=");
        assert_eq!(of("apps", "v1", "Deployment"), "8aSe+NMegvE=");
    }
}
