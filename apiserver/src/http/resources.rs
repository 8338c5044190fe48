//! Requests to resources: chooses the registry operation and writes the response.

use super::blocking::WebhookAccess;
use super::deletions::{delete, delete_collection};
use super::deprecations::{deprecation, with_deprecation};
use super::stored_name::check_stored_name;
use super::subresources::{bind, evict, handle_subresource, review, token};
use super::{ServerState, component_statuses, connect, web_socket};
use crate::admission::AdmissionReport;
use crate::auth::User;
use crate::kinds::Kind;
use crate::quote::quoted;
use crate::registry::{
    Target, WriteContext, WriteResult, check_media_type, check_target, too_large_resource_version,
};
use crate::render::{self, ApiResponse, Encoding, ResponseFormat, respond};
use crate::request::{
    ListOptions, Query, RequestInfo, ResourceVersionMatch, WriteOptions, body, parse_revision,
    unparsable_version_error,
};
use crate::status::ApiError;
use crate::storage::Object;
use crate::watch;
use bytes::Bytes;
use http::Method;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// How long get and list wait for a requested resource version that the store has not reached.
const FRESH_READ_TIMEOUT: Duration = Duration::from_secs(3);

/// The subresources that read or write the object itself, as the empty name does.
const OBJECT_SUBRESOURCES: &[&str] = &[
    "",
    "status",
    "ephemeralcontainers",
    "resize",
    "finalize",
    "approval",
];

/// A request to a resource.
pub(super) struct RequestContext<'a> {
    pub(super) state: &'a Arc<ServerState>,
    pub(super) user: &'a User,
    pub(super) info: &'a RequestInfo,
    pub(super) query: &'a Query,
    pub(super) parts: &'a http::request::Parts,
    pub(super) body: &'a Bytes,
    pub(super) format: ResponseFormat,
    pub(super) report: &'a AdmissionReport,
    /// None if no webhook is called for the request.
    pub(super) webhooks: Option<&'a WebhookAccess>,
}

/// Handles the request.
pub(super) async fn handle(context: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let info = context.info;
    if info.path.starts_with("//") {
        return Ok(respond::page_not_found());
    }
    if info.verb == "proxy" {
        return Err(ApiError::no_such_resource());
    }
    let catalog = context.state.registry.catalog();
    let kind = catalog.resource(&info.group, &info.version, &info.resource);
    // An APIService with a service takes the version from definitions.
    let may_be_extension = kind.is_none_or(|kind| kind.definition.is_some());
    let registry = &context.state.registry;
    if may_be_extension && registry.has_extension_server(&info.group, &info.version) {
        return Ok(respond::service_unavailable());
    }
    let Some(kind) = kind else {
        // An unknown custom kind is an unknown path; an unknown resource in a built-in group is a 404 Status.
        let kinds = catalog.group(&info.group);
        let is_built_in = kinds.iter().any(|kind| kind.definition.is_none());
        if info.group.is_empty() || is_built_in {
            return Err(ApiError::no_such_resource());
        }
        return registry.resolve(info).map(|()| respond::page_not_found());
    };
    let scope_mismatch = if kind.namespaced {
        info.namespace.is_empty() && !matches!(info.verb.as_str(), "list" | "watch")
    } else {
        !info.namespace.is_empty()
    };
    if kind.definition.is_some() && scope_mismatch {
        return Ok(respond::page_not_found());
    }
    if kind.definition.is_none() {
        return handle_kind(context, kind).await;
    }
    let response = handle_kind(context, kind).await;
    with_deprecation(kind, response)
}

