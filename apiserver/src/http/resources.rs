//! Requests about resources: which operation is meant, and what is answered.

use super::respond::{self, Answer};
use super::{Encoding, Form, Query, RequestInfo, body, token_request};
use crate::auth::{self, User};
use crate::kinds::Kind;
use crate::meta::names;
use crate::quote::quoted;
use crate::registry::{
    Bodied, DeleteOptions, Deletion, ListOptions, Target, VersionMatch, WriteOptions, Written,
    check_media_type, check_target, revision, too_large, unparsable,
};
use crate::server::Shared;
use crate::status::ApiError;
use crate::watch;
use bytes::Bytes;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How long what lists waits for a version that is not there yet.
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
        // Custom kinds that are not there are no kinds at all.
        let built_in = |kind: &Arc<Kind>| {
            kind.definition.is_none() && kind.group == info.group && kind.version == info.version
        };
        if catalog.iter().any(built_in) {
            return Err(ApiError::no_such_resource());
        }
        return Ok(respond::page_not_found());
    };
    let lies_elsewhere = if kind.namespaced {
        info.namespace.is_empty() && !info.name.is_empty()
    } else {
        !info.namespace.is_empty()
    };
    if kind.definition.is_some() && lies_elsewhere && !matches!(info.verb.as_str(), "list" | "watch") {
        return Ok(respond::page_not_found());
    }
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
    if !info.rest.is_empty() && info.subresource != "proxy" {
        return Err(ApiError::no_such_resource());
    }
    let path_named = !target.name.is_empty();
    if let Some(why) = names::path_segment(&target.name).first() {
        let name = quoted(&target.name);
        return Err(ApiError::bad_request(format!(
            "Name parameter invalid: {name}: {why}"
        )));
    }
    let fits = match info.verb.as_str() {
        "create" => !path_named || !info.subresource.is_empty(),
        "update" | "patch" | "delete" => path_named,
        _ => true,
    };
    if !fits || !serves(verbs, &info.verb) {
        return Err(ApiError::method_not_allowed());
    }
    let Some(warning) = deprecation(kind) else {
        return operate(call, target, kind).await;
    };
    // Who uses what will go is told so, whatever comes of it.
    let answer = operate(call, target, kind).await;
    let mut answer = answer.unwrap_or_else(|error| respond::refusal(call.form, &error));
    respond::warn_first(&mut answer, &[warning]);
    Ok(answer)
}

fn deprecation(kind: &Kind) -> Option<String> {
    match &kind.definition {
        Some(definition) => definition.version(&kind.version)?.deprecation.clone(),
        None => (kind.group.is_empty() && kind.plural == "endpoints").then(|| ENDPOINTS.to_owned()),
    }
}

