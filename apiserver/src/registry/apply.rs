//! Server-side apply.

use super::update::UpdatedObject;
use super::{Registry, Target, WriteContext, WriteResult};
use crate::apply::gvk;
use crate::auth::User;
use crate::meta;
use crate::request::{FieldValidation, WriteOptions};
use crate::status::{ApiError, Cause};
use crate::types::{self, ExplicitEmptyFields, json_kind};
use crate::yaml;
use serde_json::{Value, json};
use std::cell::Cell;

impl Registry {
    /// Applies a condition to the status of an object, as a part of the server with this field manager.
    pub(crate) fn apply_condition(
        &self,
        target: &Target,
        manager: &str,
        condition: &Value,
    ) -> Result<WriteResult, ApiError> {
        let configuration = json!({
            "apiVersion": target.kind.api_version(), "kind": target.kind.kind, "metadata": { "name": target.name },
            "status": { "conditions": [condition] },
        });
        let user = User::system();
        let options = WriteOptions {
            force: Some(true),
            ..WriteOptions::of_manager(manager)
        };
        self.patch(
            target,
            "status",
            "application/apply-patch+yaml",
            configuration.to_string().as_bytes(),
            WriteContext::new(&user, &options),
        )
    }

    /// Applies a configuration: merges its fields into the object and keeps the fields of other managers. Creates the object if it does not
    /// exist and the target allows it.
    pub(super) fn apply(
        &self,
        target: &Target,
        subresource: &str,
        body: &[u8],
        context: WriteContext<'_>,
    ) -> Result<WriteResult, ApiError> {
        if context.options.field_manager.is_empty() {
            let cause = Cause::required("fieldManager", "is required for apply patch");
            return Err(ApiError::invalid_of("meta.k8s.io", "PatchOptions", "", &[cause]));
        }
        let (config, repeated) = parse_config(body, context.options.field_validation)?;
        let is_applied = Cell::new(false);
        // Unknown fields were refused before, or are in a subresource without a schema.
        let options = WriteOptions {
            applied: true,
            field_validation: FieldValidation::Ignore,
            ..context.options.clone()
        };
        let strictness = context.options.field_validation;
        let creates = subresource.is_empty() || target.kind.allows_create_on_update(subresource);
        let written = self.guaranteed_update(
            target,
            subresource,
            creates,
            WriteContext {
                options: &options,
                ..context
            },
            |old| {
                if subresource == "scale" {
                    let old = old.unwrap_or(&Value::Null);
                    let context = WriteContext {
                        options: &options,
                        ..context
                    };
                    let object = self.with_patched_scale(target, old, config.clone(), context)?;
                    is_applied.set(true);
                    return refuse_repeated(&repeated, strictness).map(|()| object.into());
                }
                let mut object = self.apply_config(target, old, &config, subresource, context)?;
                is_applied.set(true);
                refuse_repeated(&repeated, strictness)?;
                check_convertible(target, &config, &mut object)?;
                if old.is_none() {
                    check_created_by_apply(target, &config)?;
                }
                let empties = ExplicitEmptyFields::of(&object);
                let Some(old) = old else {
                    return Ok(UpdatedObject { object, empties });
                };
                self.decode(target, &mut object, &options)?;
                if meta::resource_version(&config).is_empty() {
                    let version = old["metadata"]["resourceVersion"].clone();
                    meta::metadata_mut(&mut object).insert("resourceVersion".into(), version);
                }
                Ok(UpdatedObject { object, empties })
            },
        );
        if is_applied.get() && strictness == FieldValidation::Warn {
            return WriteResult::with_decode_warnings(written, &repeated);
        }
        written
    }
}

/// Refuses keys that a configuration sets twice. kube-apiserver checks them when it has applied the configuration.
fn refuse_repeated(repeated: &[String], validation: FieldValidation) -> Result<(), ApiError> {
    if repeated.is_empty() || validation != FieldValidation::Strict {
        return Ok(());
    }
    let why = yaml::unmarshal_errors(repeated);
    Err(ApiError::bad_request(format!(
        "error strict decoding YAML: error converting YAML to JSON: {why}"
    )))
}

/// Checks a configuration that creates its object: a name is required, a uid is refused.
fn check_created_by_apply(target: &Target, config: &Value) -> Result<(), ApiError> {
    let uid = meta::uid(config);
    if !uid.is_empty() {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        return Err(ApiError::conflict(&target.kind, &target.name, why));
    }
    if meta::name(config).is_empty() {
        return Err(name_required(target));
    }
    Ok(())
}

/// Checks that the result of an apply can be converted to the Go type. Errors are 500: kube-apiserver converts the result with code that
/// does not expect errors and has messages of its own.
fn check_convertible(target: &Target, config: &Value, object: &mut Value) -> Result<(), ApiError> {
    let kind = &target.kind;
    let Some(ty) = types::builtin(&kind.api_version(), &kind.kind) else {
        return Ok(());
    };
    let Some(why) = types::conversion_error(object, ty) else {
        return Ok(());
    };
    let kind = gvk(&kind.api_version(), &kind.kind);
    let metadata_text = |key: &str| config["metadata"][key].as_str().unwrap_or_default();
    let (namespace, name) = (metadata_text("namespace"), metadata_text("name"));
    Err(ApiError::new(
        500,
        "",
        format!(
            "failed to convert new object ({namespace}/{name}; {kind}) to proper version: \
             unable to convert unstructured object to {kind}: {why}"
        ),
    ))
}

/// Parses a configuration. Returns also the keys that it sets twice, unless fields are not validated.
fn parse_config(body: &[u8], validation: FieldValidation) -> Result<(Value, Vec<String>), ApiError> {
    let refuse = |why: String| ApiError::bad_request(format!("error decoding YAML: {why}"));
    let mut repeated = vec![];
    let mut value = match serde_json::from_slice(body) {
        Ok(value) => value,
        // serde_json stops at 128 levels; YAML would not accept deeper values either.
        Err(error) if error.to_string().starts_with("recursion limit exceeded") => {
            types::decode(body).map_err(refuse)?.value
        }
        Err(_) => {
            let text = std::str::from_utf8(body).map_err(|error| refuse(error.to_string()))?;
            let read = yaml::parse(text);
            let read = read.map_err(|why| refuse(format!("error converting YAML to JSON: {why}")))?;
            repeated = read.strict_errors;
            read.value
        }
    };
    // JSON is YAML, too, and only the YAML parser knows the lines.
    if validation != FieldValidation::Ignore
        && types::decode(body).is_ok_and(|decoded| !decoded.duplicates.is_empty())
        && let Ok(text) = std::str::from_utf8(body)
    {
        repeated = yaml::parse(text).map_or(vec![], |read| read.strict_errors);
    }
    types::floats_to_integers(&mut value);
    if matches!(value, Value::Object(_) | Value::Null) {
        return Ok((value, repeated));
    }
    let found = json_kind(&value);
    Err(refuse(format!(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
    )))
}

/// The 400 for an object without a required name.
pub(super) fn name_required(target: &Target) -> ApiError {
    ApiError::bad_request(format!(
        "the name of the object ({} based on URL) was undeterminable: name must be provided",
        target.name
    ))
}
