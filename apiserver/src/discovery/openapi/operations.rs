//! The operations of OpenAPI version 3: paths with their operations, derived from the kinds.

use super::operation_names::{article, capitalized, document_path, id_prefix, tag};
use super::operation_parts::{
    ANY_TYPE, CUSTOM_TYPES, DELETE_OPTIONS, DELETE_PARAMETERS, LIST_PARAMETERS, LIST_TYPES, LOG_TYPES,
    OBJECT_TYPES, PATCH_PARAMETERS, PATCH_TYPES, WRITE_PARAMETERS, body, body_types, object_types, response,
    with_pretty,
};
use super::parameters::{self, GENERAL, PATCH};
use super::schemas::Schemas;
use crate::kinds::{Kind, Subresource};
use serde_json::{Map, Value, json};

/// An operation of a path.
struct ApiOperation {
    method: &'static str,
    action: &'static str,
    /// The parts of the operation id around group and version: `read` and `NamespacedPod`.
    id: (&'static str, String),
    description: String,
    parameters: Vec<Value>,
    body: Option<Value>,
    /// The status codes besides 401, with one schema.
    codes: &'static [u16],
    schema: Value,
    content_types: &'static [&'static str],
}

/// Collects the paths of kinds.
pub(super) struct Paths<'a> {
    pub(super) items: Map<String, Value>,
    pub(super) schemas: &'a mut Schemas,
}

