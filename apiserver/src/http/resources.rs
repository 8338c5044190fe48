//! Requests about resources: which operation is meant, and what is answered.

use super::respond::{self, Answer};
use super::{Form, Query, RequestInfo, body};
use crate::auth::{self, User};
use crate::kinds::Kind;
use crate::registry::{
    Bodied, DeleteOptions, Deletion, ListOptions, Target, VersionMatch, WriteOptions, Written, revision,
    too_large, track_fields, unparsable,
};
use crate::server::Shared;
use crate::status::ApiError;
use crate::watch;
use bytes::Bytes;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How long a list waits for a version that is not there yet.
const PATIENCE: Duration = Duration::from_secs(3);

/// What who uses this kind is told.
const ENDPOINTS: &str = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";

/// A request about a resource.
pub(super) struct Call<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) user: &'a User,
    pub(super) info: &'a RequestInfo,
    pub(super) query: &'a Query,
    pub(super) parts: &'a http::request::Parts,
    pub(super) body: &'a Bytes,
    pub(super) form: Form,
}

/// Does what is asked.
pub(super) async fn answer(call: &Call<'_>) -> Result<Answer, ApiError> {
    let info = call.info;
    let catalog = call.shared.registry.catalog();
    let Some(kind) = catalog.resource(&info.group, &info.version, &info.resource) else {
        if catalog.has_version(&info.group, &info.version) {
            return Err(ApiError::no_such_resource());
        }
        return Ok(respond::page_not_found());
    };
    let target = target(call, kind)?;
    let verbs = if info.subresource.is_empty() {
        &kind.verbs
    } else {
        match kind.subresource(&info.subresource) {
            Some(subresource) => &subresource.verbs,
            None if kind.definition.is_some() => return Err(ApiError::not_found(kind, &info.name)),
            None => return Err(ApiError::no_such_resource()),
        }
    };
    let path_named = !target.name.is_empty();
    let fits = match info.verb.as_str() {
        "create" => !path_named || !info.subresource.is_empty(),
        "update" | "patch" | "delete" => path_named,
        _ => true,
    };
    if !fits || !serves(verbs, &info.verb) {
        return Err(ApiError::method_not_allowed());
    }
    let mut answer = operate(call, target, kind).await?;
    if kind.group.is_empty() && kind.plural == "endpoints" {
        respond::warn(&mut answer, &[ENDPOINTS.to_owned()]);
    }
    Ok(answer)
}

async fn operate(call: &Call<'_>, target: Target, kind: &Arc<Kind>) -> Result<Answer, ApiError> {
    let info = call.info;
    match (info.verb.as_str(), info.subresource.as_str()) {
        ("list", _) => list(call, &target).await,
        ("watch", _) => watch(call, target),
        ("get", "scale") => scale(call, &target),
        ("get", _) => get(call, &target).await,
        ("create", "") if kind.is_stored() => create(call, &target),
        ("create", "") if kind.kind == "Binding" => bind(call, &target, kind),
        ("create", "") => review(call, &target, kind),
        ("create", "token") => token(call, &target),
        ("create", "binding") => bind(call, &target, kind),
        ("create", "eviction") => evict(call, &target),
        ("update", "scale") => update_scale(call, &target),
        ("update", part) => update(call, &target, part),
        ("patch", part) => patch(call, &target, part),
        ("delete", _) => delete(call, &target),
        ("deletecollection", _) => delete_collection(call, &target),
        _ => Err(ApiError::method_not_allowed()),
    }
}

/// What can be listed can be watched, even where the table does not say so.
fn serves(verbs: &[String], verb: &str) -> bool {
    verbs
        .iter()
        .any(|known| known == verb || known == "list" && verb == "watch")
}

/// The object of the path. Namespaces lie in none, though their path names one.
fn target(call: &Call<'_>, kind: &Arc<Kind>) -> Result<Target, ApiError> {
    let info = call.info;
    let is_namespace = kind.kind == "Namespace" && kind.group.is_empty();
    let namespace = if is_namespace { "" } else { info.namespace.as_str() };
    let in_path = call.parts.uri.path().contains(&format!("/{}/", info.resource))
        || call.parts.uri.path().ends_with(&format!("/{}", info.name));
    let name = if info.name.is_empty() || matches!(info.verb.as_str(), "list" | "watch") && !in_path {
        ""
    } else {
        info.name.as_str()
    };
    let misplaced = !kind.namespaced && !namespace.is_empty()
        || kind.namespaced && namespace.is_empty() && !matches!(info.verb.as_str(), "list" | "watch");
    if misplaced {
        if kind.namespaced && name.is_empty() {
            return Err(ApiError::method_not_allowed());
        }
        return Err(ApiError::no_such_resource());
    }
    let name = if info.verb == "list" { "" } else { name };
    Ok(Target::new(kind, namespace, name))
}

