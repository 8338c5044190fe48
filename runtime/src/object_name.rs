//! The name that identifies an object among those of its kind: the key of stores and queues.

use std::{fmt, str::FromStr, sync::Arc};

/// Namespace and name of an object. Cluster-scoped objects have no namespace.
///
/// Displays as `namespace/name`, or `name` without a namespace, as client-go's keys do, and parses from that form.
/// Cloning is cheap. Ordered by namespace, then name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectName {
    namespace: Option<Arc<str>>,
    name: Arc<str>,
}

/// A text that is no `namespace/name` or `name`.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} names no object: write `namespace/name`, or `name` for a cluster-scoped kind")]
pub struct ObjectNameError(String);

impl ObjectName {
    /// The name of a namespaced object.
    pub fn namespaced(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            namespace: Some(namespace.into()),
            name: name.into(),
        }
    }

    /// The name of a cluster-scoped object.
    pub fn cluster(name: impl Into<Arc<str>>) -> Self {
        Self {
            namespace: None,
            name: name.into(),
        }
    }

    /// The name that `metadata` carries, or nothing when it has none yet (`generateName`).
    pub fn of(metadata: &kube::core::ObjectMeta) -> Option<Self> {
        let name = metadata.name.as_deref()?.into();
        Some(Self {
            namespace: metadata.namespace.as_deref().map(Into::into),
            name,
        })
    }

    /// Another object of the same namespace.
    pub fn sibling(&self, name: impl Into<Arc<str>>) -> Self {
        Self {
            namespace: self.namespace.clone(),
            name: name.into(),
        }
    }

    /// The namespace; none for cluster-scoped objects.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The name within the namespace.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl fmt::Debug for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for ObjectName {
    type Err = ObjectNameError;

    fn from_str(text: &str) -> Result<Self, ObjectNameError> {
        match text.split_once('/') {
            None if !text.is_empty() => Ok(Self::cluster(text)),
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Self::namespaced(namespace, name))
            }
            _ => Err(ObjectNameError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_and_parses_as_client_go_keys() {
        for text in ["default/foo", "node-1"] {
            assert_eq!(text.parse::<ObjectName>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn refuses_what_names_no_object() {
        for text in ["", "/foo", "default/", "a/b/c"] {
            assert_eq!(text.parse::<ObjectName>(), Err(ObjectNameError(text.to_owned())));
        }
    }
}
