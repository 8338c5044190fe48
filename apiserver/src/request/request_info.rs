//! The attributes of a request, parsed from method and path.

use super::query::Query;
use crate::selectors::FieldSelector;

/// The attributes of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestInfo {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; the lower-case method for a non-resource path.
    pub verb: String,
    /// Whether the request addresses a resource.
    pub is_resource: bool,
    /// The path, without the query.
    pub path: String,
    /// The API group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The namespace; empty for all namespaces and for cluster-scoped resources.
    pub namespace: String,
    /// The resource, such as `pods`.
    pub resource: String,
    /// The name; empty for a collection.
    pub name: String,
    /// The subresource, such as `status`.
    pub subresource: String,
    /// The path segments after the subresource.
    pub rest: Vec<String>,
    /// Whether the path is one of the deprecated watch paths, such as `/api/v1/watch/pods`.
    pub is_watch_path: bool,
}

/// Verbs with which the paths of resources may begin. No path with `proxy` is served.
const VERBS_IN_PATHS: [&str; 2] = ["proxy", "watch"];

impl RequestInfo {
    /// Whether a path of resources ends with a verb.
    pub(crate) fn is_incomplete(path: &str) -> bool {
        let decoded = super::query::decode_path(path);
        let parts: Vec<&str> = decoded.trim_matches('/').split('/').collect();
        match parts.as_slice() {
            ["api", _, verb] | ["apis", _, _, verb] => VERBS_IN_PATHS.contains(verb),
            _ => false,
        }
    }

    /// Parses a request. `path` is still percent-encoded.
    pub fn new(method: &http::Method, path: &str, query: &Query) -> Self {
        let mut info = Self {
            verb: method.as_str().to_lowercase(),
            path: path.to_owned(),
            ..Self::default()
        };
        // An escaped slash separates segments, too.
        let decoded = super::query::decode_path(path);
        let decoded: Vec<String> = decoded.trim_matches('/').split('/').map(str::to_owned).collect();
        let mut parts = decoded.as_slice();
        match parts {
            [api, version, rest @ ..] if api == "api" && !rest.is_empty() => {
                info.version.clone_from(version);
                parts = rest;
            }
            [apis, group, version, rest @ ..] if apis == "apis" && !rest.is_empty() => {
                info.group.clone_from(group);
                info.version.clone_from(version);
                parts = rest;
            }
            _ => return info,
        }
        info.is_resource = true;
        verb_for_method(method.as_str()).clone_into(&mut info.verb);
        if let [verb, rest @ ..] = parts
            && VERBS_IN_PATHS.contains(&verb.as_str())
            && !rest.is_empty()
        {
            // Whatever the method.
            info.verb.clone_from(verb);
            info.is_watch_path = verb == "watch";
            parts = rest;
        }
        if let [namespaces, namespace, rest @ ..] = parts
            && namespaces == "namespaces"
        {
            info.namespace.clone_from(namespace);
            if let [next, ..] = rest
                && !matches!(next.as_str(), "status" | "finalize")
            {
                parts = rest;
            }
        }
        let mut parts = parts.iter().cloned();
        info.resource = parts.next().unwrap_or_default();
        info.name = parts.next().unwrap_or_default();
        info.subresource = parts.next().unwrap_or_default();
        info.rest = parts.collect();
        if info.name.is_empty() {
            info.set_collection_verb(query);
        }
        info
    }

    /// Without a name, get means list or watch, and delete means deletecollection.
    fn set_collection_verb(&mut self, query: &Query) {
        match self.verb.as_str() {
            "get" => {
                let verb = if query.flag("watch") { "watch" } else { "list" };
                verb.clone_into(&mut self.verb);
                // A field selector on metadata.name is authorized like a name in the path.
                let selector = FieldSelector::parse(query.get("fieldSelector")).unwrap_or_default();
                if let Some(name) = selector.exact_value("metadata.name") {
                    name.clone_into(&mut self.name);
                }
            }
            "delete" => "deletecollection".clone_into(&mut self.verb),
            _ => {}
        }
    }
}

fn verb_for_method(method: &str) -> &'static str {
    match method {
        "POST" => "create",
        "GET" | "HEAD" => "get",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    fn info(method: &Method, uri: &str) -> RequestInfo {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        RequestInfo::new(method, path, &Query::parse(query))
    }

    fn read(method: &Method, uri: &str) -> String {
        let info = info(method, uri);
        let RequestInfo {
            verb,
            group,
            version,
            namespace,
            resource,
            name,
            subresource,
            ..
        } = info;
        format!("{verb} {group}/{version} {namespace} {resource} {name} {subresource}")
    }

    #[test]
    fn verb_and_attributes_are_parsed_from_paths() {
        for (method, uri, expected) in [
            (Method::GET, "/api/v1/pods", "list /v1  pods  "),
            (Method::GET, "/api/v1/pods?watch=1", "watch /v1  pods  "),
            (Method::GET, "/api/v1/namespaces", "list /v1  namespaces  "),
            (Method::GET, "/api/v1/namespaces/a", "get /v1 a namespaces a "),
            (
                Method::PUT,
                "/api/v1/namespaces/a/finalize",
                "update /v1 a namespaces a finalize",
            ),
            (Method::POST, "/api/v1/namespaces/a/pods", "create /v1 a pods  "),
            (
                Method::PATCH,
                "/apis/apps/v1/namespaces/a/deployments/d/scale",
                "patch apps/v1 a deployments d scale",
            ),
            (
                Method::DELETE,
                "/apis/apps/v1/namespaces/a/deployments",
                "deletecollection apps/v1 a deployments  ",
            ),
            (
                Method::GET,
                "/api/v1/watch/namespaces/a/pods",
                "watch /v1 a pods  ",
            ),
            (
                Method::DELETE,
                "/api/v1/watch/namespaces/a/pods",
                "watch /v1 a pods  ",
            ),
            (
                Method::GET,
                "/api/v1/pods?fieldSelector=metadata.name%3Dx",
                "list /v1  pods x ",
            ),
        ] {
            assert_eq!(read(&method, uri), expected, "{uri}");
        }
        for uri in [
            "/",
            "/api",
            "/api/v1",
            "/apis/apps",
            "/apis/apps/v1",
            "/healthz",
            "/apis",
        ] {
            assert!(!info(&Method::GET, uri).is_resource, "{uri}");
        }
    }
}
