//! [`Request`]: the verb, resource, name and body of a request, for comparison in tests.

use std::{collections::BTreeMap, fmt};

use serde::Serialize;
use serde_json::Value;

use crate::{ApiResource, Kind, NamespacedName, client::PatchBody};

/// A request that was sent, or that a test expects.
///
/// Equality compares verb, resource, subresource, namespace, name and body, but not the [`query`](Self::query).
#[derive(Clone, Debug)]
pub struct Request {
    /// `get`, `list`, `create`, `update`, `patch`, `apply` or `delete`.
    pub verb: &'static str,
    /// The resource with its group: `deployments.apps`.
    pub resource: String,
    /// The subresource, such as `status` or `scale`; none for the object itself.
    pub subresource: Option<String>,
    /// The namespace; none for cluster-scoped kinds and for lists of all namespaces.
    pub namespace: Option<String>,
    /// The object's name; none for lists and with `generateName`.
    pub name: Option<String>,
    /// The body; null without one.
    pub body: Value,
    /// The query parameters: `fieldManager`, `force` and so on.
    pub query: BTreeMap<String, String>,
}

impl PartialEq for Request {
    fn eq(&self, other: &Self) -> bool {
        self.head() == other.head() && self.body == other.body
    }
}

/// Displays as `create deployments.apps default/web`, without the body.
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if let Some(subresource) = &self.subresource {
            write!(f, "/{subresource}")?;
        }
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => write!(f, " {namespace}/{name}"),
            (Some(part), None) | (None, Some(part)) => write!(f, " {part}"),
            (None, None) => Ok(()),
        }
    }
}

impl Request {
    /// Returns the expected `create` of an object.
    pub fn create<K: Kind + kube::Resource + Serialize>(object: &K) -> Self {
        Self::of_object("create", None, object)
    }

    /// Returns the expected `update` of an object.
    pub fn update<K: Kind + kube::Resource + Serialize>(object: &K) -> Self {
        Self::of_object("update", None, object)
    }

    /// Returns the expected `update` of an object's status.
    pub fn update_status<K: Kind + kube::Resource + Serialize>(object: &K) -> Self {
        Self::of_object("update", Some("status"), object)
    }

    /// Returns the expected `apply` of an object; `apiVersion` and `kind` are added.
    pub fn apply<K: Kind>(object: &impl Serialize) -> Self {
        Self::of_applied::<K>(None, object)
    }

    /// Returns the expected `apply` of a status.
    pub fn apply_status<K: Kind>(object: &impl Serialize) -> Self {
        Self::of_applied::<K>(Some("status"), object)
    }

    /// Returns the expected `patch` of an object.
    pub fn patch<K: Kind>(name: &NamespacedName, patch: &PatchBody<impl Serialize>) -> Self {
        Self::named::<K>("patch", None, name, json(patch.value()))
    }

    /// Returns the expected `patch` of a status.
    pub fn patch_status<K: Kind>(name: &NamespacedName, patch: &PatchBody<impl Serialize>) -> Self {
        Self::named::<K>("patch", Some("status"), name, json(patch.value()))
    }

    /// Returns the expected `delete` of an object, without options.
    pub fn delete<K: Kind>(name: &NamespacedName) -> Self {
        Self::named::<K>("delete", None, name, Value::Object(serde_json::Map::new()))
    }

    /// Returns the expected `get` of an object.
    pub fn get<K: Kind>(name: &NamespacedName) -> Self {
        Self::named::<K>("get", None, name, Value::Null)
    }

    /// Replaces the body.
    pub fn with_body(self, body: &impl Serialize) -> Self {
        Self {
            body: json(body),
            ..self
        }
    }

    /// Returns the name of the object, if the request has one.
    pub fn namespaced_name(&self) -> Option<NamespacedName> {
        let name = self.name.as_deref()?;
        Some(NamespacedName::in_scope(self.namespace.as_deref(), name))
    }

    fn head(&self) -> impl PartialEq {
        (
            self.verb,
            self.resource.clone(),
            self.subresource.clone(),
            self.namespace.clone(),
            self.name.clone(),
        )
    }

