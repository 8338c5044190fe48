//! Server-side apply.

use super::managed::applied;
use super::{Bodied, Registry, Target, WriteOptions, Written};
use crate::meta;
use crate::status::{ApiError, Cause};
use crate::types::json_kind;
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
        let options = WriteOptions {
            applied: true,
            ..by.options.clone()
        };
        let mut warnings = vec![];
        let creates = part.is_empty();
        let written = self.change(target, part, creates, Bodied::new(by.user, &options), |old| {
            if part == "scale" {
                let old = old.unwrap_or(&Value::Null);
                return self.with_scale(target, old, config.clone(), Bodied::new(by.user, &options));
            }
            if old.is_none() {
                check_new(target, &config)?;
            }
            let mut object = applied(target, old, &config, part, by)?;
            let Some(old) = old else { return Ok(object) };
            warnings = self.decode(target, &mut object, &options)?;
            if meta::resource_version(&config).is_empty() {
                let version = old["metadata"]["resourceVersion"].clone();
                meta::metadata_mut(&mut object).insert("resourceVersion".into(), version);
            }
            Ok(object)
        });
        Written::warned(written, &warnings)
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

fn read(body: &[u8]) -> Result<Value, ApiError> {
    let refuse = |why: String| ApiError::bad_request(format!("error decoding YAML: {why}"));
    let value = if let Ok(value) = serde_json::from_slice(body) {
        value
    } else {
        let text = std::str::from_utf8(body).map_err(|error| refuse(error.to_string()))?;
        let read = yaml::read(text);
        read.map_err(|why| refuse(format!("error converting YAML to JSON: {why}")))?
            .value
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
