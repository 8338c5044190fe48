//! Updates that change nothing but field managers.

use serde_json::Value;

/// True if nothing changed except the timestamps in managedFields.
pub(super) fn is_noop_update(new: &Value, old: &Value) -> bool {
    differs_only_in_managed_fields(new, old, same_entries_ignoring_time)
}

/// True if nothing changed except managedFields, where `may` accepts the change.
pub(super) fn differs_only_in_managed_fields(
    new: &Value,
    old: &Value,
    may: impl Fn(&Value, &Value) -> bool,
) -> bool {
    differing_fields(new, old).all(|key| {
        key == "metadata"
            && differing_fields(&new[key], &old[key])
                .all(|key| key == "managedFields" && may(&new["metadata"][key], &old["metadata"][key]))
    })
}

/// True if two lists of managedFields differ at most in their timestamps.
fn same_entries_ignoring_time(new: &Value, old: &Value) -> bool {
    match (new.as_array(), old.as_array()) {
        (Some(new), Some(old)) => {
            let mut pairs = new.iter().zip(old);
            new.len() == old.len()
                && pairs.all(|(new, old)| differing_fields(new, old).all(|key| key == "time"))
        }
        // An absent list equals null.
        _ => new == old,
    }
}

/// Returns the names of the fields in which two objects differ; a single empty name if they differ and one of them is not an object.
fn differing_fields<'a>(new: &'a Value, old: &'a Value) -> impl Iterator<Item = &'a str> {
    let root = (!(new.is_object() && old.is_object()) && new != old).then_some("");
    let fields = |value: &'a Value| value.as_object().into_iter().flatten();
    let changed = fields(new).filter(|(key, value)| old.get(key.as_str()) != Some(*value));
    let removed = fields(old).filter(|(key, _)| new.get(key.as_str()).is_none());
    root.into_iter()
        .chain(changed.chain(removed).map(|(key, _)| key.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn update_that_changes_only_managed_field_times_is_noop() {
        let object = |time: &str, manager: &str, data: Value| {
            let entries = json!([{ "manager": manager, "time": time }]);
            json!({ "metadata": { "name": "a", "managedFields": entries }, "data": data })
        };
        let old = object("1", "m", json!({ "k": "v" }));
        assert!(is_noop_update(&old, &old) && is_noop_update(&object("2", "m", json!({ "k": "v" })), &old));
        assert!(!is_noop_update(&object("1", "n", json!({ "k": "v" })), &old));
        assert!(!is_noop_update(&object("1", "m", json!({ "k": "w" })), &old));
        assert!(!is_noop_update(
            &object("1", "m", json!({ "k": "v", "l": "w" })),
            &old
        ));
        assert!(
            !is_noop_update(&object("1", "m", json!({})), &old)
                && !is_noop_update(&old, &object("1", "m", json!({})))
        );
        let (mut none, mut null) = (old.clone(), old.clone());
        none["metadata"].as_object_mut().unwrap().remove("managedFields");
        null["metadata"]["managedFields"] = Value::Null;
        assert!(is_noop_update(&none, &null) && is_noop_update(&null, &none));
        assert!(!is_noop_update(&none, &old) && !is_noop_update(&old, &none));
        null["metadata"]["name"] = json!("b");
        assert!(!is_noop_update(&null, &none));
    }
}