/// Handles the request to a served kind.
async fn handle_kind(context: &RequestContext<'_>, kind: &Arc<Kind>) -> Result<ApiResponse, ApiError> {
    let info = context.info;
    let mut target = target(context, kind)?;
    let verbs = if info.subresource.is_empty() {
        &kind.verbs
    } else {
        match kind.subresource(&info.subresource) {
            Some(subresource) => &subresource.verbs,
            None if kind.definition.is_some() => return Err(ApiError::not_found(kind, &info.name)),
            None => return Err(ApiError::no_such_resource()),
        }
    };
    let is_proxied = info.subresource == "proxy";
    // Handlers of custom resources ignore what follows.
    let has_rest = !info.rest.is_empty() && !is_proxied && kind.definition.is_none();
    if has_rest || !info.subresource.is_empty() && info.is_watch_path {
        return Err(ApiError::no_such_resource());
    }
    let has_name = !target.name.is_empty();
    if has_name {
        check_stored_name(&target.name)?;
    }
    let name_fits = match info.verb.as_str() {
        "create" => !has_name || !info.subresource.is_empty(),
        "update" | "patch" | "delete" => has_name,
        _ => true,
    };
    // The method OPTIONS has no verb, but is proxied.
    let method = &context.parts.method;
    let is_proxied_options = is_proxied && *method == Method::OPTIONS;
    let is_supported = supports_verb(verbs, &info.verb) || is_proxied_options;
    if kind.definition.is_some() {
        if !is_supported {
            return Err(unsupported_verb(kind, &info.verb));
        }
        match info.verb.as_str() {
            "update" | "patch" if !has_name => return Err(ApiError::bad_request("name must be provided")),
            // The name is that of the body.
            "create" => target.name.clear(),
            _ => {}
        }
        return dispatch(context, target, kind).await;
    }
    // The paths of watches, and those of objects to read, are routed for GET only.
    let is_routed = if info.is_watch_path {
        *method == Method::GET
    } else {
        *method != Method::HEAD || is_proxied
    };
    if !name_fits || !is_supported || !is_routed {
        let is_below = has_name && info.subresource.is_empty();
        if is_created_only(kind) && (is_below || info.is_watch_path) {
            return Err(ApiError::no_such_resource());
        }
        return Err(ApiError::method_not_allowed());
    }
    with_deprecation(kind, dispatch(context, target, kind).await)
}

/// Adds the deprecation warning of a custom resource to the error for an Accept header without a supported format.
pub(super) fn not_acceptable(state: &ServerState, info: &RequestInfo, error: ApiError) -> ApiError {
    let catalog = state.registry.catalog();
    match catalog.resource(&info.group, &info.version, &info.resource) {
        Some(kind) if kind.definition.is_some() && error.code == 406 => {
            let warnings: Vec<String> = deprecation(kind).into_iter().collect();
            error.with_warnings(&warnings)
        }
        _ => error,
    }
}

fn unsupported_verb(kind: &Kind, verb: &str) -> ApiError {
    let resource = quoted(&kind.group_resource());
    let message = format!("{verb} is not supported on resources of kind {resource}");
    ApiError::with_details(405, "MethodNotAllowed", message, kind.details(""))
}

async fn dispatch(
    context: &RequestContext<'_>,
    target: Target,
    kind: &Arc<Kind>,
) -> Result<ApiResponse, ApiError> {
    let info = context.info;
    // A subresource without a handler of its own never reaches a handler of the object.
    let is_object = OBJECT_SUBRESOURCES.contains(&info.subresource.as_str());
    match (info.verb.as_str(), info.subresource.as_str()) {
        _ if connect::is_connection(info) => connect::handle(context, &target),
        _ if kind.is_virtual() => component_statuses::handle(context, &target).await,
        ("list", "") => list(context, &target).await,
        ("watch", "") => watch(context, target).await,
        ("get", "scale") => scale(context, &target).await,
        ("get", _) if is_object => get(context, &target).await,
        ("create", "") if kind.is_stored() => create(context, &target).await,
        ("create", "") if kind.kind == "Binding" => bind(context, &target, kind),
        ("create", "") => review(context, &target, kind),
        ("create", "token") => token(context, &target),
        ("create", "binding") => bind(context, &target, kind),
        ("create", "eviction") => evict(context, &target).await,
        ("update", "scale") => update_scale(context, &target),
        ("update", subresource) if is_object => update(context, &target, subresource),
        ("patch", subresource) if is_object || subresource == "scale" => patch(context, &target, subresource),
        ("delete", "") => delete(context, &target).await,
        ("deletecollection", "") => delete_collection(context, &target).await,
        _ => Err(ApiError::method_not_allowed()),
    }
}

/// True for reviews and bindings: they are answered, and cannot be read.
fn is_created_only(kind: &Kind) -> bool {
    !kind.is_stored() && !kind.is_virtual()
}

/// True if the verbs contain the verb. Resources that can be listed can be watched, even if the table of kinds omits it.
fn supports_verb(verbs: &[String], verb: &str) -> bool {
    verbs
        .iter()
        .any(|known| known == verb || known == "list" && verb == "watch")
}

