//! Ownership after an update or an apply, and the object that an apply produces (upstream: `merge.Updater`).

use super::compare::{Comparison, compare};
use super::field_set::FieldSet;
use super::managed_fields::{Manager, Managers, VersionedSet};
use super::{ApplyError, Write, typed_value};
use crate::types::Type;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

impl<'t> Write<'_, 't> {
    fn ty(&self) -> &'t Type {
        (self.types)(self.api_version).unwrap_or(&Type::Any)
    }

    /// Adapts the sets to the current types, and drops managers of versions without a type, unless the live object must be convertible to
    /// them. Returns the live object in the versions of the managers.
    fn reconcile_with_schema<'v>(
        &self,
        live: &'v Value,
        managers: &mut Managers,
    ) -> Result<LiveObject<'v>, ApplyError> {
        let mut converted = BTreeMap::new();
        for VersionedSet { api_version, .. } in managers.values() {
            if *api_version != self.api_version
                && !converted.contains_key(api_version)
                && let Some(object) = (self.convert)(live, api_version).map_err(ApplyError::Internal)?
            {
                converted.insert(api_version.clone(), object);
            }
        }
        managers.retain(|_, owned| match (self.types)(&owned.api_version) {
            None => false,
            Some(ty) => {
                owned.set = owned.set.reconcile_with_schema(ty);
                true
            }
        });
        Ok(LiveObject {
            object: live,
            converted,
        })
    }

    /// Returns an object in a version.
    fn convert(&self, object: Value, version: &str) -> Result<Value, String> {
        if object["apiVersion"] == version {
            return Ok(object);
        }
        Ok((self.convert)(&object, version)?.unwrap_or(object))
    }

    /// Removes changed fields from all managers except `by`. Without `force`, a change of a field that another manager owns is a conflict.
    fn transfer_ownership(
        &self,
        live: &LiveObject<'_>,
        new: &Value,
        managers: &mut Managers,
        by: &Manager,
        force: bool,
    ) -> Result<Comparison, ApplyError> {
        let filtered = |changes: &Comparison, version: &str| {
            let no_fields = FieldSet::default();
            let reset = if (self.resets_in)(version) {
                self.reset
            } else {
                &no_fields
            };
            changes.filtered(|set| set.recursive_difference(reset))
        };
        let changes = compare(live.object, new, self.ty());
        let own_version = self.api_version;
        let mut by_version = BTreeMap::from([(own_version.to_owned(), filtered(&changes, own_version))]);
        let mut conflicts = BTreeMap::new();
        for (manager, owned) in managers.iter().filter(|(manager, _)| *manager != by) {
            let version = &owned.api_version;
            if !by_version.contains_key(version) {
                let converted = (self.convert)(new, version)
                    .map_err(|why| ApplyError::Internal(format!("failed to convert new object: {why}")))?;
                let ty = (self.types)(version).unwrap_or(&Type::Any);
                let changes = compare(live.in_version(version), converted.as_ref().unwrap_or(new), ty);
                by_version.insert(version.clone(), filtered(&changes, version));
            }
            let changes = &by_version[version];
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

    /// Handles an update: `by` owns the changed fields, and the other managers lose them. Fails if an object cannot be converted.
    pub(super) fn update(
        &self,
        live: &Value,
        new: &Value,
        managers: &mut Managers,
        by: &Manager,
        time: &str,
    ) -> Result<(), ApplyError> {
        let live = self.reconcile_with_schema(live, managers)?;
        // The manager's own earlier fields are treated like another manager's, and merged afterwards.
        let current_operation = Manager::new("current-operation", true, "", "");
        let changes = self.transfer_ownership(&live, new, managers, &current_operation, true)?;
        let set = changes
            .modified
            .union(&changes.added)
            .recursive_difference(self.reset)
            .difference(&STRIPPED_FIELDS);
        if set.is_empty() {
            return Ok(());
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
        Ok(())
    }

    /// Applies a configuration. Returns the new object, or none if nothing changed, and the managers afterwards.
    pub(super) fn apply(
        &self,
        live: &Value,
        config: &Value,
        managers: &Managers,
        by: &Manager,
        force: bool,
    ) -> Result<(Option<Value>, Managers), ApplyError> {
        let mut managers = managers.clone();
        let live = self.reconcile_with_schema(live, &mut managers)?;
        let merged = typed_value::merge(live.object, config, self.ty());
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
        let new = self
            .prune(merged, &managers, last.as_ref())
            .map_err(|why| ApplyError::Internal(format!("failed to prune fields: {why}")))?;
        self.transfer_ownership(&live, &new, &mut managers, by, force)?;
        if let Some(owned) = managers.get_mut(by) {
            owned.set = owned.set.difference(&STRIPPED_FIELDS);
            if owned.set.is_empty() {
                managers.remove(by);
            }
        }
        let is_changed = super::path_element::compare(live.object, &new).is_ne();
        Ok((is_changed.then_some(new), managers))
    }

    /// Removes the fields that the manager applied the last time and that no manager owns now. Each set of fields is used on the object in its
    /// version.
    fn prune(
        &self,
        merged: Value,
        managers: &Managers,
        last: Option<&VersionedSet>,
    ) -> Result<Value, String> {
        let Some(last) = last.filter(|last| !last.set.is_empty()) else {
            return Ok(merged);
        };
        let Some(ty) = (self.types)(&last.api_version) else {
            return Ok(merged);
        };
        let merged = self
            .convert(merged, &last.api_version)
            .map_err(|why| format!("failed to convert merged object to last applied version: {why}"))?;
        let last_set = last.set.ensure_named_fields_are_members(ty);
        let pruned = typed_value::remove(&merged, &last_set, ty);
        let pruned = self
            .add_back_owned(merged.clone(), pruned, managers, &last.api_version)
            .map_err(|why| format!("failed add back owned items: {why}"))?;
        let pruned = self.convert(pruned, &last.api_version).map_err(|why| {
            let failed =
                "failed add back dangling items: failed to convert pruned object to last applied version";
            format!("{failed}: {why}")
        })?;
        // Also restore fields that no manager ever owned, unless they are below a removed one.
        let kept = typed_value::field_set(&pruned, ty).ensure_named_fields_are_members(ty);
        let all = typed_value::field_set(&merged, ty).ensure_named_fields_are_members(ty);
        let removed = all.difference(&kept).intersection(&last_set);
        self.convert(typed_value::remove(&merged, &removed, ty), self.api_version)
    }

    /// Restores what managers own: removing an item also removed everything within it. Returns the object in the version of one of them.
    fn add_back_owned(
        &self,
        mut merged: Value,
        mut pruned: Value,
        managers: &Managers,
        version: &str,
    ) -> Result<Value, String> {
        let mut owned: BTreeMap<&str, FieldSet> = BTreeMap::new();
        for manager in managers.values() {
            let set = owned.entry(&manager.api_version).or_default();
            *set = set.union(&manager.set);
        }
        // A conversion may need fields that the set of the object's version adds.
        let first = owned.remove_entry(version);
        for (version, owned) in first.into_iter().chain(owned) {
            let Some(ty) = (self.types)(version) else { continue };
            merged = self
                .convert(merged, version)
                .map_err(|why| format!("failed to convert merged object at version {version}: {why}"))?;
            pruned = self
                .convert(pruned, version)
                .map_err(|why| format!("failed to convert pruned object at version {version}: {why}"))?;
            let all = typed_value::field_set(&merged, ty).ensure_named_fields_are_members(ty);
            let kept = typed_value::field_set(&pruned, ty)
                .ensure_named_fields_are_members(ty)
                .union(&owned.ensure_named_fields_are_members(ty));
            pruned = typed_value::remove(&merged, &all.difference(&kept), ty);
        }
        Ok(pruned)
    }
}

/// The live object, also in the versions of its managers that have other fields.
struct LiveObject<'v> {
    object: &'v Value,
    converted: BTreeMap<String, Value>,
}

impl LiveObject<'_> {
    fn in_version(&self, version: &str) -> &Value {
        self.converted.get(version).unwrap_or(self.object)
    }
}

/// Fields that the server sets; they have no owner (upstream: `stripSet`).
static STRIPPED_FIELDS: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});