async fn operate(call: &Call<'_>, target: Target, kind: &Arc<Kind>) -> Result<Answer, ApiError> {
    let info = call.info;
    match (info.verb.as_str(), info.subresource.as_str()) {
        ("list", _) => list(call, &target).await,
        ("watch", _) => watch(call, target).await,
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

async fn watch(call: &Call<'_>, target: Target) -> Result<Answer, ApiError> {
    if call.form.encoding == Encoding::Yaml {
        let why = "only the following media types are accepted: application/json;stream=watch, \
            application/vnd.kubernetes.protobuf;stream=watch";
        return Err(ApiError::new(406, "NotAcceptable", why));
    }
    let options = ListOptions::parse(call.query, true)?;
    if options.initial_events == Some(true)
        && let Some(revision) = options.revision
    {
        // What there is then, or a refusal.
        call.shared.registry.store.reach(revision, PATIENCE).await;
    }
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
    let mut options = options(call, "CreateOptions")?;
    let object = object(call, &target.kind, &mut options)?;
    let written = call.shared.registry.create(target, object, by(call, &options))?;
    Ok(shown(call, target, &written))
}

/// The object of the body; what a strict decoder holds against the text goes to the options.
fn object(call: &Call<'_>, kind: &Kind, options: &mut WriteOptions) -> Result<Value, ApiError> {
    let custom = kind.definition.is_some();
    let brought = body::object(&call.parts.headers, call.body, &kind.kind, custom)?;
    options.strict_errors = brought.strict_errors;
    Ok(brought.object)
}

/// Does what is asked of a part of a resource: `act` gets what was sent, read as the part's kind. The client is warned of it, whatever
/// comes of it.
fn part(
    call: &Call<'_>,
    target: &Target,
    options_kind: &str,
    act: impl FnOnce(Value, &WriteOptions) -> Result<Answer, ApiError>,
) -> Result<Answer, ApiError> {
    let mut options = options(call, options_kind)?;
    let name = &call.info.subresource;
    let kind = match target.kind.subresource(name) {
        Some(part) => Arc::new(target.kind.for_subresource(part)),
        None => target.kind.clone(),
    };
    // Of a custom resource's scale nothing is said but that its type is not known where it is decoded.
    let custom_scale = name == "scale" && target.kind.definition.is_some();
    let undecodable = |error: ApiError| match error.code {
        400 if custom_scale => {
            let why = "no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\"";
            ApiError::bad_request(why.to_owned())
        }
        _ => error,
    };
    let mut object = object(call, &kind, &mut options).map_err(undecodable)?;
    let target = Target::new(&kind, &target.namespace, &target.name);
    let registry = &call.shared.registry;
    let warnings = registry
        .read_question(&target, &mut object, name, by(call, &options))
        .map_err(undecodable)?;
    let mut answer = act(object, &options).map_err(|error| error.with_warnings(&warnings))?;
    respond::warn_first(&mut answer, &warnings);
    Ok(answer)
}

/// The answer of a part that says no more than that it was done.
fn done(call: &Call<'_>) -> Answer {
    let status =
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
    respond::value(201, call.form, &status)
}

/// A part names the same object as the path.
fn check_part_name(target: &Target, object: &Value, kind: &str) -> Result<(), ApiError> {
    if crate::meta::name(object) == target.name {
        return Ok(());
    }
    Err(ApiError::bad_request(format!(
        "name in URL does not match name in {kind} object"
    )))
}

fn update(call: &Call<'_>, target: &Target, part: &str) -> Result<Answer, ApiError> {
    let mut options = options(call, "UpdateOptions")?;
    let object = object(call, &target.kind, &mut options)?;
    let written = call
        .shared
        .registry
        .update(target, part, &object, by(call, &options))?;
    Ok(shown(call, target, &written))
}

fn patch(call: &Call<'_>, target: &Target, part: &str) -> Result<Answer, ApiError> {
    let media_type = body::media_type(&call.parts.headers);
    check_media_type(target, &media_type)?;
    let options = options(call, "PatchOptions")?;
    let registry = &call.shared.registry;
    let written = registry.patch(target, part, &media_type, call.body, by(call, &options))?;
    if part == "scale" {
        return scaled(call, target, &written);
    }
    Ok(shown(call, target, &written))
}

fn shown(call: &Call<'_>, target: &Target, written: &Written) -> Answer {
    let code = if written.created { 201 } else { 200 };
    let mut answer = respond::object(code, call.form, &target.kind, &written.object);
    respond::warn(&mut answer, &written.warnings);
    answer
}

/// The scale of what was written.
fn scaled(call: &Call<'_>, target: &Target, written: &Written) -> Result<Answer, ApiError> {
    let scale = call.shared.registry.scale(target, written.object.value())?;
    let mut answer = respond::value(200, call.form, &scale);
    respond::warn(&mut answer, &written.warnings);
    Ok(answer)
}

fn delete(call: &Call<'_>, target: &Target) -> Result<Answer, ApiError> {
    let options = DeleteOptions::parse(call.query, delete_body(call)?.as_ref())?;
    let warnings = preserved(&target.kind, &options);
    let deletion = call.shared.registry.delete(target, &options);
    let deletion = deletion.map_err(|error| error.with_warnings(warnings.as_slice()))?;
    let mut answer = deleted(call, target, deletion);
    respond::warn(&mut answer, warnings.as_slice());
    Ok(answer)
}

/// Who deletes jobs is told what becomes of their pods.
fn preserved(kind: &Kind, options: &DeleteOptions) -> Option<String> {
    let untold = kind.kind == "Job" && kind.group == "batch" && options.propagation.is_none();
    untold.then(|| {
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set \
         propagationPolicy=Orphan to suppress this warning"
            .to_owned()
    })
}

fn deleted(call: &Call<'_>, target: &Target, deletion: Deletion) -> Answer {
    match deletion {
        Deletion::Gone(object) if !target.kind.returns_deleted() => {
            let mut details = target.kind.details(&target.name);
            details["uid"] = object.value()["metadata"]["uid"].clone();
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
            });
            respond::value(200, call.form, &status)
        }
        Deletion::Gone(object) | Deletion::Pending(object) => {
            respond::object(200, call.form, &target.kind, &object)
        }
    }
}

