//! OpenAPI documents, from which clients learn the types and the operations of the served kinds.
//!
//! Version 3 has a document per group and version: `operations` has its paths, made of `operation_names`, `operation_parts` and the
//! `parameters` of a generated table; `schemas` has its types. Version 2 has one document, which `version2` converts from those of version 3;
//! `shared_parameters` defines common parameters once. `messages` encodes documents of both versions as protobuf.
//!
//! In JSON, fields are in the order of their names, not in that of kube-openapi.

mod messages;
mod operation_names;
mod operation_parts;
mod operations;
mod parameters;
mod schemas;
mod shared_parameters;
mod version2;

use super::entity_tag::EntityTag;
use super::open_id::{CONFIGURATION, KEYS};
use crate::kinds::{Catalog, Kind};
use crate::render::{ApiResponse, accept_header, respond};
use crate::request::{AcceptedType, Query};
use http::{HeaderMap, StatusCode};
use operation_names::{document_path, group_label, id_prefix, joined, tag};
use operations::Paths;
use parking_lot::Mutex;
use schemas::{CommonTypes, Schemas};
use serde_json::{Map, Value, json};
use std::sync::Arc;

const PROTOBUF_V2: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const PROTOBUF_V3: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
const REGISTERED_V2: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const REGISTERED_V3: &str = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";

/// Returns the response to a path below `/openapi`; None if there is no such document.
pub(super) fn respond(
    catalog: &Arc<Catalog>,
    version: &str,
    path: &[&str],
    query: &Query,
    headers: &HeaderMap,
) -> Option<ApiResponse> {
    let accept = accept_header(headers);
    match path {
        ["v2"] => Some(
            match DocumentEncoding::negotiate(accept, [REGISTERED_V2, PROTOBUF_V2]) {
                Some(encoding) => EntityTag::new(catalog.revision()).respond(headers, || {
                    let (json, protobuf) = encoded_v2_document(catalog, version);
                    match encoding {
                        DocumentEncoding::Json => respond::bytes(200, "application/json", json),
                        DocumentEncoding::Protobuf => respond::bytes(200, PROTOBUF_V2, protobuf),
                    }
                }),
                None => respond::status(StatusCode::NOT_ACCEPTABLE),
            },
        ),
        // Like in kube-apiserver, the index has this content type.
        ["v3"] => Some(respond::bytes(
            200,
            "text/plain; charset=utf-8",
            v3_index(catalog).to_string(),
        )),
        ["v3", rest @ ..] => {
            let encoding = DocumentEncoding::negotiate(accept, [REGISTERED_V3, PROTOBUF_V3]);
            Some(respond_v3(catalog, version, rest, encoding, query, headers))
        }
        _ => None,
    }
}

/// Returns the response to a path below `/openapi/v3`. Without an encoding, the client accepts none.
fn respond_v3(
    catalog: &Catalog,
    version: &str,
    path: &[&str],
    encoding: Option<DocumentEncoding>,
    query: &Query,
    headers: &HeaderMap,
) -> ApiResponse {
    let respond = || {
        let Some(document) = v3_document(catalog, version, path) else {
            return respond::page_not_found();
        };
        match encoding {
            Some(DocumentEncoding::Json) => respond::bytes(200, "application/json", document.to_string()),
            Some(DocumentEncoding::Protobuf) => {
                respond::bytes(200, PROTOBUF_V3, messages::encode("v3", &document))
            }
            None => respond::status(StatusCode::NOT_ACCEPTABLE),
        }
    };
    if encoding.is_none() || !v3_paths(catalog).contains(&path.join("/")) {
        return respond();
    }
    let tag = v3_tag(catalog, path);
    match query.get("hash") {
        "" => tag.respond(headers, respond),
        hash => {
            let path = server_relative_url(&path.join("/"), &tag);
            tag.respond_to_hash(hash, headers, &path, respond)
        }
    }
}

