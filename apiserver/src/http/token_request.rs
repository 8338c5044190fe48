//! TokenRequests: tokens of service accounts.

use super::resources::RequestContext;
use super::stored_name::check_stored_name;
use crate::auth;
use crate::meta::text;
use crate::quote::quoted;
use crate::registry::Target;
use crate::render::{ApiResponse, respond};
use crate::status::{self, ApiError, Cause};
use crate::storage::Object;
use serde_json::{Value, json};
use std::sync::Arc;

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";
/// The audit annotation of the issued token.
const ISSUED_CREDENTIAL: &str = "authentication.kubernetes.io/issued-credential-id";

/// Issues a token for a service account.
pub(super) fn issue(
    context: &RequestContext<'_>,
    target: &Target,
    mut request: Value,
) -> Result<ApiResponse, ApiError> {
    const MIN_SECONDS: i64 = 600;
    const MAX_SECONDS: i64 = 1 << 32;
    let invalid = |name: &str, field: &str, value: &Value, why: &str| {
        let cause = Cause::invalid(field, value, why);
        ApiError::invalid_of(GROUP, KIND, name, &[cause])
    };
    let metadata = &request["metadata"];
    let name = text(metadata, "name");
    if !name.is_empty() && name != target.name {
        let why = "must match the service account name if specified";
        return Err(invalid(&target.name, "metadata.name", &metadata["name"], why));
    }
    let account = context.state.registry.get(target)?;
    check_uid(target, text(metadata, "uid"), crate::meta::uid(account.value()))?;
    let seconds = request["spec"]["expirationSeconds"].as_i64().unwrap_or(3600);
    let why = match seconds {
        ..MIN_SECONDS => "may not specify a duration less than 10 minutes",
        MIN_SECONDS..=MAX_SECONDS => "",
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    if !why.is_empty() {
        return Err(invalid("", "spec.expirationSeconds", &json!(seconds), why));
    }
    let bound = bound_object(context, target, &request["spec"]["boundObjectRef"])?;
    let accounts = &context.state.authenticator.accounts;
    let spec = crate::meta::entry_mut(&mut request, "spec");
    let audiences = spec.get("audiences").and_then(Value::as_array);
    let audiences: Vec<String> = match audiences {
        Some(audiences) if !audiences.is_empty() => audiences
            .iter()
            .filter_map(|audience| audience.as_str().map(str::to_owned))
            .collect(),
        _ => accounts.audiences().to_vec(),
    };
    let issued = accounts.issue(
        &context.state.registry.store,
        account.value(),
        &audiences,
        seconds,
        bound.as_deref().map(Object::value),
    );
    let issued = issued.map_err(ApiError::internal)?;
    let expiry = jiff::Timestamp::from_second(issued.expiry).map_err(ApiError::internal)?;
    spec.insert("audiences".into(), json!(audiences));
    spec.insert("expirationSeconds".into(), json!(seconds));
    spec.entry("boundObjectRef").or_insert(Value::Null);
    let metadata = crate::meta::metadata_mut(&mut request);
    metadata.insert("name".into(), json!(target.name));
    metadata.insert("uid".into(), account.value()["metadata"]["uid"].clone());
    metadata.insert("creationTimestamp".into(), json!(crate::meta::now()));
    request["status"] = json!({ "token": issued.token, "expirationTimestamp": expiry.to_string() });
    let kind = target
        .kind
        .subresource("token")
        .map(|token| target.kind.for_subresource(token));
    let response = respond::unstored(
        201,
        context.format,
        kind.as_ref().unwrap_or(&target.kind),
        &request,
    )?;
    context.report.annotate(ISSUED_CREDENTIAL, issued.credential_id);
    Ok(response)
}

/// Refuses a request for an account with another uid.
fn check_uid(target: &Target, sent: &str, existing: &str) -> Result<(), ApiError> {
    if sent.is_empty() || sent == existing {
        return Ok(());
    }
    let why = format!(
        "the UID in the token request ({sent}) does not match the UID of the service account ({existing})"
    );
    Err(conflict(GROUP, KIND, &target.name, &why))
}

/// The 409 about an object of a kind: unlike other conflicts, these name the kind instead of the resource.
fn conflict(group: &str, kind: &str, name: &str, why: &str) -> ApiError {
    let dot = if group.is_empty() { "" } else { "." };
    let message = format!(
        "Operation cannot be fulfilled on {kind}{dot}{group} {}: {why}",
        quoted(name)
    );
    ApiError::with_details(409, "Conflict", message, status::details(name, group, kind))
}

/// Returns the object that the token is bound to, if any.
fn bound_object(
    context: &RequestContext<'_>,
    account: &Target,
    reference: &Value,
) -> Result<Option<Arc<Object>>, ApiError> {
    if reference.is_null() {
        return Ok(None);
    }
    let [version, kind, name, uid] = ["apiVersion", "kind", "name", "uid"].map(|key| text(reference, key));
    let (group, version) = crate::meta::split_api_version(version);
    let bindable = auth::BINDABLE_KINDS
        .iter()
        .find(|(bindable, _)| *bindable == kind);
    // Any version of the core group will do.
    let Some((_, plural)) = bindable.filter(|_| group.is_empty()) else {
        return Err(ApiError::bad_request(format!(
            "cannot bind token to object of type {group}/{version}, Kind={kind}"
        )));
    };
    check_stored_name(name)?;
    let registry = &context.state.registry;
    let resource = registry.resource("", plural)?;
    let namespace = if resource.namespaced {
        &account.namespace
    } else {
        ""
    };
    let found = registry.get(&Target::new(&resource, namespace, name))?;
    let object = found.value();
    if kind == "Pod" && text(&object["spec"], "serviceAccountName") != account.name {
        return Err(ApiError::bad_request(format!(
            "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
            account.name
        )));
    }
    if !uid.is_empty() && uid != crate::meta::uid(object) {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(conflict("", kind, name, &why));
    }
    Ok(Some(found))
}
