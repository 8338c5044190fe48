//! Who owns what after an update or an apply, and what an apply makes of the object.

use super::compare::{Comparison, compare};
use super::managed::{Manager, Managers, Owned};
use super::set::FieldSet;
use super::{ApplyError, walk};
use crate::types::Type;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What the kind says of the request.
pub(super) struct Scope<'a, 't> {
    pub(super) api_version: &'a str,
    /// The type of the kind in a version, none when it is not served any more.
    pub(super) types: &'a dyn Fn(&str) -> Option<&'t Type>,
    /// The fields that a request of this kind cannot change.
    pub(super) reset: &'a FieldSet,
}

impl<'t> Scope<'_, 't> {
    fn ty(&self) -> &'t Type {
        (self.types)(self.api_version).unwrap_or(&Type::Any)
    }

    /// Leaves out managers of versions that are gone, and makes the sets what the types say today.
    fn reconcile(&self, managers: &mut Managers) {
        managers.retain(|_, owned| match (self.types)(&owned.api_version) {
            None => false,
            Some(ty) => {
                owned.set = owned.set.reconciled(ty);
                true
            }
        });
    }

    /// Takes from all managers but one what the change takes from them. Without `force`, changing what they own is a conflict.
    fn take_over(
        &self,
        live: &Value,
        new: &Value,
        managers: &mut Managers,
        by: &Manager,
        force: bool,
    ) -> Result<Comparison, ApplyError> {
        let filter = |set: &FieldSet| set.recursive_difference(self.reset);
        let changes = compare(live, new, self.ty());
        let mut by_version = BTreeMap::from([(self.api_version.to_owned(), changes.filtered(filter))]);
        let mut conflicts = BTreeMap::new();
        for (manager, owned) in managers.iter().filter(|(manager, _)| *manager != by) {
            let changes = by_version.entry(owned.api_version.clone()).or_insert_with(|| {
                let ty = (self.types)(&owned.api_version).unwrap_or(&Type::Any);
                compare(live, new, ty).filtered(filter)
            });
            let conflict = owned.set.intersection(&changes.modified.union(&changes.added));
            if !conflict.is_empty() {
                conflicts.insert(manager.clone(), conflict);
            }
        }
        if !force && !conflicts.is_empty() {
            return Err(ApplyError::conflicts(&conflicts));
        }
        for (manager, owned) in managers.iter_mut().filter(|(manager, _)| *manager != by) {
            if let Some(lost) = conflicts.get(manager) {
                owned.set = owned.set.difference(lost);
            }
            if let Some(changes) = by_version.get(&owned.api_version) {
                owned.set = owned.set.difference(&changes.removed);
            }
        }
        managers.retain(|_, owned| !owned.set.is_empty());
        Ok(changes)
    }

    /// Tracks an update: what changed is owned by whoever made it, and no more by others.
    pub(super) fn update(
        &self,
        live: &Value,
        new: &Value,
        managers: &mut Managers,
        by: &Manager,
        time: &str,
    ) {
        self.reconcile(managers);
        // The manager's own earlier changes are treated as another's, and joined afterwards.
        let nobody = Manager::new("current-operation", true, "", "");
        let Ok(changes) = self.take_over(live, new, managers, &nobody, true) else {
            return;
        };
        let set = changes
            .modified
            .union(&changes.added)
            .recursive_difference(self.reset)
            .difference(&NOT_OWNED);
        if set.is_empty() {
            return;
        }
        let set = managers
            .get(by)
            .map_or_else(|| set.clone(), |before| set.union(&before.set));
        managers.insert(
            by.clone(),
            Owned {
                set,
                api_version: self.api_version.to_owned(),
                time: Some(time.to_owned()),
            },
        );
    }

    /// Applies a configuration: the new object, none when nothing changed.
    pub(super) fn apply(
        &self,
        live: &Value,
        config: &Value,
        managers: &mut Managers,
        by: &Manager,
        force: bool,
    ) -> Result<Option<Value>, ApplyError> {
        self.reconcile(managers);
        let merged = walk::merge(live, config, self.ty());
        let last = managers.get(by).cloned();
        let set = walk::field_set(config, self.ty()).recursive_difference(self.reset);
        let time = last.as_ref().and_then(|last| last.time.clone());
        managers.insert(
            by.clone(),
            Owned {
                set,
                api_version: self.api_version.to_owned(),
                time,
            },
        );
        let new = self.prune(merged, managers, last.as_ref());
        self.take_over(live, &new, managers, by, force)?;
        if let Some(owned) = managers.get_mut(by) {
            owned.set = owned.set.difference(&NOT_OWNED);
            if owned.set.is_empty() {
                managers.remove(by);
            }
        }
        Ok((super::element::compare(live, &new).is_ne()).then_some(new))
    }

    /// Removes what the manager applied the last time and nobody owns now.
    fn prune(&self, merged: Value, managers: &Managers, last: Option<&Owned>) -> Value {
        let Some(last) = last.filter(|last| !last.set.is_empty()) else {
            return merged;
        };
        let Some(ty) = (self.types)(&last.api_version) else {
            return merged;
        };
        let mut pruned = walk::remove(&merged, &last.set.with_named_fields(ty), ty);
        // With an item that goes, all in it goes: what somebody owns comes back, in each version in which something is owned.
        let mut owned: BTreeMap<&str, FieldSet> = BTreeMap::new();
        for manager in managers.values() {
            let set = owned.entry(&manager.api_version).or_default();
            *set = set.union(&manager.set);
        }
        let this_first = owned.remove_entry(last.api_version.as_str());
        for (version, owned) in this_first.into_iter().chain(owned) {
            let Some(ty) = (self.types)(version) else { continue };
            let all = walk::field_set(&merged, ty).with_named_fields(ty);
            let kept = walk::field_set(&pruned, ty)
                .with_named_fields(ty)
                .union(&owned.with_named_fields(ty));
            pruned = walk::remove(&merged, &all.difference(&kept), ty);
        }
        // What nobody ever owned comes back, too, unless it is below what goes.
        let kept = walk::field_set(&pruned, ty).with_named_fields(ty);
        let all = walk::field_set(&merged, ty).with_named_fields(ty);
        walk::remove(
            &merged,
            &all.difference(&kept)
                .intersection(&last.set.with_named_fields(ty)),
            ty,
        )
    }
}

/// What the server itself writes has no owner.
static NOT_OWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    const METADATA: [&str; 9] = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let mut set = FieldSet::of_fields(&[&["apiVersion"], &["kind"], &["metadata"]]);
    for name in METADATA {
        set = set.union(&FieldSet::of_fields(&[&["metadata", name]]));
    }
    set
});
