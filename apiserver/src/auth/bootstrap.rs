//! The default roles and bindings of a cluster.

use serde_json::Value;

const BOOTSTRAP_JSON: &str = include_str!("bootstrap.json");

/// Returns the objects, with kind and apiVersion.
pub(crate) fn bootstrap() -> Vec<Value> {
    // A test ensures that the embedded JSON is valid.
    serde_json::from_str(BOOTSTRAP_JSON).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn bootstrap_contains_default_cluster_roles() {
        let objects = super::bootstrap();
        let find = |name: &str| objects.iter().any(|object| object["metadata"]["name"] == name);
        assert!(find("cluster-admin") && find("system:discovery"));
    }
}
