//! Unaggregated discovery: one document per group and version.

use super::health;
use crate::crd::version_priority;
use crate::kinds::{Catalog, Kind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

/// Returns the paths that `/` lists.
pub(super) fn root_paths(catalog: &Catalog) -> Vec<String> {
    let mut root_paths: Vec<String> = [
        "/api",
        "/api/v1",
        "/apis",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v3",
        "/readyz",
        "/version",
    ]
    .map(str::to_owned)
    .into();
    for root in health::ENDPOINTS {
        root_paths.extend(health::CHECKS.map(|check| format!("/{root}/{check}")));
    }
    for (group, versions) in group_versions(catalog) {
        if !group.is_empty() {
            root_paths.push(format!("/apis/{group}"));
            root_paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
        }
    }
    root_paths.sort();
    root_paths
}

/// Returns the document of `/api`.
pub(super) fn api_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": address }],
    })
}

/// Returns the document of `/apis`.
pub(super) fn api_group_list(catalog: &Catalog) -> Value {
    let groups: Vec<Value> = unaggregated_group_versions(catalog)
        .iter()
        .filter(|(group, _)| !group.is_empty())
        .map(|(group, versions)| group_entry(group, versions))
        .collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// Returns the document of `/apis/GROUP`.
pub(super) fn api_group(catalog: &Catalog, name: &str) -> Option<Value> {
    let groups = group_versions(catalog);
    let (group, versions) = groups.iter().find(|(group, _)| group == name)?;
    let mut entry = group_entry(group, versions);
    entry["kind"] = json!("APIGroup");
    entry["apiVersion"] = json!("v1");
    Some(entry)
}

/// Returns the document of `/api/VERSION` or `/apis/GROUP/VERSION`.
pub(super) fn api_resource_list(catalog: &Catalog, group: &str, version: &str) -> Option<Value> {
    let kinds: Vec<&Kind> = catalog
        .group(group)
        .iter()
        .map(|kind| &**kind)
        .filter(|kind| kind.version == version)
        .collect();
    let group_version = kinds.first()?.api_version();
    let mut resources = vec![];
    for kind in kinds {
        let mut entry = json!({
            "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind,
            "verbs": kind.served_verbs(),
        });
        if !kind.short_names.is_empty() {
            entry["shortNames"] = json!(kind.short_names);
        }
        if !kind.categories.is_empty() {
            entry["categories"] = json!(kind.categories);
        }
        if kind.is_stored() {
            entry["storageVersionHash"] = json!(storage_version_hash(kind));
        }
        resources.push(entry);
        for subresource in &kind.subresources {
            let mut entry = Map::new();
            entry.insert(
                "name".into(),
                json!(format!("{}/{}", kind.plural, subresource.name)),
            );
            entry.insert("singularName".into(), json!(""));
            entry.insert("namespaced".into(), json!(kind.namespaced));
            entry.insert("kind".into(), json!(subresource.kind));
            entry.insert("verbs".into(), json!(subresource.verbs));
            if !subresource.version.is_empty()
                && (subresource.group != group || subresource.version != version)
            {
                entry.insert("group".into(), json!(subresource.group));
                entry.insert("version".into(), json!(subresource.version));
            }
            resources.push(Value::Object(entry));
        }
    }
    let mut document =
        json!({ "kind": "APIResourceList", "groupVersion": group_version, "resources": resources });
    // The document of the core group has no `apiVersion`.
    if !group.is_empty() {
        document["apiVersion"] = json!("v1");
    }
    Some(document)
}

/// Returns the storage version hash, which identifies the version in which objects are stored.
fn storage_version_hash(kind: &Kind) -> String {
    let (group, version) = match &kind.definition {
        Some(definition) => (kind.group.as_str(), definition.stored_version.as_str()),
        // Events of both groups are stored in the core version.
        None if kind.group == "events.k8s.io" => ("", "v1"),
        None => (kind.group.as_str(), kind.version.as_str()),
    };
    let text = format!("{group}/{version}/{}", kind.kind);
    STANDARD.encode(&digest(&SHA256, text.as_bytes()).as_ref()[..8])
}

fn group_entry(group: &str, versions: &[String]) -> Value {
    let version_entry =
        |version: &String| json!({ "groupVersion": format!("{group}/{version}"), "version": version });
    json!({
        "name": group, "versions": versions.iter().map(version_entry).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(version_entry),
    })
}

/// Returns the groups with their versions, in the order of aggregated discovery.
pub(super) fn group_versions(catalog: &Catalog) -> Vec<(String, Vec<String>)> {
    let group = |name: &str| {
        let kinds = catalog.group(name);
        let mut versions: Vec<String> = vec![];
        for kind in kinds {
            if !versions.contains(&kind.version) {
                versions.push(kind.version.clone());
            }
        }
        // Built-in versions are in order; several definitions may define versions of one group.
        if kinds.iter().all(|kind| kind.definition.is_some()) {
            versions.sort_by(|a, b| version_priority(b).cmp(&version_priority(a)));
        }
        (name.to_owned(), versions)
    };
    catalog.group_names().map(group).collect()
}

/// Returns the groups in the order of unaggregated discovery. kube-apiserver sorts the groups of definitions by the names of their
/// APIServices, which start with the version.
fn unaggregated_group_versions(catalog: &Catalog) -> Vec<(String, Vec<String>)> {
    let groups = group_versions(catalog).into_iter();
    let is_custom = |name: &str| catalog.group(name).iter().all(|kind| kind.definition.is_some());
    let (mut custom, mut all): (Vec<_>, Vec<_>) = groups.partition(|(group, _)| is_custom(group));
    custom.sort_by_cached_key(|(group, versions)| {
        let names = versions.iter().map(|version| format!("{version}.{group}"));
        names.min()
    });
    all.extend(custom);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_version_hashes_match_kube_apiserver() {
        let catalog = Catalog::built_in().unwrap();
        for (api_version, kind, hash) in [
            ("v1", "ConfigMap", "qFsyl6wFWjQ="),
            ("apps/v1", "Deployment", "8aSe+NMegvE="),
            ("events.k8s.io/v1", "Event", "r2yiGXH7wu8="),
        ] {
            assert_eq!(
                storage_version_hash(catalog.kind(api_version, kind).unwrap()),
                hash
            );
        }
    }
}