/// Returns the tag of a document below `/openapi/v3`.
fn v3_tag(catalog: &Catalog, path: &[&str]) -> EntityTag {
    EntityTag::new(match path {
        ["api", _] => catalog.group_revision(""),
        ["apis", group, ..] => catalog.group_revision(group),
        _ => catalog.revision(),
    })
}

fn server_relative_url(path: &str, tag: &EntityTag) -> String {
    format!("/openapi/v3/{path}?hash={}", tag.hash())
}

/// The encoding of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DocumentEncoding {
    Json,
    Protobuf,
}

impl DocumentEncoding {
    /// Returns the first encoding of the Accept header. The parameters of a media type do not count.
    fn negotiate(accept: &str, protobuf: [&str; 2]) -> Option<Self> {
        let accept = if accept.is_empty() { "*/*" } else { accept };
        AcceptedType::parse_all(accept).iter().find_map(|accepted| {
            if accepted.includes("application/json") {
                Some(Self::Json)
            } else {
                let is_protobuf = protobuf.iter().any(|name| accepted.includes(name));
                is_protobuf.then_some(Self::Protobuf)
            }
        })
    }
}

/// Returns the document of `/openapi/v3`.
fn v3_index(catalog: &Catalog) -> Value {
    let paths: Map<String, Value> = v3_paths(catalog)
        .into_iter()
        .map(|path| {
            let parts: Vec<&str> = path.split('/').collect();
            let url = server_relative_url(&path, &v3_tag(catalog, &parts));
            (path, json!({ "serverRelativeURL": url }))
        })
        .collect();
    json!({ "paths": paths })
}

/// Returns the paths of the documents below `/openapi/v3`.
fn v3_paths(catalog: &Catalog) -> Vec<String> {
    let mut names: Vec<String> = ["api", "apis", "version"].map(str::to_owned).into();
    names.extend([CONFIGURATION, KEYS].map(|(path, _)| path.trim_start_matches('/').to_owned()));
    for kind in catalog.iter() {
        if kind.definition.is_none() && !kind.group.is_empty() {
            names.push(format!("apis/{}", kind.group));
        }
        names.push(document_path(kind));
    }
    names.dedup();
    names
}

/// Returns a document below `/openapi/v3`.
fn v3_document(catalog: &Catalog, version: &str, path: &[&str]) -> Option<Value> {
    let mut schemas = Schemas::default();
    if let ["apis", group, version] = path {
        let kinds = catalog.group(group);
        schemas.common_types = if kinds.iter().all(|kind| kind.definition.is_some()) {
            CommonTypes::ClientVersions
        } else {
            CommonTypes::OneVersion((*group).to_owned(), (*version).to_owned())
        };
    } else {
        schemas.common_types = CommonTypes::OneVersion(String::new(), "v1".to_owned());
    }
    let is_custom = matches!(schemas.common_types, CommonTypes::ClientVersions);
    let mut paths = Paths {
        items: Map::new(),
        schemas: &mut schemas,
    };
    let mut info = json!({ "title": "Kubernetes", "version": version });
    match path {
        ["api"] => paths.add_versions(),
        ["apis"] => paths.add_groups(),
        ["version"] => paths.add_version(),
        [".well-known", "openid-configuration"] => paths.add_open_id_configuration(),
        ["openid", "v1", "jwks"] => paths.add_open_id_keys(),
        ["apis", group] => {
            let kinds = catalog.group(group);
            kinds.iter().find(|kind| kind.definition.is_none())?;
            paths.add_group(group);
        }
        ["api", version] => add_kinds(catalog, "", version, &mut paths)?,
        ["apis", group, version] => {
            add_kinds(catalog, group, version, &mut paths)?;
        }
        _ => return None,
    }
    let items = paths.items;
    schemas.resolve();
    let mut components = json!({});
    if !schemas.named.is_empty() {
        components["schemas"] = schemas.named.into();
    }
    if is_custom {
        info = json!({ "title": "Kubernetes CRD Swagger", "version": "v0.1.0" });
    } else {
        components["securitySchemes"] = json!({ "BearerToken": bearer_token() });
    }
    Some(json!({ "openapi": "3.0.0", "info": info, "paths": items, "components": components }))
}