    fn of_object<K: Kind + kube::Resource + Serialize>(
        verb: &'static str,
        subresource: Option<&str>,
        object: &K,
    ) -> Self {
        let meta = object.meta();
        let mut request = Self::new(verb, &K::info(), subresource, json(object));
        request.namespace.clone_from(&meta.namespace);
        request.name.clone_from(&meta.name);
        request
    }

    fn of_applied<K: Kind>(subresource: Option<&str>, object: &impl Serialize) -> Self {
        let info = K::info();
        let body = with_type_meta(&info, json(object));
        let text = |key: &str| body["metadata"][key].as_str().map(str::to_owned);
        let (namespace, name) = (text("namespace"), text("name"));
        Self {
            namespace,
            name,
            ..Self::new("apply", &info, subresource, body)
        }
    }

    fn named<K: Kind>(
        verb: &'static str,
        subresource: Option<&str>,
        name: &NamespacedName,
        body: Value,
    ) -> Self {
        Self {
            namespace: name.namespace().map(str::to_owned),
            name: Some(name.name().to_owned()),
            ..Self::new(verb, &K::info(), subresource, body)
        }
    }

    fn new(verb: &'static str, info: &ApiResource, subresource: Option<&str>, body: Value) -> Self {
        Self {
            verb,
            resource: info.group_resource(),
            subresource: subresource.map(str::to_owned),
            namespace: None,
            name: None,
            body,
            query: BTreeMap::new(),
        }
    }

    /// Parses an HTTP request; none if the path or method is not that of an API resource.
    pub(super) fn parse(parts: &http::request::Parts, body: &[u8]) -> Option<Self> {
        let mut path = parts.uri.path().trim_matches('/').split('/');
        let group = match path.next()? {
            "api" => "",
            "apis" => path.next()?,
            _ => return None,
        };
        path.next()?;
        let mut rest: Vec<&str> = path.collect();
        let mut namespace = None;
        // `namespaces/x/status` is the status of a namespace, not a resource called `status`.
        if rest.len() > 2 && rest[0] == "namespaces" && !matches!(rest[2], "status" | "finalize") {
            namespace = Some(rest[1].to_owned());
            rest.drain(..2);
        }
        let (plural, name, subresource) = (*rest.first()?, rest.get(1), rest.get(2));
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let content_type = parts.headers.get(http::header::CONTENT_TYPE);
        let applies =
            content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/apply-patch"));
        let verb = match (parts.method.as_str(), name) {
            ("GET", Some(_)) => "get",
            ("GET", None) => "list",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) if applies => "apply",
            ("PATCH", _) => "patch",
            ("DELETE", Some(_)) => "delete",
            _ => return None,
        };
        let named = name.map(|name| (*name).to_owned());
        Some(Self {
            verb,
            resource: if group.is_empty() {
                plural.to_owned()
            } else {
                format!("{plural}.{group}")
            },
            subresource: subresource.map(|name| (*name).to_owned()),
            namespace,
            name: named.or_else(|| body["metadata"]["name"].as_str().map(str::to_owned)),
            body,
            query: parse_query(parts.uri.query().unwrap_or_default()),
        })
    }
}

/// Adds `apiVersion` and `kind` to an object that lacks them.
pub(super) fn with_type_meta(info: &ApiResource, mut object: Value) -> Value {
    if let Value::Object(members) = &mut object {
        members
            .entry("apiVersion")
            .or_insert_with(|| info.api_version().into());
        members.entry("kind").or_insert_with(|| info.kind.as_ref().into());
    }
    object
}

/// Serialises a test's object to JSON. Panics if that fails, because the test is wrong.
pub(super) fn json(object: &impl Serialize) -> Value {
    match serde_json::to_value(object) {
        Ok(value) => value,
        Err(error) => panic!("serialising the test's object to JSON failed: {error}"),
    }
}

fn parse_query(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(key, value)| (key.to_owned(), percent_decode(value)))
        .collect()
}

/// Decodes a percent-encoded query value.
fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = match (first, tail) {
            (b'%', [high, low, ..]) => std::str::from_utf8(&[*high, *low])
                .ok()
                .and_then(|hex| u8::from_str_radix(hex, 16).ok()),
            _ => None,
        };
        bytes.push(code.unwrap_or(if *first == b'+' { b' ' } else { *first }));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
