//! Whether an informer's namespaces, label selector and field selector select an object.
//!
//! The API server decides this for lists and watches. The cache has to decide it itself for an object that was just written (does an
//! informer's watch deliver it?) and for an object that a test seeds.

use serde_json::Value;

use super::{InformerOptions, fifo::Namespace, label_selector::LabelRequirements};

/// Whether an informer with these options lists the object; `namespaces` are those that it watches, none for all.
///
/// A selector that does not parse selects nothing.
pub(super) fn matches(options: &InformerOptions, namespaces: &[Namespace], object: &Value) -> bool {
    let namespace = object["metadata"]["namespace"].as_str();
    let in_namespace = namespaces
        .iter()
        .any(|wanted| wanted.is_none() || wanted.as_deref() == namespace);
    let labels = options.label_selector.as_deref().unwrap_or_default();
    let fields = options.field_selector.as_deref().unwrap_or_default();
    in_namespace && labels_match(labels, object) && fields_match(fields, object)
}

fn labels_match(selector: &str, object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    LabelRequirements::parse(selector)
        .is_some_and(|requirements| requirements.matches(|key| labels[key].as_str()))
}

/// Matches a field selector such as `metadata.name=a,spec.nodeName!=b`. An absent field counts as empty, as on API servers.
fn fields_match(selector: &str, object: &Value) -> bool {
    selector
        .split(',')
        .filter(|term| !term.trim().is_empty())
        .all(|term| {
            let (path, expected, equal) = match term.split_once("!=") {
                Some((path, expected)) => (path, expected, false),
                None => match term.split_once("==").or_else(|| term.split_once('=')) {
                    Some((path, expected)) => (path, expected, true),
                    None => return false,
                },
            };
            let field = path.trim().split('.').fold(object, |value, key| &value[key]);
            let found = match field {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            (found == expected.trim()) == equal
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn object_is_selected_if_namespace_labels_and_fields_match() {
        let pod = json!({
            "metadata": {"name": "a", "namespace": "shop", "labels": {"app": "web"}},
            "spec": {"nodeName": "n1", "hostNetwork": true},
        });
        let everywhere = [None];
        let two = [Some("shop".into()), Some("other".into())];
        let elsewhere = [Some("other".into())];
        for (labels, fields, namespaces, expected) in [
            (None, None, &everywhere[..], true),
            (None, None, &two, true),
            (None, None, &elsewhere, false),
            (
                Some("app=web,!old"),
                Some("spec.nodeName=n1,metadata.name!=b"),
                &two,
                true,
            ),
            (Some("app=db"), None, &everywhere, false),
            (None, Some("spec.nodeName=n2"), &everywhere, false),
            (
                None,
                Some("status.phase=,spec.hostNetwork==true"),
                &everywhere,
                true,
            ),
            (None, Some("nonsense"), &everywhere, false),
            (Some("a b"), None, &everywhere, false),
        ] {
            let options = InformerOptions {
                namespaces: None,
                label_selector: labels.map(Into::into),
                field_selector: fields.map(Into::into),
                ..InformerOptions::default()
            };
            assert_eq!(
                matches(&options, namespaces, &pod),
                expected,
                "{labels:?} {fields:?}"
            );
        }
    }
}
