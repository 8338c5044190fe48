//! The strategy of Namespaces: they are active from the start and have their name as a label.

use crate::meta;
use serde_json::{Value, json};

const NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(super) fn prepare(object: &mut Value, old: Option<&Value>) {
    let name = json!(meta::name(object));
    let labels = meta::entry_mut(&mut object["metadata"], "labels");
    labels.insert(NAME_LABEL.into(), name);
    if old.is_none() {
        object["status"] = json!({ "phase": "Active" });
        let spec = meta::entry_mut(object, "spec");
        let finalizers = spec.entry("finalizers").or_insert_with(|| json!([]));
        if let Value::Array(finalizers) = finalizers
            && !finalizers.contains(&json!("kubernetes"))
        {
            finalizers.push(json!("kubernetes"));
        }
    }
}
