//! Tracks the empty lists and maps that a client sent explicitly. Go distinguishes them from absent ones until the object is stored, and
//! only few rules depend on the difference. So objects are kept without them, and their paths are tracked beside the object. Empty bytes
//! are distinguished from absent ones even in storage, though neither is shown; the only bytes that are omitted when empty are the CA
//! bundles of webhooks.

use serde_json::{Map, Value};

const CA_BUNDLE_FIELD: &str = "caBundle";

/// The JSON pointers of an object's explicitly empty values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExplicitEmptyFields {
    /// The pointers of empty lists and maps, each with its value (`[]` or `{}`).
    empty_collections: Vec<(String, Value)>,
    ca_bundle_pointers: Vec<String>,
}

impl ExplicitEmptyFields {
    /// Collects the explicitly empty values of a decoded object.
    pub fn of(object: &Value) -> Self {
        let mut collected = Self::default();
        collected.visit(object, &mut String::new());
        collected
    }

    /// Takes over the empty CA bundles of another object, if this has none.
    pub fn inherit_ca_bundles(&mut self, object: &Value) {
        if self.ca_bundle_pointers.is_empty() {
            self.ca_bundle_pointers = Self::of(object).ca_bundle_pointers;
        }
    }

    fn visit(&mut self, value: &Value, at: &mut String) {
        let length = at.len();
        let mut visit = |step: &str, value: &Value| {
            at.push('/');
            at.push_str(step);
            self.visit(value, at);
            at.truncate(length);
        };
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                // Keys with a slash are not fields; an object's own metadata is shown as JSON.
                let is_field = |name: &str| !name.contains(['/', '~']) && (length > 0 || name != "metadata");
                for (name, value) in fields.iter().filter(|(name, _)| is_field(name)) {
                    visit(name, value);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    visit(&index.to_string(), item);
                }
            }
            Value::Object(_) | Value::Array(_) => self.empty_collections.push((at.clone(), value.clone())),
            Value::String(text) if text.is_empty() && at.ends_with(CA_BUNDLE_FIELD) => {
                self.ca_bundle_pointers.push(at.clone());
            }
            _ => {}
        }
    }

    /// Returns the fields of an object with all explicitly empty values put back.
    pub fn restore_fields(&self, fields: Map<String, Value>) -> Map<String, Value> {
        let mut restored = Value::Object(fields);
        for (at, empty) in &self.empty_collections {
            let (holder, name) = at.rsplit_once('/').unwrap_or_default();
            if !holder.contains("/metadata")
                && let Some(Value::Object(fields)) = restored.pointer_mut(holder)
                && fields.get(name).is_none_or(Value::is_null)
            {
                fields.insert(name.to_owned(), empty.clone());
            }
        }
        self.restore_ca_bundles(&mut restored);
        match restored {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    /// Whether a field, such as `spec.containers[0].env`, is explicitly empty.
    pub fn contains(&self, field: &str) -> bool {
        let pointer = format!("/{}", field.replace(['.', '['], "/").replace(']', ""));
        self.empty_collections.iter().any(|(at, _)| *at == pointer)
    }

    /// Puts back empty CA bundles, which storage keeps.
    pub fn restore_ca_bundles(&self, object: &mut Value) {
        for at in &self.ca_bundle_pointers {
            if let Some(fields) = parent_of(object, at) {
                fields.entry(CA_BUNDLE_FIELD).or_insert_with(|| "".into());
            }
        }
    }

    /// Returns the object without empty CA bundles, or `None` if it has none.
    pub fn without_empty_ca_bundles(object: &Value) -> Option<Value> {
        let ca_bundle_pointers = Self::of(object).ca_bundle_pointers;
        let mut result = (!ca_bundle_pointers.is_empty()).then(|| object.clone())?;
        for at in ca_bundle_pointers {
            if let Some(fields) = parent_of(&mut result, &at) {
                fields.remove(CA_BUNDLE_FIELD);
            }
        }
        Some(result)
    }
}

/// Returns the object that contains the CA bundle at this pointer.
fn parent_of<'o>(object: &'o mut Value, bundle: &str) -> Option<&'o mut Map<String, Value>> {
    let (holder, _) = bundle.rsplit_once('/')?;
    object.pointer_mut(holder)?.as_object_mut()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn explicitly_empty_values_are_restored() {
        let sent =
            json!({ "metadata": { "labels": {} }, "spec": { "a": [], "b": [{ "c": {}, "d": 1 }], "e": [] } });
        let empties = ExplicitEmptyFields::of(&sent);
        let spec = json!({ "b": [{ "d": 1 }], "e": ["default"] });
        let restored = empties.restore_fields(Map::from_iter([("spec".to_owned(), spec)]));
        assert_eq!(
            restored["spec"],
            json!({ "a": [], "b": [{ "c": {}, "d": 1 }], "e": ["default"] })
        );
        assert!(empties.contains("spec.b[0].c") && !empties.contains("spec.b[0]"));
    }

    #[test]
    fn empty_ca_bundle_is_kept_but_not_shown() {
        let hook = json!({ "webhooks": [{ "clientConfig": { "caBundle": "" } }] });
        let without_bundle = json!({ "webhooks": [{ "clientConfig": {} }] });
        let with_bundle = json!({ "webhooks": [{ "clientConfig": { "caBundle": "eA==" } }] });
        assert_eq!(
            ExplicitEmptyFields::without_empty_ca_bundles(&hook),
            Some(without_bundle.clone())
        );
        assert_eq!(
            ExplicitEmptyFields::without_empty_ca_bundles(&without_bundle),
            None
        );
        assert_eq!(ExplicitEmptyFields::without_empty_ca_bundles(&with_bundle), None);
        for (object, kept) in [(&without_bundle, &hook), (&with_bundle, &with_bundle)] {
            let mut object = object.clone();
            ExplicitEmptyFields::of(&hook).restore_ca_bundles(&mut object);
            assert_eq!(&object, kept);
        }
        let fields = without_bundle.as_object().cloned().unwrap_or_default();
        assert_eq!(
            Value::Object(ExplicitEmptyFields::of(&hook).restore_fields(fields)),
            hook
        );
    }
}
