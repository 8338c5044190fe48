//! Aggregated discovery (`apidiscovery.k8s.io/v2`): all groups in one document.

use super::extensions::Extensions;
use super::legacy::group_versions;
use crate::kinds::{Catalog, Kind, Subresource};
use crate::protobuf;
use crate::render::{ApiResponse, Encoding, JSON, PROTOBUF, YAML, respond};
use crate::request::AcceptedType;
use crate::yaml;
use serde::Serialize;

/// Returns the first encoding in which the client accepts aggregated discovery, wherever it stands in the header.
pub(super) fn negotiate(accept: &str, pretty: bool) -> Option<Encoding> {
    let json = if pretty {
        Encoding::PrettyJson
    } else {
        Encoding::Json
    };
    AcceptedType::parse_all(accept).iter().find_map(|accepted| {
        let kind = ["g", "v", "as"].map(|name| accepted.parameter(name));
        let encodings = [
            (JSON, json),
            (YAML, Encoding::Yaml),
            (PROTOBUF, Encoding::Protobuf),
        ];
        let encoding = encodings
            .into_iter()
            .find(|(media_type, _)| accepted.includes(media_type));
        encoding
            .filter(|_| kind == ["apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"])
            .map(|(_, encoding)| encoding)
    })
}

/// A list of groups.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupDiscoveryList<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Empty,
    items: Vec<GroupDiscovery<'a>>,
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct GroupDiscovery<'a> {
    metadata: GroupMetadata,
    versions: Vec<VersionDiscovery<'a>>,
}

#[derive(Serialize)]
struct GroupMetadata {
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
}

#[derive(Serialize)]
struct VersionDiscovery<'a> {
    version: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resources: Vec<ResourceDiscovery<'a>>,
    freshness: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceDiscovery<'a> {
    resource: &'a str,
    response_kind: ResponseKind<'a>,
    scope: &'static str,
    singular_resource: &'a str,
    verbs: Vec<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    short_names: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    categories: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subresources: Vec<SubresourceDiscovery<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SubresourceDiscovery<'a> {
    subresource: &'a str,
    response_kind: ResponseKind<'a>,
    verbs: &'a [String],
}

/// The kind of responses. kube-apiserver leaves group and version of built-in kinds empty where they are those of the document.
#[derive(Serialize)]
struct ResponseKind<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

/// Returns the document of the core group, or of all other groups.
pub(super) fn document_response(
    catalog: &Catalog,
    extensions: &Extensions,
    core: bool,
    encoding: Encoding,
) -> ApiResponse {
    let mut groups = group_versions(catalog);
    groups.retain(|(group, _)| group.is_empty() == core);
    extensions.add_to(&mut groups);
    let version_entry = |group: &str, version: String| {
        if extensions.has(group, &version) {
            stale_version(version)
        } else {
            version_entry(catalog, group, version)
        }
    };
    let mut items: Vec<_> = groups
        .into_iter()
        .map(|(group, versions)| GroupDiscovery {
            versions: versions
                .into_iter()
                .map(|version| version_entry(&group, version))
                .collect(),
            metadata: GroupMetadata { name: group },
        })
        .collect();
    extensions.sort_by_name(&mut items, |group| &group.metadata.name);
    let document = GroupDiscoveryList {
        kind: "APIGroupDiscoveryList",
        api_version: "apidiscovery.k8s.io/v2",
        metadata: Empty {},
        items,
    };
    // Serialization of these types cannot fail.
    let value = || serde_json::to_value(&document).unwrap_or_default();
    let (content_type, bytes) = match encoding {
        Encoding::Yaml => (
            "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            yaml::write(&value()).into_bytes(),
        ),
        Encoding::Protobuf => (
            "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            protobuf::encode(&value()).unwrap_or_default(),
        ),
        Encoding::Json | Encoding::PrettyJson => (
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            respond::document_json(&document, encoding == Encoding::PrettyJson),
        ),
    };
    respond::bytes(200, content_type, bytes)
}

/// The version of an extension server, which is not available.
fn stale_version<'a>(version: String) -> VersionDiscovery<'a> {
    VersionDiscovery {
        version,
        resources: vec![],
        freshness: "Stale",
    }
}

fn version_entry<'a>(catalog: &'a Catalog, group: &str, version: String) -> VersionDiscovery<'a> {
    let resources = catalog
        .group(group)
        .iter()
        .filter(|kind| kind.version == version)
        .map(|kind| resource_entry(kind))
        .collect();
    VersionDiscovery {
        version,
        resources,
        freshness: "Current",
    }
}

fn resource_entry(kind: &Kind) -> ResourceDiscovery<'_> {
    ResourceDiscovery {
        resource: &kind.plural,
        response_kind: own_kind(kind, &kind.kind),
        scope: if kind.namespaced { "Namespaced" } else { "Cluster" },
        singular_resource: &kind.singular,
        verbs: kind.served_verbs(),
        short_names: &kind.short_names,
        categories: &kind.categories,
        subresources: kind
            .subresources
            .iter()
            .map(|subresource| subresource_entry(kind, subresource))
            .collect(),
    }
}

fn own_kind<'a>(of: &'a Kind, kind: &'a str) -> ResponseKind<'a> {
    if of.definition.is_none() {
        return ResponseKind {
            group: "",
            version: "",
            kind,
        };
    }
    ResponseKind {
        group: &of.group,
        version: &of.version,
        kind,
    }
}

fn subresource_entry<'a>(kind: &'a Kind, subresource: &'a Subresource) -> SubresourceDiscovery<'a> {
    let is_own = subresource.version.is_empty()
        || subresource.group == kind.group && subresource.version == kind.version;
    let response_kind = if is_own {
        own_kind(kind, &subresource.kind)
    } else {
        ResponseKind {
            group: &subresource.group,
            version: &subresource.version,
            kind: &subresource.kind,
        }
    };
    SubresourceDiscovery {
        subresource: &subresource.name,
        response_kind,
        verbs: &subresource.verbs,
    }
}