/// Returns the target of the path. A Namespace is cluster-scoped, although its path contains a namespace.
fn target(context: &RequestContext<'_>, kind: &Arc<Kind>) -> Result<Target, ApiError> {
    let info = context.info;
    let is_namespace = kind.kind == "Namespace" && kind.group.is_empty();
    // There are no namespaces within a namespace.
    if is_namespace && !info.namespace.is_empty() && info.name != info.namespace {
        return Err(ApiError::no_such_resource());
    }
    let namespace = if is_namespace { "" } else { info.namespace.as_str() };
    let in_path = context.parts.uri.path().contains(&format!("/{}/", info.resource))
        || context.parts.uri.path().ends_with(&format!("/{}", info.name));
    let name = if info.name.is_empty() || matches!(info.verb.as_str(), "list" | "watch") && !in_path {
        ""
    } else {
        info.name.as_str()
    };
    // Only what can be listed has a path for all namespaces.
    let is_listed = !is_created_only(kind);
    let lists = is_listed && matches!(info.verb.as_str(), "list" | "watch");
    let misplaced =
        !kind.namespaced && !namespace.is_empty() || kind.namespaced && namespace.is_empty() && !lists;
    if misplaced {
        if kind.namespaced && name.is_empty() && is_listed {
            return Err(ApiError::method_not_allowed());
        }
        return Err(ApiError::no_such_resource());
    }
    let name = if info.verb == "list" { "" } else { name };
    Ok(Target::new(kind, namespace, name))
}

async fn list(context: &RequestContext<'_>, target: &Target) -> Result<ApiResponse, ApiError> {
    let options = ListOptions::parse(context.query, false)?;
    if let Some(revision) = options.revision
        && options.version_match != ResourceVersionMatch::Exact
        && options.continue_token.is_empty()
    {
        wait_until_fresh(context, target, revision).await?;
    }
    let listing = context.state.registry.list_converted(target, &options)?;
    respond::list(context.format, &target.kind, &listing)
}

/// Waits until the store has reached a requested resource version.
async fn wait_until_fresh(
    context: &RequestContext<'_>,
    target: &Target,
    revision: u64,
) -> Result<(), ApiError> {
    let store = &context.state.registry.store;
    if store.wait_for_revision(revision, FRESH_READ_TIMEOUT).await {
        return Ok(());
    }
    Err(too_large_resource_version(
        &target.kind,
        revision,
        store.revision(),
    ))
}

async fn watch(context: &RequestContext<'_>, target: Target) -> Result<ApiResponse, ApiError> {
    if context.format.encoding == Encoding::Yaml {
        let why = "only the following media types are accepted: application/json;stream=watch, \
            application/vnd.kubernetes.protobuf;stream=watch";
        return Err(ApiError::new(406, "NotAcceptable", why));
    }
    let options = ListOptions::parse(context.query, true)?;
    if options.initial_events == Some(true)
        && let Some(revision) = options.revision
    {
        // A timeout is handled by the watcher: it starts with the current objects, or returns an error.
        context
            .state
            .registry
            .store
            .wait_for_revision(revision, FRESH_READ_TIMEOUT)
            .await;
    }
    let watcher = watch::Watcher::new(
        context.state.registry.clone(),
        &context.state.feeds,
        target,
        options,
        context.format,
    )?;
    let content_type = match context.format.encoding {
        Encoding::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        _ => render::JSON,
    };
    let response = respond::stream(content_type, watcher.into_body());
    if web_socket::is_requested(context.parts) {
        return Ok(web_socket::watch::upgrade(context.parts, response));
    }
    Ok(response)
}

async fn get(context: &RequestContext<'_>, target: &Target) -> Result<ApiResponse, ApiError> {
    let object = read(context, target).await?;
    respond::object(200, context.format, &target.kind, &object)
}

/// Reads an object that is at least as new as the query requests.
async fn read(context: &RequestContext<'_>, target: &Target) -> Result<Arc<Object>, ApiError> {
    if context.query.flag("export") {
        let why = "the export parameter, deprecated since v1.14, is no longer supported";
        return Err(ApiError::bad_request(why));
    }
    let revision = parse_revision(context.query.get("resourceVersion"))
        .map_err(|cause| unparsable_version_error(&cause))?;
    if let Some(revision) = revision {
        wait_until_fresh(context, target, revision).await?;
    }
    converted(context, target, context.state.registry.get(target)?)
}

/// Returns a stored object as the request sees it, if a webhook converts it.
pub(super) fn converted(
    context: &RequestContext<'_>,
    target: &Target,
    object: Arc<Object>,
) -> Result<Arc<Object>, ApiError> {
    let registry = &context.state.registry;
    let converted = registry.convert_by_webhook(&target.kind, vec![object.clone()])?;
    Ok(converted.into_iter().next().unwrap_or(object))
}

async fn create(context: &RequestContext<'_>, target: &Target) -> Result<ApiResponse, ApiError> {
    let mut options = write_options(context, "CreateOptions")?;
    let object = decode_object(context, &target.kind, &mut options)?;
    let registry = &context.state.registry;
    registry.wait_for_default_account(target, &object).await;
    let written = registry.create(target, object, write_context(context, &options))?;
    write_response(context, target, &written)
}

