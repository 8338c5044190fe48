//! Expressions of templates within an object's value: texts with marks, which [`template`](super::template) writes without quotes.

use serde_json::Value;

use crate::manifests::webhooks::NAMESPACE_LABEL;

/// Begins a text that replaces a whole entry of a map or list.
pub(super) const RAW: char = '\u{E000}';
/// Begins an expression within a text.
pub(super) const OPEN: char = '\u{E001}';
/// Ends it.
pub(super) const CLOSE: char = '\u{E002}';

/// The namespace of the release.
pub(super) const NAMESPACE: &str = "$.Release.Namespace";

/// Returns a value in place of which the lines are written: with their key or dash.
pub(super) fn raw(lines: &str) -> Value {
    format!("{RAW}{lines}").into()
}

/// Returns an expression as part of a text.
pub(super) fn expression(text: &str) -> String {
    format!("{OPEN}{text}{CLOSE}")
}

/// Returns lines that are rendered only if the condition is true.
pub(super) fn when(condition: &str, lines: &str) -> String {
    format!("{{{{- if {condition} }}}}\n{lines}{{{{- end }}}}\n")
}

/// Replaces the operator's namespace by that of the release, where Kubernetes, cert-manager or Prometheus read a namespace.
pub(super) fn localize(object: &mut Value, namespace: &str) {
    let is_namespace = object["kind"] == "Namespace" && object["metadata"]["name"] == namespace;
    if is_namespace {
        object["metadata"]["name"] = expression(NAMESPACE).into();
    }
    match object["kind"].as_str() {
        // Schemas and descriptions are not the operator's.
        Some("CustomResourceDefinition") => {
            for pointer in ["/metadata", "/spec/conversion"] {
                if let Some(value) = object.pointer_mut(pointer) {
                    localize_value(value, namespace);
                }
            }
        }
        _ => localize_value(object, namespace),
    }
}

fn localize_value(value: &mut Value, namespace: &str) {
    match value {
        Value::Object(fields) => {
            let selects_by_name = fields.get("key").is_some_and(|key| key == NAMESPACE_LABEL);
            for (key, below) in fields {
                match key.as_str() {
                    "namespace" | NAMESPACE_LABEL => replace(below, namespace),
                    "matchNames" => below
                        .as_array_mut()
                        .into_iter()
                        .flatten()
                        .for_each(|name| replace(name, namespace)),
                    "values" if selects_by_name => {
                        below
                            .as_array_mut()
                            .into_iter()
                            .flatten()
                            .for_each(|name| replace(name, namespace));
                    }
                    "cert-manager.io/inject-ca-from" => {
                        let name = below
                            .as_str()
                            .and_then(|text| text.strip_prefix(namespace)?.strip_prefix('/'));
                        if let Some(name) = name {
                            *below = format!("{}/{name}", expression(NAMESPACE)).into();
                        }
                    }
                    _ => localize_value(below, namespace),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| localize_value(item, namespace)),
        // The name of a Service in DNS.
        Value::String(text) => {
            let domain = format!(".{namespace}.svc");
            if let Some(start) = text.find(&domain)
                && !text[start + domain.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-')
            {
                *text = text.replace(&domain, &format!(".{}.svc", expression(NAMESPACE)));
            }
        }
        _ => {}
    }
}

fn replace(value: &mut Value, namespace: &str) {
    if *value == namespace {
        *value = expression(NAMESPACE).into();
    } else {
        localize_value(value, namespace);
    }
}