impl Paths<'_> {
    /// Adds the path of a discovery document, such as `/api/v1/`.
    pub(super) fn add_discovery(
        &mut self,
        path: &str,
        id: &str,
        description: &str,
        (tag, schema): (&str, &str),
    ) {
        let schema = self.schemas.built_in(&format!("meta.v1.{schema}"));
        self.add_document((path, OBJECT_TYPES), id, description, tag, &schema);
    }

    /// Adds a document of the server with its path and media types.
    pub(super) fn add_document(
        &mut self,
        (path, media_types): (&str, &[&str]),
        id: &str,
        description: &str,
        tag: &str,
        schema: &Value,
    ) {
        let responses =
            json!({ "200": response(200, media_types, schema), "401": { "description": "Unauthorized" } });
        let operation =
            json!({ "description": description, "operationId": id, "tags": [tag], "responses": responses });
        self.items.insert(path.to_owned(), json!({ "get": operation }));
    }

    /// Adds the paths of a kind.
    pub(super) fn add_kind(&mut self, kind: &Kind) {
        let root = format!("/{}", document_path(kind));
        let has = |verb: &str| kind.verbs.iter().any(|known| known == verb);
        let (scope, prefix) = if kind.namespaced {
            ("/namespaces/{namespace}", "Namespaced")
        } else {
            ("", "")
        };
        let name = format!("{prefix}{}", kind.kind);
        let collection = format!("{root}{scope}/{}", kind.plural);
        let object = format!("{collection}/{{name}}");
        if kind.namespaced && has("list") {
            let list = self.list(kind, format!("{}ForAllNamespaces", kind.kind));
            self.add(kind, &format!("{root}/{}", kind.plural), kind, vec![list]);
        }
        let mut operations = vec![];
        if has("list") {
            operations.push(self.list(kind, name.clone()));
        }
        if has("create") {
            let schema = self.schemas.kind(kind);
            operations.push(create(kind, schema, name.clone(), "create"));
        }
        if has("deletecollection") {
            operations.push(self.delete_collection(kind, &name));
        }
        self.add(kind, &collection, kind, operations);
        let operations = self.object_operations(kind, &name);
        self.add(kind, &object, kind, operations);
        for subresource in &kind.subresources {
            self.add_subresource(kind, subresource, &object, &name);
        }
        if has("watch") && kind.definition.is_none() {
            let watch_root = format!("{root}/watch");
            let of_list = "watch individual changes to a list of";
            let of_object = "watch changes to an object of kind";
            let mut add = |path: String, action, id: String, what: &str, filtered: &str| {
                let operation = self.watch(kind, action, id, what, filtered);
                self.add(kind, &path, kind, vec![operation]);
            };
            if kind.namespaced {
                let id = format!("{}ListForAllNamespaces", kind.kind);
                add(
                    format!("{watch_root}/{}", kind.plural),
                    "watchlist",
                    id,
                    of_list,
                    "",
                );
            }
            let collection = format!("{watch_root}{scope}/{}", kind.plural);
            add(
                collection.clone(),
                "watchlist",
                format!("{name}List"),
                of_list,
                "",
            );
            if has("get") {
                let filtered = ", filtered to a single item with the 'fieldSelector' parameter";
                add(
                    format!("{collection}/{{name}}"),
                    "watch",
                    name,
                    of_object,
                    filtered,
                );
            }
        }
    }

    fn list(&mut self, kind: &Kind, id: String) -> ApiOperation {
        let watches = kind.definition.is_none() && kind.verbs.iter().any(|verb| verb == "watch");
        let verb = if watches { "list or watch" } else { "list" };
        ApiOperation {
            method: "get",
            action: "list",
            id: ("list", id),
            description: format!("{verb} objects of kind {}", kind.kind),
            parameters: with_pretty(GENERAL, LIST_PARAMETERS),
            body: None,
            codes: &[200],
            schema: self.schemas.list(kind),
            content_types: if kind.definition.is_some() {
                CUSTOM_TYPES
            } else {
                LIST_TYPES
            },
        }
    }

    fn watch(
        &mut self,
        kind: &Kind,
        action: &'static str,
        id: String,
        what: &str,
        filtered: &str,
    ) -> ApiOperation {
        ApiOperation {
            method: "get",
            action,
            id: ("watch", id),
            description: format!(
                "{what} {}. deprecated: use the 'watch' parameter with a list operation instead{filtered}.",
                kind.kind
            ),
            parameters: with_pretty(GENERAL, LIST_PARAMETERS),
            body: None,
            codes: &[200],
            schema: self.schemas.built_in("meta.v1.WatchEvent"),
            content_types: LIST_TYPES,
        }
    }

    fn delete_collection(&mut self, kind: &Kind, name: &str) -> ApiOperation {
        let is_custom = kind.definition.is_some();
        let names: Vec<&str> = if is_custom {
            LIST_PARAMETERS.to_vec()
        } else {
            let only_list = |name: &&&str| !matches!(**name, "watch" | "allowWatchBookmarks");
            let all = LIST_PARAMETERS.iter().filter(only_list).chain(DELETE_PARAMETERS);
            all.copied().collect()
        };
        ApiOperation {
            method: "delete",
            action: "deletecollection",
            id: ("delete", format!("Collection{name}")),
            description: format!("delete collection of {}", kind.kind),
            parameters: with_pretty(GENERAL, &names),
            body: (!is_custom).then(|| self.delete_options(kind)),
            codes: &[200],
            schema: self.schemas.built_in("meta.v1.Status"),
            content_types: object_types(kind),
        }
    }

    fn delete_options(&mut self, kind: &Kind) -> Value {
        body(body_types(kind), &self.schemas.built_in(DELETE_OPTIONS), false)
    }

    fn object_operations(&mut self, kind: &Kind, name: &str) -> Vec<ApiOperation> {
        let mut operations = self.read_and_write_operations(kind, &kind.verbs, kind, name, "");
        if kind.verbs.iter().any(|verb| verb == "delete") {
            // A namespace is returned only while it is being finalized.
            let schema = if kind.returns_deleted() && kind.kind != "Namespace" {
                self.schemas.kind(kind)
            } else {
                self.schemas.built_in("meta.v1.Status")
            };
            operations.push(ApiOperation {
                method: "delete",
                action: "delete",
                id: ("delete", name.to_owned()),
                description: format!("delete{}{}", article(&kind.kind), kind.kind),
                parameters: with_pretty(GENERAL, DELETE_PARAMETERS),
                body: Some(self.delete_options(kind)),
                codes: &[200, 202],
                schema,
                content_types: object_types(kind),
            });
        }
        operations
    }

    /// Returns the operations get, update and patch of an object or a subresource, of which `shown` is the kind.
    fn read_and_write_operations(
        &mut self,
        kind: &Kind,
        verbs: &[String],
        shown: &Kind,
        name: &str,
        subresource: &str,
    ) -> Vec<ApiOperation> {
        let has = |verb: &str| verbs.iter().any(|known| known == verb);
        let is_custom = kind.definition.is_some();
        let what = if subresource.is_empty() {
            format!("the specified {}", kind.kind)
        } else {
            format!("{subresource} of the specified {}", kind.kind)
        };
        let id = format!("{name}{}", capitalized(subresource));
        let schema = self.schemas.kind(shown);
        let new = |method, action, (prefix, verb): (&'static str, &str)| ApiOperation {
            method,
            action,
            id: (prefix, id.clone()),
            description: format!("{verb} {what}"),
            parameters: vec![],
            body: None,
            codes: &[200],
            schema: schema.clone(),
            content_types: object_types(kind),
        };
        let mut operations = vec![];
        if has("get") {
            let names: &[&str] = if is_custom { &["resourceVersion"] } else { &[] };
            operations.push(ApiOperation {
                parameters: with_pretty(GENERAL, names),
                ..new("get", "get", ("read", "read"))
            });
        }
        if has("update") {
            operations.push(ApiOperation {
                parameters: with_pretty(GENERAL, WRITE_PARAMETERS),
                body: Some(body(body_types(kind), &schema, true)),
                codes: &[200, 201],
                ..new("put", "put", ("replace", "replace"))
            });
        }
        if has("patch") {
            let types = if is_custom { &PATCH_TYPES[..3] } else { PATCH_TYPES };
            operations.push(ApiOperation {
                parameters: with_pretty(PATCH, PATCH_PARAMETERS),
                body: Some(body(types, &self.schemas.built_in("meta.v1.Patch"), true)),
                codes: if is_custom { &[200] } else { &[200, 201] },
                ..new("patch", "patch", ("patch", "partially update"))
            });
        }
        operations
    }

    fn add_subresource(&mut self, kind: &Kind, subresource: &Subresource, object: &str, name: &str) {
        let is_own = kind.definition.is_some() && subresource.kind == kind.kind;
        let shown = if is_own {
            kind.clone()
        } else {
            kind.for_subresource(subresource)
        };
        let part = subresource.name.as_str();
        let path = format!("{object}/{part}");
        if subresource.kind.ends_with("Options") {
            self.add_connections(kind, subresource, &path, name);
            return;
        }
        let mut operations = self.read_and_write_operations(kind, &subresource.verbs, &shown, name, part);
        if part == "log" {
            for operation in &mut operations {
                operation.schema = json!({ "type": "string" });
                operation.content_types = LOG_TYPES;
                operation.parameters.extend(parameters::section("log"));
            }
        }
        if subresource.verbs.iter().any(|verb| verb == "create") {
            let schema = self.schemas.kind(&shown);
            let id = format!("{name}{}", capitalized(part));
            operations.push(create(kind, schema, id, &format!("create {part} of")));
        }
        // Custom resources' documents name the resource, also for the scale.
        let named = if kind.definition.is_some() { kind } else { &shown };
        self.add(kind, &path, named, operations);
    }

    /// Adds the paths of a subresource that connects to a node, a pod or a service.
    fn add_connections(&mut self, kind: &Kind, subresource: &Subresource, path: &str, name: &str) {
        let part = subresource.name.as_str();
        let mut methods: Vec<&'static str> = ["create", "delete", "get", "patch", "update"]
            .into_iter()
            .filter(|verb| subresource.verbs.iter().any(|known| known == verb))
            .map(|verb| match verb {
                "create" => "post",
                "update" => "put",
                verb => verb,
            })
            .collect();
        let is_proxy = part == "proxy";
        if is_proxy {
            methods.extend(["head", "options"]);
        }
        let shown = kind.for_subresource(subresource);
        let paths = [(path.to_owned(), ""), (format!("{path}/{{path}}"), "WithPath")];
        for (path, suffix) in paths.into_iter().take(if is_proxy { 2 } else { 1 }) {
            let operations = methods.iter().map(|method| ApiOperation {
                method,
                action: "connect",
                id: (
                    "connect",
                    format!("{}{name}{}{suffix}", capitalized(method), capitalized(part)),
                ),
                description: format!(
                    "connect {} requests to {part} of {}",
                    method.to_uppercase(),
                    kind.kind
                ),
                parameters: parameters::section(&subresource.kind),
                body: None,
                codes: &[200],
                schema: json!({ "type": "string" }),
                content_types: ANY_TYPE,
            });
            self.add(kind, &path, &shown, operations.collect());
        }
    }

    /// Adds a path. The parameters that all operations have become those of the path.
    fn add(&mut self, kind: &Kind, path: &str, shown: &Kind, mut operations: Vec<ApiOperation>) {
        if operations.is_empty() {
            return;
        }
        let in_path = path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let in_path: Vec<Value> = in_path.map(|name| parameters::path(name, &shown.kind)).collect();
        for operation in &mut operations {
            operation.parameters.extend(in_path.iter().cloned());
            let key = |parameter: &Value| {
                let text = |key: &str| parameter[key].as_str().unwrap_or_default().to_owned();
                (text("name"), text("in"))
            };
            operation.parameters.sort_by_cached_key(key);
        }
        let is_common = |parameter: &&Value| {
            operations
                .iter()
                .all(|operation| operation.parameters.contains(parameter))
        };
        let common: Vec<Value> = operations[0]
            .parameters
            .iter()
            .filter(is_common)
            .cloned()
            .collect();
        let gvk = json!({ "group": shown.group, "version": shown.version, "kind": shown.kind });
        let (prefix, tag) = (id_prefix(kind), tag(kind));
        let mut item = Map::new();
        for operation in operations {
            let own = operation
                .parameters
                .iter()
                .filter(|parameter| !common.contains(parameter));
            let own: Vec<&Value> = own.collect();
            let codes = operation.codes.iter();
            let mut responses: Map<String, Value> = codes
                .map(|code| {
                    let response = response(*code, operation.content_types, &operation.schema);
                    (code.to_string(), response)
                })
                .collect();
            responses.insert("401".into(), json!({ "description": "Unauthorized" }));
            let mut value = json!({
                "tags": [tag], "description": operation.description,
                "operationId": format!("{}{prefix}{}", operation.id.0, operation.id.1), "responses": responses,
                "x-kubernetes-action": operation.action, "x-kubernetes-group-version-kind": gvk,
            });
            if !own.is_empty() {
                value["parameters"] = json!(own);
            }
            if let Some(body) = operation.body {
                value["requestBody"] = body;
            }
            item.insert(operation.method.to_owned(), value);
        }
        if !common.is_empty() {
            item.insert("parameters".into(), common.into());
        }
        self.items.insert(path.to_owned(), item.into());
    }
}

fn create(kind: &Kind, schema: Value, id: String, verb: &str) -> ApiOperation {
    ApiOperation {
        method: "post",
        action: "post",
        id: ("create", id),
        description: format!("{verb}{}{}", article(&kind.kind), kind.kind),
        parameters: with_pretty(GENERAL, WRITE_PARAMETERS),
        body: Some(body(body_types(kind), &schema, true)),
        codes: &[200, 201, 202],
        schema,
        content_types: object_types(kind),
    }
}