/// Decodes the object of the body; errors of strict decoding go to the options.
pub(super) fn decode_object(
    context: &RequestContext<'_>,
    kind: &Kind,
    options: &mut WriteOptions,
) -> Result<Value, ApiError> {
    let decoded = body::decode_object(&context.parts.headers, context.body, kind)?;
    options.strict_errors = decoded.strict_errors;
    let is_json = body::media_type(&context.parts.headers) == render::JSON;
    options.json = is_json.then(|| context.body.clone());
    Ok(decoded.object)
}

fn update(context: &RequestContext<'_>, target: &Target, subresource: &str) -> Result<ApiResponse, ApiError> {
    let mut options = write_options(context, "UpdateOptions")?;
    let object = decode_object(context, &target.kind, &mut options)?;
    let written =
        context
            .state
            .registry
            .update(target, subresource, &object, write_context(context, &options))?;
    write_response(context, target, &written)
}

fn patch(context: &RequestContext<'_>, target: &Target, subresource: &str) -> Result<ApiResponse, ApiError> {
    let media_type = body::media_type(&context.parts.headers);
    check_media_type(target, &media_type)?;
    let options = write_options(context, "PatchOptions")?;
    let registry = &context.state.registry;
    let written = registry.patch(
        target,
        subresource,
        &media_type,
        context.body,
        write_context(context, &options),
    )?;
    if subresource == "scale" {
        return scale_response(context, target, &written);
    }
    write_response(context, target, &written)
}

fn write_response(
    context: &RequestContext<'_>,
    target: &Target,
    written: &WriteResult,
) -> Result<ApiResponse, ApiError> {
    let code = if written.created { 201 } else { 200 };
    let response = respond::object(code, context.format, &target.kind, &written.object);
    respond::with_warnings(response, &written.warnings)
}

/// The response to a write of a scale: the new scale.
fn scale_response(
    context: &RequestContext<'_>,
    target: &Target,
    written: &WriteResult,
) -> Result<ApiResponse, ApiError> {
    let scale = context.state.registry.scale(target, written.object.value())?;
    let response = respond::scale(context.format, &target.kind, &scale);
    respond::with_warnings(response, &written.warnings)
}

async fn scale(context: &RequestContext<'_>, target: &Target) -> Result<ApiResponse, ApiError> {
    let object = read(context, target).await?;
    let scale = context.state.registry.read_scale(target, object.value())?;
    respond::scale(context.format, &target.kind, &scale)
}

fn update_scale(context: &RequestContext<'_>, target: &Target) -> Result<ApiResponse, ApiError> {
    handle_subresource(context, target, "UpdateOptions", |mut scale, options| {
        // The managers of the scale are computed later, from those of the resource.
        crate::meta::metadata_mut(&mut scale).remove("managedFields");
        let sent = decode_object(context, &target.kind, &mut options.clone())?;
        if let (None, Value::Object(fields)) = (sent.get("kind"), &mut scale) {
            fields.remove("kind");
        }
        check_target(target, &mut scale)?;
        let registry = &context.state.registry;
        let write = write_context(context, options);
        let written = registry.guaranteed_update(target, "scale", false, write, |old| {
            let old = old.unwrap_or(&Value::Null);
            Ok(registry.with_scale(target, old, scale.clone(), write)?.into())
        })?;
        scale_response(context, target, &written)
    })
}

/// Parses the write options. The field manager defaults to the program name in the User-Agent header, except for apply.
pub(super) fn write_options(context: &RequestContext<'_>, kind: &str) -> Result<WriteOptions, ApiError> {
    let mut options = WriteOptions::parse(context.query, kind)?;
    if options.field_manager.is_empty()
        && body::media_type(&context.parts.headers) != "application/apply-patch+yaml"
    {
        let agent = context.parts.headers.get(http::header::USER_AGENT);
        let agent = agent.map(|agent| String::from_utf8_lossy(agent.as_bytes()));
        options.field_manager = manager_of_agent(&agent.unwrap_or_default());
    }
    if context.webhooks.is_some() {
        options.sent = WriteOptions::sent(context.query);
    }
    Ok(options)
}

/// Returns the field manager of a client: its program's name, as far as that is printable and short enough.
fn manager_of_agent(agent: &str) -> String {
    let program = agent.split('/').next().unwrap_or_default();
    let mut manager = String::new();
    for character in program.chars().filter(|character| !character.is_control()) {
        if manager.len() + character.len_utf8() > 128 {
            break;
        }
        manager.push(character);
    }
    manager
}

pub(super) fn write_context<'a>(context: &RequestContext<'a>, options: &'a WriteOptions) -> WriteContext<'a> {
    let webhooks = context
        .webhooks
        .map(|access| access.context(context.state, context.report, options));
    WriteContext::new(context.user, options).with_admission(context.report, webhooks)
}