async fn list(call: &Call<'_>, target: &Target) -> Result<Answer, ApiError> {
    let options = ListOptions::parse(call.query, false)?;
    let registry = &call.shared.registry;
    if let Some(revision) = options.revision
        && options.version_match != VersionMatch::Exact
        && !registry.store.reach(revision, PATIENCE).await
    {
        return Err(too_large(revision, registry.store.revision()));
    }
    let listing = registry.list(target, &options)?;
    Ok(respond::list(call.form, &target.kind, &listing))
}

fn watch(call: &Call<'_>, target: Target) -> Result<Answer, ApiError> {
    let options = ListOptions::parse(call.query, true)?;
    let watcher = watch::Watcher::new(call.shared.registry.clone(), target, options, call.form)?;
    Ok(respond::stream("application/json", watcher.into_body()))
}

async fn get(call: &Call<'_>, target: &Target) -> Result<Answer, ApiError> {
    let wanted = revision(call.query.get("resourceVersion")).map_err(|cause| unparsable(&cause))?;
    let store = &call.shared.registry.store;
    if let Some(wanted) = wanted
        && !store.reach(wanted, PATIENCE).await
    {
        return Err(too_large(wanted, store.revision()));
    }
    let object = call.shared.registry.get(target)?;
    Ok(respond::object(200, call.form, &target.kind, &object))
}

fn create(call: &Call<'_>, target: &Target) -> Result<Answer, ApiError> {
    let options = options(call, "CreateOptions")?;
    let object = object(call, &target.kind)?;
    let written = call.shared.registry.create(target, object, by(call, &options))?;
    Ok(shown(call, target, &written))
}

fn object(call: &Call<'_>, kind: &Kind) -> Result<Value, ApiError> {
    let custom = kind.definition.is_some();
    body::object(&call.parts.headers, call.body, &kind.kind, custom)
}

fn update(call: &Call<'_>, target: &Target, part: &str) -> Result<Answer, ApiError> {
    let options = options(call, "UpdateOptions")?;
    let object = object(call, &target.kind)?;
    let written = call
        .shared
        .registry
        .update(target, part, &object, by(call, &options))?;
    Ok(shown(call, target, &written))
}

fn patch(call: &Call<'_>, target: &Target, part: &str) -> Result<Answer, ApiError> {
    let options = options(call, "PatchOptions")?;
    let media_type = body::media_type(&call.parts.headers);
    let registry = &call.shared.registry;
    let written = registry.patch(target, part, &media_type, call.body, by(call, &options))?;
    if part == "scale" {
        return Ok(respond::value(
            200,
            call.form,
            &registry.scale(target, written.object.value())?,
        ));
    }
    Ok(shown(call, target, &written))
}

fn shown(call: &Call<'_>, target: &Target, written: &Written) -> Answer {
    let code = if written.created { 201 } else { 200 };
    let mut answer = respond::object(code, call.form, &target.kind, &written.object);
    let definition = target.kind.definition.as_ref();
    let deprecation = definition
        .and_then(|definition| definition.version(&target.kind.version))
        .and_then(|version| version.deprecation.clone());
    respond::warn(&mut answer, &written.warnings);
    respond::warn(&mut answer, deprecation.as_slice());
    answer
}

fn delete(call: &Call<'_>, target: &Target) -> Result<Answer, ApiError> {
    let options = DeleteOptions::parse(call.query, delete_body(call)?.as_ref())?;
    match call.shared.registry.delete(target, &options)? {
        Deletion::Gone(object) if !target.kind.returns_deleted() => {
            let mut details = target.kind.details(&target.name);
            details["uid"] = object.value()["metadata"]["uid"].clone();
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
            });
            Ok(respond::value(200, call.form, &status))
        }
        Deletion::Gone(object) | Deletion::Pending(object) => {
            Ok(respond::object(200, call.form, &target.kind, &object))
        }
    }
}

fn delete_collection(call: &Call<'_>, target: &Target) -> Result<Answer, ApiError> {
    let selection = ListOptions::parse(call.query, false)?;
    let options = DeleteOptions::parse(call.query, delete_body(call)?.as_ref())?;
    let registry = &call.shared.registry;
    let (objects, revision) = registry.delete_collection(target, &selection, &options)?;
    let listing = crate::registry::Listing {
        objects,
        revision,
        continue_token: String::new(),
        remaining: None,
    };
    Ok(respond::list(call.form, &target.kind, &listing))
}

fn delete_body(call: &Call<'_>) -> Result<Option<Value>, ApiError> {
    if call.body.is_empty() {
        return Ok(None);
    }
    body::object(&call.parts.headers, call.body, "DeleteOptions", false).map(Some)
}

fn scale(call: &Call<'_>, target: &Target) -> Result<Answer, ApiError> {
    let registry = &call.shared.registry;
    let object = registry.get(target)?;
    Ok(respond::value(
        200,
        call.form,
        &registry.scale(target, object.value())?,
    ))
}

