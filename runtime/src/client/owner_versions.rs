//! The API version of owner references to the operator's kinds: the stored version, whatever version the controllers use.
//!
//! A new hub would otherwise change the owner references of all owned objects. Where the API server has the admission plugin
//! OwnerReferencesPermissionEnforcement, as OpenShift's has, that needs the permission to delete these objects. The garbage collector reads owners in
//! the reference's version: the stored version needs no conversion, and a rollback to a release without the new version still serves it.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use memchr::memmem;
use parking_lot::RwLock;
use serde::Deserialize;

use crate::ApiResource;

/// The stored versions of the kinds of an operator's [`Setup::versions`](crate::controller::Setup::versions). Clones share them.
#[derive(Clone, Default)]
pub(crate) struct OwnerVersions(Arc<RwLock<Vec<ApiResource>>>);

#[derive(Deserialize)]
struct OwnedObject<'a> {
    #[serde(borrow)]
    metadata: OwnedMetadata<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnedMetadata<'a> {
    #[serde(borrow, default)]
    owner_references: Vec<Reference<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference<'a> {
    #[serde(default)]
    api_version: &'a str,
    #[serde(default)]
    kind: &'a str,
}

impl OwnerVersions {
    /// Sets the stored version of a kind.
    pub(crate) fn set(&self, stored: &ApiResource) {
        let mut kinds = self.0.write();
        kinds.retain(|known| !known.is_version_of(stored));
        kinds.push(stored.clone());
    }

    /// Removes all kinds: references are sent as they are.
    pub(crate) fn clear(&self) {
        self.0.write().clear();
    }

    /// Returns the body of a write with the stored versions in its owner references. JSON patches are returned unchanged.
    pub(super) fn apply_to(&self, body: Bytes) -> Bytes {
        let kinds = self.0.read();
        if kinds.is_empty() || memmem::find(&body, b"\"ownerReferences\"").is_none() {
            return body;
        }
        let changes = changes(&kinds, &body);
        if changes.is_empty() {
            return body;
        }
        let mut result = Vec::with_capacity(body.len() + 16 * changes.len());
        let mut end = 0;
        for (range, api_version) in changes {
            result.extend_from_slice(&body[end..range.start]);
            result.extend_from_slice(api_version.as_bytes());
            end = range.end;
        }
        result.extend_from_slice(&body[end..]);
        result.into()
    }
}

/// Returns where the body has another version than the stored one, and the stored one, in order.
fn changes(kinds: &[ApiResource], body: &[u8]) -> Vec<(Range<usize>, String)> {
    let Ok(object) = serde_json::from_slice::<OwnedObject<'_>>(body) else {
        return Vec::new();
    };
    let references = object.metadata.owner_references.into_iter();
    let changes = references.filter_map(|reference| {
        let group = reference
            .api_version
            .split_once('/')
            .map_or("", |(group, _)| group);
        let mut kinds = kinds.iter();
        let stored = kinds.find(|known| known.group == group && known.kind == reference.kind)?;
        let stored = stored.api_version();
        // The text is borrowed from the body.
        let start = reference
            .api_version
            .as_ptr()
            .addr()
            .checked_sub(body.as_ptr().addr())?;
        let range = start..start + reference.api_version.len();
        (stored != reference.api_version).then_some((range, stored))
    });
    changes.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Scope;

    fn apply(stored: &[&ApiResource], body: &Value) -> Value {
        let versions = OwnerVersions::default();
        for stored in stored {
            versions.set(stored);
        }
        let body = serde_json::to_vec(body).unwrap();
        serde_json::from_slice(&versions.apply_to(body.into())).unwrap()
    }

    fn foo(version: &'static str) -> ApiResource {
        ApiResource {
            group: "demo.dev".into(),
            version: version.into(),
            kind: "Foo".into(),
            plural: "foos".into(),
            scope: Scope::Namespaced,
        }
    }

    fn owned_by(owners: &[(&str, &str)]) -> Value {
        let owners = owners.iter().enumerate();
        let owners = owners.map(|(uid, (api_version, kind))| {
            json!({"apiVersion": api_version, "kind": kind, "name": "a", "uid": uid.to_string()})
        });
        json!({
            "apiVersion": "demo.dev/v1",
            "kind": "Foo",
            "metadata": {"name": "a", "ownerReferences": owners.collect::<Vec<_>>()},
            "spec": {"template": {"metadata": {"ownerReferences": [{"apiVersion": "demo.dev/v1", "kind": "Foo"}]}}},
        })
    }

    #[test]
    fn references_to_registered_kinds_get_the_stored_version_and_nothing_else_changes() {
        let owners = [
            ("demo.dev/v1", "Foo"),
            ("demo.dev/v1", "Bar"),
            ("demo.dev/v1alpha1", "Foo"),
            ("other.dev/v1", "Foo"),
            ("v1", "Foo"),
            ("demo.dev/v2beta1", "Foo"),
        ];
        let expected = owners.map(|(version, kind)| match (version, kind) {
            ("demo.dev/v1" | "demo.dev/v2beta1", "Foo") => ("demo.dev/v1alpha1", kind),
            other => other,
        });
        let stored = [&foo("v1"), &foo("v1alpha1")];
        assert_eq!(apply(&stored, &owned_by(&owners)), owned_by(&expected));
        // A longer version than the reference's, and the last kind that was set counts.
        let stored = [&foo("v1alpha1"), &foo("v1")];
        let owners = [("demo.dev/v1alpha1", "Foo")];
        assert_eq!(
            apply(&stored, &owned_by(&owners)),
            owned_by(&[("demo.dev/v1", "Foo")])
        );
    }

    #[test]
    fn bodies_without_such_references_are_not_copied() {
        let versions = OwnerVersions::default();
        versions.set(&foo("v1alpha1"));
        let reference = json!({"apiVersion": "demo.dev/v1", "kind": "Foo"});
        for body in [
            json!({"metadata": {"name": "a"}}),
            json!({"metadata": {"ownerReferences": null}}),
            json!({"metadata": {"ownerReferences": [{"uid": "1", "$patch": "delete"}]}}),
            json!([{"op": "add", "path": "/metadata/ownerReferences", "value": [reference]}]),
            json!({"data": {"\"ownerReferences\"": ""}}),
            owned_by(&[("demo.dev/v1alpha1", "Foo")]),
        ] {
            let body = Bytes::from(serde_json::to_vec(&body).unwrap());
            assert_eq!(versions.apply_to(body.clone()).as_ptr(), body.as_ptr());
        }
        let body = Bytes::from(serde_json::to_vec(&owned_by(&[("demo.dev/v1", "Foo")])).unwrap());
        versions.clear();
        assert_eq!(versions.apply_to(body.clone()), body);
    }
}
