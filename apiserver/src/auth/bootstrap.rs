//! The roles and bindings that every cluster starts with.

use serde_json::Value;

const OBJECTS: &str = include_str!("bootstrap.json");

/// The objects, each with kind and version.
pub(crate) fn bootstrap() -> Vec<Value> {
    // A test rules out that what is compiled in is malformed.
    serde_json::from_str(OBJECTS).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_are_roles() {
        let objects = super::bootstrap();
        let find = |name: &str| objects.iter().any(|object| object["metadata"]["name"] == name);
        assert!(find("cluster-admin") && find("system:discovery"));
    }
}
