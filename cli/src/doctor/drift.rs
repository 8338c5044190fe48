//! What differs between a CRD in a cluster and that of the code.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{schema_diff, version_conversion::VersionConversion};

/// Longer values are not printed.
const MAX_VALUE_CHARS: usize = 60;

/// Returns the differences: those that [`schema_diff`] knows, else the first one of all others.
pub(super) fn differences(
    cluster: &Value,
    code: &Value,
    conversion: Option<&VersionConversion>,
) -> Vec<String> {
    let mut changes: Vec<String> = schema_diff::compare(cluster, code, conversion)
        .iter()
        .map(ToString::to_string)
        .collect();
    let strategy = |crd: &Value| {
        crd["spec"]["conversion"]["strategy"]
            .as_str()
            .unwrap_or("None")
            .to_owned()
    };
    for (what, was, is) in [
        (
            "stored version",
            stored(cluster).to_owned(),
            stored(code).to_owned(),
        ),
        ("conversion", strategy(cluster), strategy(code)),
    ] {
        if was != is {
            changes.push(format!("{what} {was} → {is}"));
        }
    }
    if changes.is_empty() {
        let by_olm = cluster["metadata"]["labels"]["olm.managed"] == "true";
        let [was, is] = [cluster, code].map(|crd| comparable(crd, by_olm));
        let of_spec = first_difference("spec", &was, &is);
        changes.extend(of_spec.or_else(|| metadata_difference(cluster, code)));
    }
    changes
}

/// Returns the version that a CRD stores.
pub(super) fn stored(crd: &Value) -> &str {
    let mut versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    let stored = versions.find(|version| version["storage"] == true);
    stored
        .and_then(|version| version["name"].as_str())
        .unwrap_or_default()
}

/// Returns the spec with the API server's defaults, without what others write and without empty values.
fn comparable(crd: &Value, by_olm: bool) -> Value {
    let mut spec = crd["spec"].clone();
    let kind = spec["names"]["kind"].as_str().unwrap_or_default().to_owned();
    for (name, default) in [
        ("listKind", format!("{kind}List")),
        ("singular", kind.to_lowercase()),
    ] {
        if spec["names"][name].as_str().is_none_or(str::is_empty) {
            spec["names"][name] = default.into();
        }
    }
    if spec["conversion"]["strategy"].is_null() {
        spec["conversion"] = json!({"strategy": "None"});
    }
    if let Some(webhook) = spec
        .pointer_mut("/conversion/webhook")
        .and_then(Value::as_object_mut)
    {
        if by_olm {
            // OLM makes a Service of its own.
            webhook.remove("clientConfig");
        }
        if let Some(client) = webhook.get_mut("clientConfig").and_then(Value::as_object_mut) {
            client.remove("caBundle");
            if let Some(service) = client.get_mut("service").and_then(Value::as_object_mut) {
                service.entry("port").or_insert(443.into());
            }
        }
    }
    simplify(&mut spec);
    spec
}

/// Removes values that mean the same as none, and sorts lists of schemas whose order means nothing.
fn simplify(value: &mut Value) {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(_) => false,
    };
    match value {
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                if let Value::Array(items) = field
                    && ["required", "enum"].contains(&&**name)
                {
                    items.sort_by_key(Value::to_string);
                }
                simplify(field);
            }
            fields.retain(|_, field| !is_empty(field));
        }
        _ => {}
    }
}

/// Returns the path of the first difference, with its values if they are short.
fn first_difference(path: &str, was: &Value, is: &Value) -> Option<String> {
    if was == is {
        return None;
    }
    match (was, is) {
        (Value::Object(was), Value::Object(is)) => {
            let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
            let of = |fields: &serde_json::Map<String, Value>, name: &String| {
                fields.get(name).cloned().unwrap_or_default()
            };
            names
                .into_iter()
                .find_map(|name| first_difference(&format!("{path}.{name}"), &of(was, name), &of(is, name)))
        }
        (Value::Array(was), Value::Array(is)) if was.len() == is.len() => {
            let mut pairs = was.iter().zip(is).enumerate();
            pairs.find_map(|(index, (was, is))| first_difference(&format!("{path}[{index}]"), was, is))
        }
        _ => {
            let text = |value: &Value| match value {
                Value::Null => "none".to_owned(),
                value => value.to_string(),
            };
            let values = format!("{} → {}", text(was), text(is));
            Some(if values.chars().count() > MAX_VALUE_CHARS {
                format!("{path} differs")
            } else {
                format!("{path} {values}")
            })
        }
    }
}

