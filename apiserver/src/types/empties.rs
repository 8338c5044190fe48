//! Lists and maps that were sent, and are empty. Go tells them from those that were not sent until the object has been stored; nothing but
//! messages shows it, so that objects are kept without them, and they beside. It tells empty bytes from none even then, though it shows
//! neither; bytes that are not shown when they are empty are webhooks' bundles of certificates.

use serde_json::{Map, Value};

const BUNDLE: &str = "caBundle";

/// Where an object has something empty, as JSON pointers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Empties {
    /// And what: a list or a map.
    holders: Vec<(String, Value)>,
    bundles: Vec<String>,
}

impl Empties {
    /// Those of an object that was decoded.
    pub fn of(object: &Value) -> Self {
        let mut found = Self::default();
        found.visit(object, &mut String::new());
        found
    }

    /// Takes over the bundles of another object, if there are none.
    pub(crate) fn or_bundles_of(&mut self, object: &Value) {
        if self.bundles.is_empty() {
            self.bundles = Self::of(object).bundles;
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
                // Keys with a slash are no fields; an object's own metadata is shown as JSON has it.
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
            Value::Object(_) | Value::Array(_) => self.holders.push((at.clone(), value.clone())),
            Value::String(text) if text.is_empty() && at.ends_with(BUNDLE) => self.bundles.push(at.clone()),
            _ => {}
        }
    }

    /// The fields of an object, with what was sent empty among them and within.
    pub(crate) fn restored_all(&self, mut fields: Map<String, Value>) -> Map<String, Value> {
        for (at, _) in &self.holders {
            let Some(name) = at.split('/').nth(1) else {
                continue;
            };
            let value = self.restored(fields.get(name).unwrap_or(&Value::Null), name);
            if !value.is_null() {
                fields.insert(name.to_owned(), value);
            }
        }
        let mut whole = Value::Object(fields);
        self.restore_bundles(&mut whole);
        match whole {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    /// Adds the bundles that were sent empty, which are kept so.
    pub(crate) fn restore_bundles(&self, object: &mut Value) {
        for at in &self.bundles {
            if let Some(fields) = holder_of(object, at) {
                fields.entry(BUNDLE).or_insert_with(|| "".into());
            }
        }
    }

    /// The object without the bundles that are kept empty; none where there are none.
    pub(crate) fn without_bundles(object: &Value) -> Option<Value> {
        let bundles = Self::of(object).bundles;
        let mut shown = (!bundles.is_empty()).then(|| object.clone())?;
        for at in bundles {
            if let Some(fields) = holder_of(&mut shown, &at) {
                fields.remove(BUNDLE);
            }
        }
        Some(shown)
    }

    /// The value of a field, named as in `spec.containers[0]`, with what was sent empty within it.
    pub fn restored(&self, value: &Value, field: &str) -> Value {
        let pointer = format!("/{}", field.replace(['.', '['], "/").replace(']', ""));
        let mut value = value.clone();
        for (at, empty) in &self.holders {
            let Some(within) = at.strip_prefix(&pointer) else {
                continue;
            };
            match within.rsplit_once('/') {
                None if within.is_empty() && value.is_null() => value = empty.clone(),
                // So is a template's, but for a field of it alone.
                Some((holder, _)) if holder.contains("/metadata") => {}
                Some((holder, name)) => {
                    if let Some(Value::Object(fields)) = value.pointer_mut(holder)
                        && fields.get(name).is_none_or(Value::is_null)
                    {
                        fields.insert(name.to_owned(), empty.clone());
                    }
                }
                None => {}
            }
        }
        value
    }
}

/// What has a bundle at that place.
fn holder_of<'o>(object: &'o mut Value, bundle: &str) -> Option<&'o mut Map<String, Value>> {
    let (holder, _) = bundle.rsplit_once('/')?;
    object.pointer_mut(holder)?.as_object_mut()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_sent_empty_is_shown_so() {
        let sent =
            json!({ "metadata": { "labels": {} }, "spec": { "a": [], "b": [{ "c": {}, "d": 1 }], "e": [] } });
        let empties = Empties::of(&sent);
        let settled = json!({ "b": [{ "d": 1 }], "e": ["default"] });
        let whole = json!({ "a": [], "b": [{ "c": {}, "d": 1 }], "e": ["default"] });
        assert_eq!(empties.restored(&settled, "spec"), whole);
        assert_eq!(empties.restored(&settled["b"][0], "spec.b[0]"), whole["b"][0]);
        assert_eq!(empties.restored(&Value::Null, "spec.a"), json!([]));
        assert_eq!(Empties::default().restored(&settled, "spec"), settled);
    }

    #[test]
    fn an_empty_bundle_is_kept_and_not_shown() {
        let hook = json!({ "webhooks": [{ "clientConfig": { "caBundle": "" } }] });
        let bare = json!({ "webhooks": [{ "clientConfig": {} }] });
        let full = json!({ "webhooks": [{ "clientConfig": { "caBundle": "eA==" } }] });
        assert_eq!(Empties::without_bundles(&hook), Some(bare.clone()));
        assert_eq!(Empties::without_bundles(&bare), None);
        assert_eq!(Empties::without_bundles(&full), None);
        for (object, kept) in [(&bare, &hook), (&full, &full)] {
            let mut object = object.clone();
            Empties::of(&hook).restore_bundles(&mut object);
            assert_eq!(&object, kept);
        }
        let fields = bare.as_object().cloned().unwrap_or_default();
        assert_eq!(Value::Object(Empties::of(&hook).restored_all(fields)), hook);
    }
}
