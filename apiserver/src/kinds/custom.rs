//! The kinds of a CustomResourceDefinition.

use super::{Kind, Subresource};
use crate::crd::{CrdVersion, CustomResourceDefinition, names, text, version_priority};
use crate::meta::array;
use serde_json::Value;
use std::cmp::Reverse;
use std::sync::Arc;

const VERBS: &[&str] = &[
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];
const SUBRESOURCE_VERBS: &[&str] = &["get", "patch", "update"];

/// Returns one kind per served version, in order of decreasing version priority.
pub(crate) fn served_kinds(object: &Value) -> Vec<Kind> {
    let definition = Arc::new(CustomResourceDefinition::parse(object));
    let (spec, names) = (&object["spec"], names(object));
    let mut served: Vec<&CrdVersion> = definition
        .versions
        .iter()
        .filter(|version| version.served)
        .collect();
    served.sort_by_key(|version| Reverse(version_priority(&version.name)));
    let strings = |value: &Value| array(value).iter().map(text).collect();
    served
        .into_iter()
        .map(|version| Kind {
            group: text(&spec["group"]),
            version: version.name.clone(),
            kind: text(&names["kind"]),
            plural: text(&names["plural"]),
            singular: text(&names["singular"]),
            namespaced: spec["scope"] == "Namespaced",
            short_names: strings(&names["shortNames"]),
            categories: strings(&names["categories"]),
            verbs: VERBS.iter().map(|&verb| verb.to_owned()).collect(),
            subresources: subresources(version, &text(&spec["group"]), &text(&names["kind"])),
            flags: vec![],
            definition: Some(definition.clone()),
        })
        .collect()
}

fn subresources(version: &CrdVersion, group: &str, kind: &str) -> Vec<Subresource> {
    let subresource = |name: &str, group: &str, version: &str, kind: &str| Subresource {
        name: name.to_owned(),
        verbs: SUBRESOURCE_VERBS.iter().map(|&verb| verb.to_owned()).collect(),
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
    };
    let status = version
        .status
        .then(|| subresource("status", group, &version.name, kind));
    let scale = version
        .scale
        .as_ref()
        .map(|_| subresource("scale", "autoscaling", "v1", "Scale"));
    status.into_iter().chain(scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn definition_yields_one_kind_per_served_version() {
        let version = |name: &str, served: bool| {
            json!({
                "name": name, "served": served, "storage": name == "v1",
                "subresources": { "status": {}, "scale": { "specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n" } },
                "selectableFields": [{ "jsonPath": ".spec.color" }],
            })
        };
        let object = json!({ "metadata": { "name": "foos.demo.dev" }, "spec": {
            "group": "demo.dev", "scope": "Namespaced",
            "names": { "kind": "Foo", "plural": "foos", "singular": "foo", "shortNames": ["f"] },
            "versions": [version("v1", true), version("v2", true), version("v3", false)],
        }});
        let kinds = served_kinds(&object);
        let versions: Vec<&str> = kinds.iter().map(|kind| kind.version.as_str()).collect();
        assert_eq!(versions, ["v2", "v1"]);
        let definition = kinds[0].definition.as_ref().unwrap();
        assert_eq!(
            (definition.stored_version.as_str(), definition.list_kind.as_str()),
            ("v1", "FooList")
        );
        assert_eq!(definition.selectable("v1"), ["spec.color"]);
        assert!(kinds[0].has_status() && kinds[0].subresource("scale").is_some());
        assert!(!definition.terminating);
        let mut terminating = object;
        crate::crd::mark_terminating(&mut terminating);
        assert!(CustomResourceDefinition::parse(&terminating).terminating);
    }
}
