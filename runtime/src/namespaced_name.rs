//! [`NamespacedName`]: identifies an object of a kind; the key of stores and work queues.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    str::FromStr,
    sync::Arc,
};

/// The namespace and name of an object. Cluster-scoped objects have no namespace.
///
/// Displays as `namespace/name`, or `name` without a namespace, as client-go's keys do, and parses from that form.
/// Cloning is cheap. Ordered by namespace, then name.
#[derive(Clone, PartialEq, Eq)]
pub struct NamespacedName {
    /// The displayed form: one shared text to hash and compare.
    text: Arc<str>,
    /// Offset of the name in bytes; 0 without a namespace.
    name_at: usize,
}

/// A text that is neither `namespace/name` nor `name`.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("invalid object name {0:?}: write `namespace/name`, or `name` for a cluster-scoped kind")]
pub struct NamespacedNameError(String);

impl NamespacedName {
    /// Returns the name of a namespaced object.
    pub fn namespaced(namespace: impl AsRef<str>, name: impl AsRef<str>) -> Self {
        let namespace = namespace.as_ref();
        Self {
            text: [namespace, "/", name.as_ref()].concat().into(),
            name_at: namespace.len() + 1,
        }
    }

    /// Like [`namespaced`](Self::namespaced), but builds the text in `buffer`, which saves an allocation.
    pub(crate) fn written(namespace: &str, name: &str, buffer: &mut String) -> Self {
        buffer.clear();
        buffer.extend([namespace, "/", name]);
        Self {
            text: buffer.as_str().into(),
            name_at: namespace.len() + 1,
        }
    }

    /// Returns the name of a cluster-scoped object.
    pub fn cluster(name: impl Into<Arc<str>>) -> Self {
        Self {
            text: name.into(),
            name_at: 0,
        }
    }

    /// The name of an object of either scope: a cluster-scoped one has no namespace.
    pub(crate) fn in_scope(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            Some(namespace) => Self::namespaced(namespace, name),
            None => Self::cluster(name),
        }
    }

    /// Returns the name in `metadata`; none if it has no name yet (`generateName`).
    pub fn of(metadata: &kube::core::ObjectMeta) -> Option<Self> {
        let name = metadata.name.as_deref()?;
        Some(Self::in_scope(metadata.namespace.as_deref(), name))
    }

    /// Returns the name of another object in the same namespace.
    pub fn sibling(&self, name: impl AsRef<str>) -> Self {
        Self {
            text: [&self.text[..self.name_at], name.as_ref()].concat().into(),
            name_at: self.name_at,
        }
    }

    /// Returns the namespace; none for cluster-scoped objects.
    pub fn namespace(&self) -> Option<&str> {
        self.name_at.checked_sub(1).map(|slash| &self.text[..slash])
    }

    /// Returns the name within the namespace.
    pub fn name(&self) -> &str {
        &self.text[self.name_at..]
    }
}

impl Hash for NamespacedName {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl Ord for NamespacedName {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.namespace(), self.name()).cmp(&(other.namespace(), other.name()))
    }
}

impl PartialOrd for NamespacedName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for NamespacedName {
    type Err = NamespacedNameError;

    fn from_str(text: &str) -> Result<Self, NamespacedNameError> {
        match text.split_once('/') {
            None if !text.is_empty() => Ok(Self::cluster(text)),
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Self::namespaced(namespace, name))
            }
            _ => Err(NamespacedNameError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_and_parses_as_client_go_keys() {
        for text in ["default/foo", "node-1"] {
            assert_eq!(text.parse::<NamespacedName>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn returns_namespace_name_and_siblings() {
        let (web, node) = (
            NamespacedName::namespaced("default", "web"),
            NamespacedName::cluster("node-1"),
        );
        assert_eq!((web.namespace(), web.name()), (Some("default"), "web"));
        assert_eq!((node.namespace(), node.name()), (None, "node-1"));
        assert_eq!(web.sibling("db"), NamespacedName::namespaced("default", "db"));
        assert_eq!(node.sibling("node-2"), NamespacedName::cluster("node-2"));
    }

    #[test]
    fn is_ordered_by_namespace_and_then_name() {
        // As a string, "a-b/c" sorts before "a/z".
        let mut names = ["a-b/c", "a/z", "a/y", "node"].map(|text| text.parse::<NamespacedName>().unwrap());
        names.sort();
        assert_eq!(
            names.map(|name| name.to_string()),
            ["node", "a/y", "a/z", "a-b/c"]
        );
    }

    #[test]
    fn invalid_names_are_rejected() {
        for text in ["", "/foo", "default/", "a/b/c"] {
            assert_eq!(
                text.parse::<NamespacedName>(),
                Err(NamespacedNameError(text.to_owned()))
            );
        }
    }
}
