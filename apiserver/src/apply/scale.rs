//! The record of a Scale, which is a view of its parent: what is owned of it is the parent's number of replicas.

use super::PathElement;
use super::managed::{self, Managers, Owned};
use super::set::FieldSet;
use serde_json::Value;

const SCALE: &str = "autoscaling/v1";

fn path_of(fields: &[&str]) -> Vec<PathElement> {
    fields
        .iter()
        .map(|name| PathElement::Field((*name).to_owned()))
        .collect()
}

/// The `managedFields` with which a Scale goes through [`super::track`] or [`super::apply`]: those owners of its parent's record who own
/// the replicas, which stand at `replicas`, such as `["spec", "replicas"]`. None where nobody does.
pub fn scale_record(parent: &Value, replicas: &[&str]) -> Option<Value> {
    let path = path_of(replicas);
    let owners = managed::decode(parent)
        .ok()?
        .into_iter()
        .filter(|(_, owned)| owned.set.contains(&path));
    let scale: Managers = owners
        .map(|(manager, owned)| {
            let set = FieldSet::of_fields(&[&["spec", "replicas"]]);
            (
                manager,
                Owned {
                    set,
                    api_version: SCALE.to_owned(),
                    time: owned.time,
                },
            )
        })
        .collect();
    managed::encode(&scale)
}

/// The parent's `managedFields` after its Scale was written: whoever owns the Scale's replicas owns the parent's, in this version and
/// without a time, and nobody else does.
pub fn parent_record(parent: &Value, scale: &Value, api_version: &str, replicas: &[&str]) -> Option<Value> {
    let path = path_of(replicas);
    let in_scale = path_of(&["spec", "replicas"]);
    let mut owners = managed::decode(scale).unwrap_or_default();
    owners.retain(|_, owned| owned.set.contains(&in_scale));
    let mut after = Managers::new();
    let at_path = FieldSet::of_fields(&[replicas]);
    for (manager, mut owned) in managed::decode(parent).unwrap_or_default() {
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
            Owned {
                set: at_path.clone(),
                api_version: api_version.to_owned(),
                time: None,
            },
        );
    }
    managed::encode(&after)
}