fn bearer_token() -> Value {
    let description = "Bearer Token authentication";
    json!({ "type": "apiKey", "description": description, "name": "authorization", "in": "header" })
}

fn add_kinds(catalog: &Catalog, group: &str, version: &str, paths: &mut Paths<'_>) -> Option<()> {
    let kinds = catalog.group(group).iter();
    let kinds: Vec<&Arc<Kind>> = kinds.filter(|kind| kind.version == version).collect();
    let first = kinds.first()?;
    if first.definition.is_none() {
        paths.add_resources(first);
    }
    for kind in kinds {
        paths.add_kind(kind);
        let definition = kind.definition.as_ref();
        if let Some(version) = definition.and_then(|definition| definition.version(&kind.version)) {
            paths.schemas.add_custom(kind, version);
        }
    }
    Some(())
}

impl Paths<'_> {
    fn add_versions(&mut self) {
        let description = "get available API versions";
        self.add_discovery(
            "/api/",
            "getCoreAPIVersions",
            description,
            ("core", "APIVersions"),
        );
    }

    fn add_groups(&mut self) {
        let description = "get available API versions";
        self.add_discovery("/apis/", "getAPIVersions", description, ("apis", "APIGroupList"));
    }

    fn add_group(&mut self, group: &str) {
        let (upper, tag) = (
            joined(group_label(group), true),
            joined(group_label(group), false),
        );
        let id = format!("get{upper}APIGroup");
        self.add_discovery(
            &format!("/apis/{group}/"),
            &id,
            "get information of a group",
            (&tag, "APIGroup"),
        );
    }

    fn add_resources(&mut self, kind: &Kind) {
        let (id, tag) = (id_prefix(kind), tag(kind));
        let path = format!("/{}/", document_path(kind));
        let id = format!("get{id}APIResources");
        self.add_discovery(&path, &id, "get available resources", (&tag, "APIResourceList"));
    }

    fn add_version(&mut self) {
        let schema = self.schemas.built_in("pkg.version.Info");
        let description = "get the version information for this server";
        self.add_document(
            ("/version/", &["application/json"]),
            "getCodeVersion",
            description,
            "version",
            &schema,
        );
    }

    fn add_open_id_configuration(&mut self) {
        let description =
            "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'";
        let id = "getServiceAccountIssuerOpenIDConfiguration";
        self.add_open_id_document(CONFIGURATION, id, description, "WellKnown");
    }

    fn add_open_id_keys(&mut self) {
        let description =
            "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)";
        let id = "getServiceAccountIssuerOpenIDKeyset";
        self.add_open_id_document(KEYS, id, description, "openid");
    }

    fn add_open_id_document(
        &mut self,
        (path, media_type): (&str, &str),
        id: &str,
        description: &str,
        tag: &str,
    ) {
        let (path, schema) = (format!("{path}/"), json!({ "type": "string" }));
        self.add_document((&path, &[media_type]), id, description, tag, &schema);
    }
}