fn delete_collection(call: &Call<'_>, target: &Target) -> Result<Answer, ApiError> {
    let selection = ListOptions::parse(call.query, false)?;
    let options = DeleteOptions::parse(call.query, delete_body(call)?.as_ref())?;
    let registry = &call.shared.registry;
    let listing = registry.delete_collection(target, &selection, &options)?;
    let mut answer = respond::list(call.form, &target.kind, &listing);
    respond::warn(&mut answer, preserved(&target.kind, &options).as_slice());
    Ok(answer)
}

fn delete_body(call: &Call<'_>) -> Result<Option<Value>, ApiError> {
    if call.body.is_empty() {
        return Ok(None);
    }
    let custom = call.shared.registry.catalog();
    let custom = custom
        .resource(&call.info.group, &call.info.version, &call.info.resource)
        .is_some_and(|kind| kind.definition.is_some());
    body::options(&call.parts.headers, call.body, custom).map(Some)
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
    part(call, target, "UpdateOptions", |mut scale, options| {
        // Who owns what is the resource's record, which comes in later.
        crate::meta::metadata_mut(&mut scale).remove("managedFields");
        let sent = object(call, &target.kind, &mut options.clone())?;
        if let (None, Value::Object(fields)) = (sent.get("kind"), &mut scale) {
            fields.remove("kind");
        }
        check_target(target, &mut scale)?;
        let registry = &call.shared.registry;
        let by = by(call, options);
        let written = registry.change(target, "scale", false, by, |old| {
            let old = old.unwrap_or(&Value::Null);
            Ok(registry.with_scale(target, old, scale.clone(), by)?.into())
        })?;
        scaled(call, target, &written)
    })
}

fn review(call: &Call<'_>, target: &Target, kind: &Kind) -> Result<Answer, ApiError> {
    part(call, target, "CreateOptions", |mut review, _| {
        let shared = call.shared;
        auth::review(
            &shared.registry,
            &shared.authenticator,
            call.user,
            kind,
            &target.namespace,
            &mut review,
        )?;
        Ok(respond::value(201, call.form, &review))
    })
}

/// A token for a service account.
fn token(call: &Call<'_>, target: &Target) -> Result<Answer, ApiError> {
    part(call, target, "CreateOptions", |request, _| {
        token_request::issue(call, target, request)
    })
}

/// Puts a pod on a node.
fn bind(call: &Call<'_>, target: &Target, kind: &Arc<Kind>) -> Result<Answer, ApiError> {
    part(call, target, "CreateOptions", |binding, options| {
        let registry = &call.shared.registry;
        let (pods, name) = if kind.kind == "Pod" {
            check_part_name(target, &binding, "Binding")?;
            (kind.clone(), target.name.as_str())
        } else {
            (registry.resource("", "pods")?, crate::meta::name(&binding))
        };
        let pod = Target::new(&pods, &target.namespace, name);
        registry.bind(&pod, &binding, by(call, options))?;
        Ok(done(call))
    })
}

/// Deletes a pod; no budget is asked.
fn evict(call: &Call<'_>, target: &Target) -> Result<Answer, ApiError> {
    part(call, target, "CreateOptions", |eviction, options| {
        check_part_name(target, &eviction, "Eviction")?;
        let deletion = eviction
            .get("deleteOptions")
            .filter(|options| options.is_object());
        let empty = json!({});
        let mut deletion = DeleteOptions::parse(call.query, Some(deletion.unwrap_or(&empty)))?;
        deletion.dry_run |= options.dry_run;
        call.shared.registry.delete(target, &deletion)?;
        Ok(done(call))
    })
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