/// Returns the first label or annotation of the code that the cluster lacks. Others add more: Helm, OLM, kubectl.
fn metadata_difference(cluster: &Value, code: &Value) -> Option<String> {
    ["labels", "annotations"].into_iter().find_map(|field| {
        let wanted = code["metadata"][field].as_object()?;
        let found = &cluster["metadata"][field];
        wanted.iter().find_map(|(name, value)| {
            first_difference(&format!("metadata.{field}.{name}"), &found[name], value)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code() -> Value {
        json!({
            "metadata": {"name": "foos.demo.dev", "labels": {"team": "a"}},
            "spec": {
                "group": "demo.dev", "scope": "Namespaced", "names": {"kind": "Foo", "plural": "foos", "shortNames": ["f"]},
                "conversion": {"strategy": "Webhook", "webhook": {
                    "clientConfig": {"service": {"namespace": "shop-system", "name": "shop-webhooks", "path": "/convert"}},
                    "conversionReviewVersions": ["v1"],
                }},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "required": ["a", "b"], "properties": {"a": {}, "b": {}}}},
                }],
            },
        })
    }

    /// As the API server and others complete it.
    fn in_cluster() -> Value {
        let mut crd = code();
        crd["metadata"]["labels"]["app.kubernetes.io/managed-by"] = json!("Helm");
        crd["metadata"]["annotations"] = json!({"meta.helm.sh/release-name": "shop"});
        crd["spec"]["names"]["listKind"] = json!("FooList");
        crd["spec"]["names"]["singular"] = json!("foo");
        crd["spec"]["names"]["categories"] = json!([]);
        crd["spec"]["preserveUnknownFields"] = json!(false);
        let client = &mut crd["spec"]["conversion"]["webhook"]["clientConfig"];
        client["caBundle"] = json!("YQ==");
        client["service"]["port"] = json!(443);
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["required"] = json!(["b", "a"]);
        crd
    }

    #[test]
    fn what_the_api_server_and_others_add_is_no_difference() {
        assert_eq!(differences(&in_cluster(), &code(), None), [""; 0]);
        let mut plain = code();
        plain["spec"].as_object_mut().unwrap().remove("conversion");
        let mut defaulted = plain.clone();
        defaulted["spec"]["conversion"] = json!({"strategy": "None"});
        assert_eq!(differences(&defaulted, &plain, None), [""; 0]);
        let mut by_olm = in_cluster();
        by_olm["metadata"]["labels"]["olm.managed"] = json!("true");
        by_olm["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["name"] = json!("shop-service");
        assert_eq!(differences(&by_olm, &code(), None), [""; 0]);
    }

    #[test]
    fn first_of_the_other_differences_is_named() {
        for (pointer, value, expected) in [
            (
                "/spec/names/shortNames",
                json!(["x"]),
                r#"spec.names.shortNames[0] "x" → "f""#,
            ),
            (
                "/spec/names/shortNames",
                json!(null),
                r#"spec.names.shortNames none → ["f"]"#,
            ),
            (
                "/spec/names/categories",
                json!(["all"]),
                r#"spec.names.categories ["all"] → none"#,
            ),
            (
                "/spec/names/singular",
                json!("fo"),
                r#"spec.names.singular "fo" → "foo""#,
            ),
            (
                "/spec/versions/0/deprecated",
                json!(true),
                "spec.versions[0].deprecated true → none",
            ),
            (
                "/spec/versions/0/deprecationWarning",
                json!("A warning that is so long that it is not printed in full, and neither in parts."),
                "spec.versions[0].deprecationWarning differs",
            ),
            (
                "/spec/versions/0/selectableFields",
                json!([{"jsonPath": ".spec.a"}]),
                r#"spec.versions[0].selectableFields [{"jsonPath":".spec.a"}] → none"#,
            ),
            (
                "/spec/conversion/webhook/clientConfig/service/path",
                json!("/other"),
                r#"spec.conversion.webhook.clientConfig.service.path "/other" → "/convert""#,
            ),
            (
                "/spec/conversion/webhook/conversionReviewVersions",
                json!(["v1beta1", "v1"]),
                r#"spec.conversion.webhook.conversionReviewVersions ["v1beta1","v1"] → ["v1"]"#,
            ),
            (
                "/metadata/labels/team",
                json!("b"),
                r#"metadata.labels.team "b" → "a""#,
            ),
        ] {
            let mut cluster = in_cluster();
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            cluster.pointer_mut(parent).unwrap()[name] = value;
            assert_eq!(differences(&cluster, &code(), None), [expected], "{pointer}");
        }
    }
}
