//! Server-side apply.

use super::managed::applied;
use super::update::Read;
use super::{Bodied, FieldValidation, Registry, Target, WriteOptions, Written};
use crate::apply::gvk;
use crate::meta;
use crate::status::{ApiError, Cause};
use crate::types::{self, Empties, json_kind};
use crate::yaml;
use serde_json::Value;

impl Registry {
    /// Applies a configuration: the object has these fields, and whoever has others keeps them. It is created where it is not.
    pub(super) fn apply(
        &self,
        target: &Target,
        part: &str,
        body: &[u8],
        by: Bodied<'_>,
    ) -> Result<Written, ApiError> {
        if by.options.field_manager.is_empty() {
            let cause = Cause::required("fieldManager", "is required for apply patch");
            return Err(ApiError::invalid_of("meta.k8s.io", "PatchOptions", "", &[cause]));
        }
        let config = read(body)?;
        // A field that is unknown was refused before, or stands where the schema says nothing.
        let options = WriteOptions {
            applied: true,
            field_validation: FieldValidation::Ignore,
            ..by.options.clone()
        };
        let creates = part.is_empty() || target.kind.creates_on_update(part);
        self.change(target, part, creates, Bodied::new(by.user, &options), |old| {
            if part == "scale" {
                let old = old.unwrap_or(&Value::Null);
                let by = Bodied::new(by.user, &options);
                return Ok(self.with_scale(target, old, config.clone(), by)?.into());
            }
            let mut object = applied(target, old, &config, part, by)?;
            check_convertible(target, &config, &mut object)?;
            if old.is_none() {
                check_new(target, &config)?;
            }
            let empties = Empties::of(&object);
            let Some(old) = old else {
                return Ok(Read { object, empties });
            };
            self.decode(target, &mut object, &options)?;
            if meta::resource_version(&config).is_empty() {
                let version = old["metadata"]["resourceVersion"].clone();
                meta::metadata_mut(&mut object).insert("resourceVersion".into(), version);
            }
            Ok(Read { object, empties })
        })
    }
}

/// What is not there yet has a name, and no uid.
fn check_new(target: &Target, config: &Value) -> Result<(), ApiError> {
    let uid = meta::uid(config);
    if !uid.is_empty() {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        return Err(ApiError::conflict(&target.kind, &target.name, why));
    }
    if meta::name(config).is_empty() {
        return Err(unnamed(target));
    }
    Ok(())
}

/// What an apply made is converted, not decoded: by code that says other things, and whose refusals nobody expects.
fn check_convertible(target: &Target, config: &Value, object: &mut Value) -> Result<(), ApiError> {
    let kind = &target.kind;
    let Some(ty) = types::builtin(&kind.api_version(), &kind.kind) else {
        return Ok(());
    };
    let Some(why) = types::inconvertible(object, ty) else {
        return Ok(());
    };
    let kind = gvk(&kind.api_version(), &kind.kind);
    let said = |key: &str| config["metadata"][key].as_str().unwrap_or_default();
    let (namespace, name) = (said("namespace"), said("name"));
    Err(ApiError::new(
        500,
        "",
        format!(
            "failed to convert new object ({namespace}/{name}; {kind}) to proper version: \
             unable to convert unstructured object to {kind}: {why}"
        ),
    ))
}

fn read(body: &[u8]) -> Result<Value, ApiError> {
    let refuse = |why: String| ApiError::bad_request(format!("error decoding YAML: {why}"));
    let value = match serde_json::from_slice(body) {
        Ok(value) => value,
        // That is at 128 levels; what is deep is not read as YAML either.
        Err(error) if error.to_string().starts_with("recursion limit exceeded") => {
            types::decode(body).map_err(refuse)?.value
        }
        Err(_) => {
            let text = std::str::from_utf8(body).map_err(|error| refuse(error.to_string()))?;
            let read = yaml::parse(text);
            read.map_err(|why| refuse(format!("error converting YAML to JSON: {why}")))?
                .value
        }
    };
    if matches!(value, Value::Object(_) | Value::Null) {
        return Ok(value);
    }
    let found = json_kind(&value);
    Err(refuse(format!(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
    )))
}

/// An object that does not say its name, where it has to.
pub(super) fn unnamed(target: &Target) -> ApiError {
    ApiError::bad_request(format!(
        "the name of the object ({} based on URL) was undeterminable: name must be provided",
        target.name
    ))
}
