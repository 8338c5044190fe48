//! Discovery in one document.

use super::legacy::group_versions;
use crate::http::{ApiResponse, respond};
use crate::kinds::{Catalog, Kind, Subresource};
use serde_json::{Value, json};

const CONTENT_TYPE: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Whether a client takes it.
pub(super) fn wanted(accept: &str) -> bool {
    accept.split(',').any(|clause| {
        let has = |part: &str| clause.split(';').any(|present| present.trim() == part);
        has("application/json")
            && has("as=APIGroupDiscoveryList")
            && has("g=apidiscovery.k8s.io")
            && has("v=v2")
    })
}

/// The core group, or the others.
pub(super) fn answer(catalog: &Catalog, core: bool) -> ApiResponse {
    let items: Vec<Value> = group_versions(catalog)
        .iter()
        .filter(|(group, _)| group.is_empty() == core)
        .map(|(group, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|version| of_version(catalog, group, version))
                .collect();
            let metadata = if group.is_empty() {
                json!({})
            } else {
                json!({ "name": group })
            };
            json!({ "metadata": metadata, "versions": versions })
        })
        .collect();
    let document = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    respond::bytes(200, CONTENT_TYPE, document.to_string())
}

fn of_version(catalog: &Catalog, group: &str, version: &str) -> Value {
    let resources: Vec<Value> = catalog
        .iter()
        .filter(|kind| kind.group == group && kind.version == version)
        .map(|kind| resource(kind))
        .collect();
    json!({ "version": version, "freshness": "Current", "resources": resources })
}

fn resource(kind: &Kind) -> Value {
    let mut resource = json!({
        "resource": kind.plural, "singularResource": kind.singular, "verbs": kind.verbs,
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "responseKind": { "group": kind.group, "version": kind.version, "kind": kind.kind },
    });
    if !kind.short_names.is_empty() {
        resource["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        resource["categories"] = json!(kind.categories);
    }
    if !kind.subresources.is_empty() {
        resource["subresources"] = kind
            .subresources
            .iter()
            .map(|part| subresource(kind, part))
            .collect();
    }
    resource
}

fn subresource(kind: &Kind, part: &Subresource) -> Value {
    let own = part.version.is_empty();
    let (group, version) = if own {
        (&kind.group, &kind.version)
    } else {
        (&part.group, &part.version)
    };
    json!({
        "subresource": part.name, "verbs": part.verbs,
        "responseKind": { "group": group, "version": version, "kind": part.kind },
    })
}