/// Returns the document of `/openapi/v2`.
fn v2_document(catalog: &Catalog, version: &str) -> Value {
    let mut schemas = Schemas::default();
    let mut paths = Paths {
        items: Map::new(),
        schemas: &mut schemas,
    };
    paths.add_versions();
    paths.add_groups();
    paths.add_version();
    paths.add_open_id_configuration();
    paths.add_open_id_keys();
    let (mut groups, mut versions): (Vec<&str>, Vec<(&str, &str)>) = (vec![], vec![]);
    for kind in catalog.iter() {
        if !versions.contains(&(&kind.group, &kind.version)) {
            versions.push((&kind.group, &kind.version));
        }
        if kind.definition.is_none() && !kind.group.is_empty() && !groups.contains(&kind.group.as_str()) {
            groups.push(&kind.group);
        }
    }
    for group in groups {
        paths.add_group(group);
    }
    let is_custom = |(group, version): &(&str, &str)| {
        let mut kinds = catalog.group(group).iter();
        kinds.any(|kind| kind.version == *version && kind.definition.is_some())
    };
    let (custom, built_in): (Vec<_>, Vec<_>) = versions.into_iter().partition(is_custom);
    // Each version has kinds.
    for (group, version) in built_in {
        let _ = add_kinds(catalog, group, version, &mut paths);
    }
    paths.schemas.resolve();
    paths.schemas.taken = paths.schemas.named.keys().cloned().collect();
    for (group, version) in custom {
        let _ = add_kinds(catalog, group, version, &mut paths);
    }
    let items = paths.items;
    schemas.resolve();
    let mut items: Map<String, Value> = items
        .iter()
        .map(|(path, item)| (path.clone(), version2::path_item(item)))
        .collect();
    let parameters = shared_parameters::share(&mut items);
    let definitions: Map<String, Value> = schemas
        .named
        .iter()
        .map(|(name, schema)| {
            let schema = if name.starts_with("io.k8s.") && !schemas.custom.contains(name) {
                version2::schema(schema)
            } else {
                version2::custom_schema(schema)
            };
            (name.clone(), schema)
        })
        .collect();
    json!({
        "swagger": "2.0", "info": { "title": "Kubernetes", "version": version }, "paths": items, "definitions": definitions, "parameters": parameters,
        "securityDefinitions": { "BearerToken": bearer_token() }, "security": [{ "BearerToken": [] }],
    })
}

/// The newest document of version 2 with the catalog that it describes.
static V2_DOCUMENT: Mutex<Option<V2Document>> = Mutex::new(None);

struct V2Document {
    catalog: Arc<Catalog>,
    json: bytes::Bytes,
    protobuf: bytes::Bytes,
}

/// Returns the document of version 2 as JSON and as protobuf. It is made anew when the kinds changed.
fn encoded_v2_document(catalog: &Arc<Catalog>, version: &str) -> (bytes::Bytes, bytes::Bytes) {
    let mut newest = V2_DOCUMENT.lock();
    if let Some(document) = newest
        .as_ref()
        .filter(|document| Arc::ptr_eq(&document.catalog, catalog))
    {
        return (document.json.clone(), document.protobuf.clone());
    }
    let document = v2_document(catalog, version);
    let json = bytes::Bytes::from(document.to_string());
    let protobuf = bytes::Bytes::from(messages::encode("v2", &document));
    *newest = Some(V2Document {
        catalog: catalog.clone(),
        json: json.clone(),
        protobuf: protobuf.clone(),
    });
    (json, protobuf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_is_negotiated_by_quality() {
        let encoding = |accept| DocumentEncoding::negotiate(accept, [REGISTERED_V2, PROTOBUF_V2]);
        for (accept, expected) in [
            ("", Some(DocumentEncoding::Json)),
            ("*/*", Some(DocumentEncoding::Json)),
            ("application/json;as=x", Some(DocumentEncoding::Json)),
            ("text/html, application/*", Some(DocumentEncoding::Json)),
            ("application/yaml", None),
            (PROTOBUF_V3, None),
            (PROTOBUF_V2, Some(DocumentEncoding::Protobuf)),
            (
                "application/json;q=0.5,application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
                Some(DocumentEncoding::Protobuf),
            ),
        ] {
            assert_eq!(encoding(accept), expected, "{accept}");
        }
    }

    #[test]
    fn every_reference_of_a_document_has_a_definition() {
        let catalog = Catalog::built_in().unwrap();
        let document = v2_document(&catalog, "1.36");
        let text = document.to_string();
        let definitions = document["definitions"].as_object().unwrap();
        let mut count = 0;
        for part in text.split("#/definitions/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(definitions.contains_key(name), "{name}");
            count += 1;
        }
        assert!(count > 1000 && !text.contains("#/components"));
    }
}
