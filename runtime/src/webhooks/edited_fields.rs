//! Compares the webhooks of a stored configuration with the registered ones: only in what the code decides.
//!
//! A webhook is found by its name. What an overlay of the manifests may set is not compared: selectors, match conditions, failure policy,
//! timeout, the name, namespace and port of the Service, and a URL in its place.

use serde_json::{Value, json};

/// The fields that the code decides, as JSON pointers into a webhook.
const DECIDED_FIELDS: [&str; 6] = [
    "/admissionReviewVersions",
    "/clientConfig/service/path",
    "/matchPolicy",
    "/reinvocationPolicy",
    "/rules",
    "/sideEffects",
];

/// How a configuration differs from what is registered.
#[derive(Debug, Default, PartialEq)]
pub(super) struct EditedFields {
    /// Each field that differs, with the name of its webhook.
    pub(super) fields: Vec<String>,
    /// The names of registered webhooks that the configuration does not have.
    pub(super) missing: Vec<String>,
    /// A JSON patch that puts the fields back, if the configuration did not change since it was read. Empty without such fields.
    pub(super) operations: Vec<Value>,
}

/// Compares a configuration with the registered webhooks.
pub(super) fn edited_fields(configuration: &Value, registered: &Value) -> EditedFields {
    let stored = configuration["webhooks"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let mut edited = EditedFields::default();
    for webhook in registered.as_array().into_iter().flatten() {
        let name = webhook["name"].as_str().unwrap_or_default();
        let Some(index) = stored.iter().position(|stored| stored["name"] == name) else {
            edited.missing.push(name.to_owned());
            continue;
        };
        for field in DECIDED_FIELDS {
            let Some(value) = webhook.pointer(field) else {
                continue;
            };
            if stored[index].pointer(field) == Some(value) || !has_parent(&stored[index], field) {
                continue;
            }
            edited
                .fields
                .push(format!("{} of {name}", field[1..].replace('/', ".")));
            let path = format!("/webhooks/{index}{field}");
            // "add" also replaces a value.
            edited
                .operations
                .push(json!({"op": "add", "path": path, "value": value}));
        }
    }
    if !edited.operations.is_empty() {
        let version = &configuration["metadata"]["resourceVersion"];
        let unchanged = json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version});
        edited.operations.insert(0, unchanged);
    }
    edited
}

/// Whether a value can be set at this pointer: a webhook with a URL has no Service with a path.
fn has_parent(webhook: &Value, field: &str) -> bool {
    let parent = field.rsplit_once('/').map_or("", |(parent, _)| parent);
    webhook.pointer(parent).is_some_and(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webhook(name: &str) -> Value {
        json!({
            "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None", "matchPolicy": "Equivalent",
            "rules": [{"operations": ["CREATE"], "resources": ["foos"]}], "failurePolicy": "Fail",
            "clientConfig": {"service": {"name": "shop-webhooks", "namespace": "shop-system", "path": "/p", "port": 443}},
        })
    }

    fn configuration(webhooks: &[Value]) -> Value {
        json!({"metadata": {"name": "shop", "resourceVersion": "7"}, "webhooks": webhooks})
    }

    #[test]
    fn only_what_the_code_decides_is_put_back() {
        let registered = json!([webhook("a.demo.dev"), webhook("b.demo.dev")]);
        let mut edited = webhook("b.demo.dev");
        edited["rules"][0]["operations"] = json!(["DELETE"]);
        edited["sideEffects"] = json!("NoneOnDryRun");
        edited["clientConfig"]["service"] =
            json!({"name": "other", "namespace": "other", "path": "/q", "port": 1});
        edited["failurePolicy"] = json!("Ignore");
        edited["namespaceSelector"] = json!({"matchLabels": {"a": "b"}});
        edited["timeoutSeconds"] = json!(3);
        let found = edited_fields(&configuration(&[webhook("theirs.dev"), edited]), &registered);
        assert_eq!(found.missing, ["a.demo.dev"]);
        assert_eq!(
            found.fields,
            [
                "clientConfig.service.path of b.demo.dev",
                "rules of b.demo.dev",
                "sideEffects of b.demo.dev"
            ]
        );
        let add = |field: &str, value: Value| json!({"op": "add", "path": format!("/webhooks/1/{field}"), "value": value});
        assert_eq!(
            found.operations,
            [
                json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}),
                add("clientConfig/service/path", json!("/p")),
                add("rules", registered[1]["rules"].clone()),
                add("sideEffects", json!("None")),
            ]
        );
    }

    #[test]
    fn configuration_with_urls_or_without_webhooks_is_not_patched() {
        let registered = json!([webhook("a.demo.dev")]);
        let mut called_by_url = webhook("a.demo.dev");
        called_by_url["clientConfig"] = json!({"url": "https://127.0.0.1:1/other"});
        let found = edited_fields(&configuration(&[called_by_url]), &registered);
        assert_eq!(found, EditedFields::default());
        for empty in [
            configuration(&[]),
            json!({}),
            Value::Null,
            json!({"webhooks": [1]}),
        ] {
            let found = edited_fields(&empty, &registered);
            assert_eq!((found.missing.len(), found.operations), (1, vec![]));
        }
    }
}
