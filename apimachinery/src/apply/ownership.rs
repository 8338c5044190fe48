//! Ownership after an update or an apply, and the object that an apply produces.

use super::compare::{Comparison, compare};
use super::field_set::FieldSet;
use super::managed_fields::{Manager, Managers, VersionedSet};
use super::{ApplyError, typed_value};
use crate::types::Type;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Updates the managers for one request, with the rules of its kind (upstream: `merge.Updater`).
pub(super) struct Updater<'a, 't> {
    pub(super) api_version: &'a str,
    /// Returns the type of the kind in a version; none for a version that has been removed.
    pub(super) types: &'a dyn Fn(&str) -> Option<&'t Type>,
    /// Converts an object to a version; none if all versions have the same fields.
    pub(super) convert: &'a dyn Fn(&Value, &str) -> Option<Value>,
    /// The fields that a request of this kind cannot change.
    pub(super) reset: &'a FieldSet,
}

impl<'t> Updater<'_, 't> {
    fn ty(&self) -> &'t Type {
        (self.types)(self.api_version).unwrap_or(&Type::Any)
    }

    /// Drops managers of versions that are no longer served, and adapts the sets to the current types.
    fn reconcile_with_schema(&self, managers: &mut Managers) {
        managers.retain(|_, owned| match (self.types)(&owned.api_version) {
            None => false,
            Some(ty) => {
                owned.set = owned.set.reconcile_with_schema(ty);
                true
            }
        });
    }

    /// Removes changed fields from all managers except `by`. Without `force`, a change of a field that another manager owns is a conflict.
    fn transfer_ownership(
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
                let version = &owned.api_version;
                let ty = (self.types)(version).unwrap_or(&Type::Any);
                let converted = ((self.convert)(live, version), (self.convert)(new, version));
                let (live, new) = (
                    converted.0.as_ref().unwrap_or(live),
                    converted.1.as_ref().unwrap_or(new),
                );
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

    /// Handles an update: `by` owns the changed fields, and the other managers lose them.
    pub(super) fn update(
        &self,
        live: &Value,
        new: &Value,
        managers: &mut Managers,
        by: &Manager,
        time: &str,
    ) {
        self.reconcile_with_schema(managers);
        // The manager's own earlier fields are treated like another manager's, and merged afterwards.
        let current_operation = Manager::new("current-operation", true, "", "");
        let Ok(changes) = self.transfer_ownership(live, new, managers, &current_operation, true) else {
            return;
        };
        let set = changes
            .modified
            .union(&changes.added)
            .recursive_difference(self.reset)
            .difference(&STRIPPED_FIELDS);
        if set.is_empty() {
            return;
        }
        let set = managers
            .get(by)
            .map_or_else(|| set.clone(), |before| set.union(&before.set));
        managers.insert(
            by.clone(),
            VersionedSet {
                set,
                api_version: self.api_version.to_owned(),
                time: Some(time.to_owned()),
            },
        );
    }

    /// Applies a configuration. Returns the new object; none if nothing changed.
    pub(super) fn apply(
        &self,
        live: &Value,
        config: &Value,
        managers: &mut Managers,
        by: &Manager,
        force: bool,
    ) -> Result<Option<Value>, ApplyError> {
        self.reconcile_with_schema(managers);
        let merged = typed_value::merge(live, config, self.ty());
        let last = managers.get(by).cloned();
        let set = typed_value::field_set(config, self.ty()).recursive_difference(self.reset);
        let time = last.as_ref().and_then(|last| last.time.clone());
        managers.insert(
            by.clone(),
            VersionedSet {
                set,
                api_version: self.api_version.to_owned(),
                time,
            },
        );
        let new = self.prune(merged, managers, last.as_ref());
        self.transfer_ownership(live, &new, managers, by, force)?;
        if let Some(owned) = managers.get_mut(by) {
            owned.set = owned.set.difference(&STRIPPED_FIELDS);
            if owned.set.is_empty() {
                managers.remove(by);
            }
        }
        Ok((super::path_element::compare(live, &new).is_ne()).then_some(new))
    }

    /// Removes the fields that the manager applied the last time and that no manager owns now.
    fn prune(&self, merged: Value, managers: &Managers, last: Option<&VersionedSet>) -> Value {
        let Some(last) = last.filter(|last| !last.set.is_empty()) else {
            return merged;
        };
        let Some(ty) = (self.types)(&last.api_version) else {
            return merged;
        };
        let mut pruned = typed_value::remove(&merged, &last.set.ensure_named_fields_are_members(ty), ty);
        // Removing an item also removes everything within it. Restore what other managers own, per version.
        let mut owned: BTreeMap<&str, FieldSet> = BTreeMap::new();
        for manager in managers.values() {
            let set = owned.entry(&manager.api_version).or_default();
            *set = set.union(&manager.set);
        }
        let this_first = owned.remove_entry(last.api_version.as_str());
        for (version, owned) in this_first.into_iter().chain(owned) {
            let Some(ty) = (self.types)(version) else { continue };
            let all = typed_value::field_set(&merged, ty).ensure_named_fields_are_members(ty);
            let kept = typed_value::field_set(&pruned, ty)
                .ensure_named_fields_are_members(ty)
                .union(&owned.ensure_named_fields_are_members(ty));
            pruned = typed_value::remove(&merged, &all.difference(&kept), ty);
        }
        // Also restore fields that no manager ever owned, unless they are below a removed one.
        let kept = typed_value::field_set(&pruned, ty).ensure_named_fields_are_members(ty);
        let all = typed_value::field_set(&merged, ty).ensure_named_fields_are_members(ty);
        typed_value::remove(
            &merged,
            &all.difference(&kept)
                .intersection(&last.set.ensure_named_fields_are_members(ty)),
            ty,
        )
    }
}

/// Fields that the server sets; they have no owner (upstream: `stripSet`).
static STRIPPED_FIELDS: LazyLock<FieldSet> = LazyLock::new(|| {
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
