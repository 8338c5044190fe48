//! Aggregated discovery (`apidiscovery.k8s.io/v2`): all groups in one document.

use super::legacy::group_versions;
use crate::kinds::{Catalog, Kind, Subresource};
use crate::render::{ApiResponse, respond};
use serde_json::{Value, json};

const CONTENT_TYPE: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Whether the client accepts aggregated discovery.
pub(super) fn is_accepted(accept: &str) -> bool {
    accept.split(',').any(|clause| {
        let has_part = |subresource: &str| clause.split(';').any(|present| present.trim() == subresource);
        has_part("application/json")
            && has_part("as=APIGroupDiscoveryList")
            && has_part("g=apidiscovery.k8s.io")
            && has_part("v=v2")
    })
}

/// Returns the document of the core group, or of all other groups.
pub(super) fn document_response(catalog: &Catalog, core: bool) -> ApiResponse {
    let items: Vec<Value> = group_versions(catalog)
        .iter()
        .filter(|(group, _)| group.is_empty() == core)
        .map(|(group, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|version| version_entry(catalog, group, version))
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

fn version_entry(catalog: &Catalog, group: &str, version: &str) -> Value {
    let resources: Vec<Value> = catalog
        .group(group)
        .iter()
        .filter(|kind| kind.version == version)
        .map(|kind| resource_entry(kind))
        .collect();
    json!({ "version": version, "freshness": "Current", "resources": resources })
}

fn resource_entry(kind: &Kind) -> Value {
    let mut resource = json!({
        "resource": kind.plural, "singularResource": kind.singular, "verbs": kind.served_verbs(),
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
            .map(|subresource| subresource_entry(kind, subresource))
            .collect();
    }
    resource
}

fn subresource_entry(kind: &Kind, subresource: &Subresource) -> Value {
    let uses_own_version = subresource.version.is_empty();
    let (group, version) = if uses_own_version {
        (&kind.group, &kind.version)
    } else {
        (&subresource.group, &subresource.version)
    };
    json!({
        "subresource": subresource.name, "verbs": subresource.verbs,
        "responseKind": { "group": group, "version": version, "kind": subresource.kind },
    })
}
