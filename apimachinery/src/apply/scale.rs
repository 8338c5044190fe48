//! `managedFields` of the scale subresource: a view of its parent's, reduced to the number of replicas.

use super::PathElement;
use super::field_set::FieldSet;
use super::managed_fields::{self, Managers, VersionedSet};
use serde_json::Value;

const SCALE: &str = "autoscaling/v1";

fn path_of(fields: &[&str]) -> Vec<PathElement> {
    fields
        .iter()
        .map(|name| PathElement::Field((*name).to_owned()))
        .collect()
}

/// Returns the `managedFields` of a Scale, to be passed through [`super::track`] or [`super::apply`]: the managers of `parent` that own the
/// path `replicas`, such as `["spec", "replicas"]`. None if no manager does.
pub fn scale_managed_fields(parent: &Value, replicas: &[&str]) -> Option<Value> {
    let path = path_of(replicas);
    let owners = managed_fields::decode(parent)
        .ok()?
        .into_iter()
        .filter(|(_, owned)| owned.set.contains(&path));
    let scale: Managers = owners
        .map(|(manager, owned)| {
            let set = FieldSet::of_fields(&[&["spec", "replicas"]]);
            (
                manager,
                VersionedSet {
                    set,
                    api_version: SCALE.to_owned(),
                    time: owned.time,
                },
            )
        })
        .collect();
    managed_fields::encode(&scale)
}

/// Returns the parent's `managedFields` after a write to its Scale: exactly the owners of the Scale's replicas own the parent's, in
/// `api_version` and without a time.
pub fn parent_managed_fields(
    parent: &Value,
    scale: &Value,
    api_version: &str,
    replicas: &[&str],
) -> Option<Value> {
    let path = path_of(replicas);
    let in_scale = path_of(&["spec", "replicas"]);
    let mut owners = managed_fields::decode(scale).unwrap_or_default();
    owners.retain(|_, owned| owned.set.contains(&in_scale));
    let mut after = Managers::new();
    let at_path = FieldSet::of_fields(&[replicas]);
    for (manager, mut owned) in managed_fields::decode(parent).unwrap_or_default() {
        if owned.set.contains(&path) && owners.remove(&manager).is_none() {
            owned.set = owned.set.difference(&at_path);
            if owned.set.is_empty() {
                continue;
            }
        }
        after.insert(manager, owned);
    }
    for manager in owners.into_keys() {
        after.insert(
            manager,
            VersionedSet {
                set: at_path.clone(),
                api_version: api_version.to_owned(),
                time: None,
            },
        );
    }
    managed_fields::encode(&after)
}
