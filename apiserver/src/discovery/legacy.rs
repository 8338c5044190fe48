//! Unaggregated discovery: one document per group and version.

use super::extensions::Extensions;
use super::{health, open_id};
use crate::crd::version_priority;
use crate::kinds::{Catalog, Kind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use serde::Serialize;

/// Returns the paths that `/` lists.
pub(super) fn root_paths(catalog: &Catalog) -> Vec<String> {
    let mut root_paths: Vec<String> = [
        open_id::CONFIGURATION.0,
        "/api",
        "/api/v1",
        "/apis",
        "/healthz",
        "/livez",
        "/metrics",
        "/metrics/slis",
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/",
        open_id::KEYS.0,
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

/// The document of `/api`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApiVersions {
    kind: &'static str,
    versions: [&'static str; 1],
    #[serde(rename = "serverAddressByClientCIDRs")]
    server_addresses: [ServerAddress; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerAddress {
    #[serde(rename = "clientCIDR")]
    client_cidr: &'static str,
    server_address: String,
}

/// The document of `/apis`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApiGroupList {
    kind: &'static str,
    api_version: &'static str,
    groups: Vec<ApiGroup>,
}

/// The document of `/apis/GROUP`, and an item of `/apis`, which has no kind.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApiGroup {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    name: String,
    versions: Vec<GroupVersion>,
    preferred_version: Option<GroupVersion>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupVersion {
    group_version: String,
    version: String,
}

/// The document of `/api/VERSION` or `/apis/GROUP/VERSION`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApiResourceList {
    kind: &'static str,
    /// The document of the core group has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    group_version: String,
    resources: Vec<ApiResource>,
}

/// A resource or subresource.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiResource {
    name: String,
    singular_name: String,
    namespaced: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    version: String,
    kind: String,
    verbs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    short_names: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    categories: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    storage_version_hash: Option<String>,
}

/// Returns the document of `/api`.
pub(super) fn api_versions(address: &str) -> ApiVersions {
    ApiVersions {
        kind: "APIVersions",
        versions: ["v1"],
        server_addresses: [ServerAddress {
            client_cidr: "0.0.0.0/0",
            server_address: address.to_owned(),
        }],
    }
}

/// Returns the document of `/apis`.
pub(super) fn api_group_list(catalog: &Catalog, extensions: &Extensions) -> ApiGroupList {
    let mut groups = unaggregated_group_versions(catalog);
    extensions.add_to(&mut groups);
    extensions.sort_by_api_service(&mut groups, |(group, _)| group);
    ApiGroupList {
        kind: "APIGroupList",
        api_version: "v1",
        groups: groups
            .into_iter()
            .filter(|(group, _)| !group.is_empty())
            .map(|(group, versions)| group_entry(group, versions))
            .collect(),
    }
}

/// Returns the document of `/apis/GROUP`.
pub(super) fn api_group(catalog: &Catalog, extensions: &Extensions, name: &str) -> Option<ApiGroup> {
    let mut groups = group_versions(catalog);
    extensions.add_to(&mut groups);
    let (group, versions) = groups.into_iter().find(|(group, _)| group == name)?;
    Some(ApiGroup {
        kind: Some("APIGroup"),
        api_version: Some("v1"),
        ..group_entry(group, versions)
    })
}

/// Returns the document of `/api/VERSION` or `/apis/GROUP/VERSION`.
pub(super) fn api_resource_list(catalog: &Catalog, group: &str, version: &str) -> Option<ApiResourceList> {
    let kinds: Vec<&Kind> = catalog
        .group(group)
        .iter()
        .map(|kind| &**kind)
        .filter(|kind| kind.version == version)
        .collect();
    let group_version = kinds.first()?.api_version();
    let mut resources = vec![];
    for kind in kinds {
        resources.push(ApiResource {
            name: kind.plural.clone(),
            singular_name: kind.singular.clone(),
            namespaced: kind.namespaced,
            kind: kind.kind.clone(),
            verbs: kind.served_verbs().into_iter().map(str::to_owned).collect(),
            short_names: kind.short_names.clone(),
            categories: kind.categories.clone(),
            storage_version_hash: kind.is_stored().then(|| storage_version_hash(kind)),
            ..ApiResource::default()
        });
        for subresource in &kind.subresources {
            let is_own = subresource.version.is_empty()
                || subresource.group == group && subresource.version == version;
            let shown = |text: &String| if is_own { String::new() } else { text.clone() };
            resources.push(ApiResource {
                name: format!("{}/{}", kind.plural, subresource.name),
                namespaced: kind.namespaced,
                group: shown(&subresource.group),
                version: shown(&subresource.version),
                kind: subresource.kind.clone(),
                verbs: subresource.verbs.clone(),
                ..ApiResource::default()
            });
        }
    }
    Some(ApiResourceList {
        kind: "APIResourceList",
        api_version: (!group.is_empty()).then_some("v1"),
        group_version,
        resources,
    })
}

/// Returns the storage version hash, which identifies the version in which objects are stored.
fn storage_version_hash(kind: &Kind) -> String {
    let (group, version) = match &kind.definition {
        Some(definition) => (kind.group.as_str(), definition.stored_version.as_str()),
        // Events of both groups are stored in the core version, autoscalers of both versions in the newer one.
        None if kind.group == "events.k8s.io" => ("", "v1"),
        None if kind.group == "autoscaling" => ("autoscaling", "v2"),
        // kube-apiserver still stores these in a version that it does not serve by default.
        None if kind.kind == "CustomResourceDefinition"
            || kind.kind.starts_with("MutatingAdmissionPolicy") =>
        {
            (kind.group.as_str(), "v1beta1")
        }
        None => (kind.group.as_str(), kind.version.as_str()),
    };
    let text = format!("{group}/{version}/{}", kind.kind);
    STANDARD.encode(&digest(&SHA256, text.as_bytes()).as_ref()[..8])
}

fn group_entry(group: String, versions: Vec<String>) -> ApiGroup {
    let versions: Vec<GroupVersion> = versions
        .into_iter()
        .map(|version| GroupVersion {
            group_version: format!("{group}/{version}"),
            version,
        })
        .collect();
    ApiGroup {
        kind: None,
        api_version: None,
        name: group,
        preferred_version: versions.first().cloned(),
        versions,
    }
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
            (
                "admissionregistration.k8s.io/v1",
                "MutatingAdmissionPolicy",
                "LYmCf+UMVdg=",
            ),
            (
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                "jfWCUB31mvA=",
            ),
            ("autoscaling/v1", "HorizontalPodAutoscaler", "qwQve8ut294="),
            ("events.k8s.io/v1", "Event", "r2yiGXH7wu8="),
        ] {
            assert_eq!(
                storage_version_hash(catalog.kind(api_version, kind).unwrap()),
                hash
            );
        }
    }

    #[test]
    fn documents_have_the_field_order_of_go() {
        let catalog = Catalog::built_in().unwrap();
        let text = serde_json::to_string(&api_resource_list(&catalog, "", "v1")).unwrap();
        let pods = r#"{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["create","delete","deletecollection","get","list","patch","update","watch"],"shortNames":["po"],"categories":["all"],"storageVersionHash":"xPOwRZ+Yhw8="},{"name":"pods/attach","#;
        assert!(
            text.starts_with(
                r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"bindings","#
            ) && text.contains(pods),
            "{text}"
        );
        let text = serde_json::to_string(&api_group(&catalog, &Extensions::default(), "apps")).unwrap();
        let version = r#"{"groupVersion":"apps/v1","version":"v1"}"#;
        assert_eq!(
            text,
            format!(
                r#"{{"kind":"APIGroup","apiVersion":"v1","name":"apps","versions":[{version}],"preferredVersion":{version}}}"#
            )
        );
    }
}
