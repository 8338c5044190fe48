//! `managedFields` of the scale subresource: a view of its parent's, reduced to the number of replicas.

use super::PathElement;
use super::field_set::FieldSet;
use super::managed_fields::{self, Managers, VersionedSet};
use serde_json::Value;

const SCALE: &str = "autoscaling/v1";

/// Returns the path of the replicas in an API version, such as `["spec", "replicas"]`; none in a version without a scale.
pub type ReplicasPath<'a> = &'a dyn Fn(&str) -> Option<Vec<String>>;

fn path_in(api_version: &str, replicas: ReplicasPath<'_>) -> Option<Vec<PathElement>> {
    let path = replicas(api_version)?;
    Some(path.into_iter().map(PathElement::Field).collect())
}

/// Returns the `managedFields` of a Scale, to be passed through [`super::track`] or [`super::apply`]: the managers of `parent` that own the
/// replicas. None if no manager does.
pub fn scale_managed_fields(parent: &Value, replicas: ReplicasPath<'_>) -> Option<Value> {
    let owners = managed_fields::decode(parent)
        .ok()?
        .into_iter()
        .filter(|(_, owned)| {
            path_in(&owned.api_version, replicas).is_some_and(|path| owned.set.contains(&path))
        });
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

/// Returns the parent's `managedFields` after a write to its Scale: the managers of the Scale's replicas own the parent's, in `api_version` and
/// without a time. Who managed them before keeps them while it manages anything of the Scale.
pub fn parent_managed_fields(
    parent: &Value,
    scale: &Value,
    api_version: &str,
    replicas: ReplicasPath<'_>,
) -> Option<Value> {
    let only = |path: &[PathElement]| {
        let mut set = FieldSet::default();
        set.insert(path);
        set
    };
    let in_scale = ["spec", "replicas"].map(|name| PathElement::Field(name.to_owned()));
    let mut owners = managed_fields::decode(scale).unwrap_or_default();
    let mut after = Managers::new();
    for (manager, mut owned) in managed_fields::decode(parent).unwrap_or_default() {
        let path = path_in(&owned.api_version, replicas).filter(|path| owned.set.contains(path));
        if let Some(path) = path
            && owners.remove(&manager).is_none()
        {
            owned.set = owned.set.difference(&only(&path));
            if owned.set.is_empty() {
                continue;
            }
        }
        after.insert(manager, owned);
    }
    owners.retain(|_, owned| owned.set.contains(&in_scale));
    let at_path = only(&path_in(api_version, replicas).unwrap_or_default());
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