fn update_scale(call: &Call<'_>, target: &Target) -> Result<Answer, ApiError> {
    let options = options(call, "UpdateOptions")?;
    let scale = body::object(&call.parts.headers, call.body, "Scale", false)?;
    let registry = &call.shared.registry;
    let written = registry.change(target, "scale", false, by(call, &options), |old| {
        registry.with_scale(
            target,
            old.unwrap_or(&Value::Null),
            scale.clone(),
            by(call, &options),
        )
    })?;
    Ok(respond::value(
        200,
        call.form,
        &registry.scale(target, written.object.value())?,
    ))
}

fn review(call: &Call<'_>, target: &Target, kind: &Kind) -> Result<Answer, ApiError> {
    let mut review = body::object(&call.parts.headers, call.body, &kind.kind, false)?;
    review["kind"] = json!(kind.kind);
    review["apiVersion"] = json!(kind.api_version());
    if !review["metadata"].is_object() {
        review["metadata"] = json!({});
    }
    let shared = call.shared;
    let namespace = &target.namespace;
    let options = options(call, "CreateOptions")?;
    track_fields(kind, None, &mut review, "", by(call, &options));
    auth::review(
        &shared.registry,
        &shared.authenticator,
        call.user,
        kind,
        namespace,
        &mut review,
    )?;
    Ok(respond::value(201, call.form, &review))
}

/// A token for a service account.
fn token(call: &Call<'_>, target: &Target) -> Result<Answer, ApiError> {
    const SHORTEST: i64 = 600;
    let account = call.shared.registry.get(target)?;
    let mut request = body::object(&call.parts.headers, call.body, "TokenRequest", false)?;
    let audiences: Vec<String> = request["spec"]["audiences"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|audience| audience.as_str().map(str::to_owned))
        .collect();
    let seconds = request["spec"]["expirationSeconds"].as_i64().unwrap_or(3600);
    if seconds < SHORTEST {
        let why = "may not specify a duration less than 10 minutes";
        let value = json!(seconds);
        let cause = crate::status::Cause::invalid("spec.expirationSeconds", &value, why);
        return Err(ApiError::invalid_of(
            "authentication.k8s.io",
            "TokenRequest",
            "",
            &[cause],
        ));
    }
    let tokens = &call.shared.authenticator.accounts;
    let (token, expiry) = tokens.issue(account.value(), &audiences, seconds);
    let expiry = jiff::Timestamp::from_second(expiry).map_err(ApiError::internal)?;
    request["kind"] = json!("TokenRequest");
    request["apiVersion"] = json!("authentication.k8s.io/v1");
    request["metadata"] = json!({ "name": target.name, "namespace": target.namespace });
    request["spec"]["expirationSeconds"] = json!(seconds);
    request["status"] = json!({ "token": token, "expirationTimestamp": expiry.to_string() });
    Ok(respond::value(201, call.form, &request))
}

/// Puts a pod on a node.
fn bind(call: &Call<'_>, target: &Target, kind: &Arc<Kind>) -> Result<Answer, ApiError> {
    let options = options(call, "CreateOptions")?;
    let binding = body::object(&call.parts.headers, call.body, "Binding", false)?;
    let registry = &call.shared.registry;
    let name = if target.name.is_empty() {
        crate::meta::name(&binding)
    } else {
        &target.name
    };
    let pods = if kind.kind == "Pod" {
        kind.clone()
    } else {
        registry.resource("", "pods")?
    };
    let pod = Target::new(&pods, &target.namespace, name);
    registry.bind(&pod, &binding, by(call, &options))?;
    let status =
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
    Ok(respond::value(201, call.form, &status))
}

/// Deletes a pod; no budget is asked.
fn evict(call: &Call<'_>, target: &Target) -> Result<Answer, ApiError> {
    let eviction = body::object(&call.parts.headers, call.body, "Eviction", false)?;
    let options = eviction
        .get("deleteOptions")
        .filter(|options| options.is_object());
    let empty = json!({});
    let options = DeleteOptions::parse(call.query, Some(options.unwrap_or(&empty)))?;
    call.shared.registry.delete(target, &options)?;
    let status =
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
    Ok(respond::value(201, call.form, &status))
}

/// Fields are owned by who says so, and else by the program that asks.
fn options(call: &Call<'_>, kind: &str) -> Result<WriteOptions, ApiError> {
    let mut options = WriteOptions::parse(call.query, kind)?;
    if options.field_manager.is_empty()
        && body::media_type(&call.parts.headers) != "application/apply-patch+yaml"
    {
        let agent = call.parts.headers.get(http::header::USER_AGENT);
        let agent = agent.and_then(|agent| agent.to_str().ok()).unwrap_or_default();
        let program = agent.split('/').next().unwrap_or_default();
        options.field_manager = program.chars().take(128).collect();
    }
    Ok(options)
}

fn by<'a>(call: &Call<'a>, options: &'a WriteOptions) -> Bodied<'a> {
    Bodied::new(call.user, options)
}
