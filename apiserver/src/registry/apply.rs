//! Server-side apply.

use super::managed::applied;
use super::{Bodied, Registry, Target, WriteOptions, Written};
use crate::meta;
use crate::status::{ApiError, Cause};
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
        let mut written = self.change(target, part, creates, Bodied::new(by.user, &options), |old| {
            if part == "scale" {
                let old = old.unwrap_or(&Value::Null);
                return self.with_scale(target, old, config.clone(), by);
            }
            if old.is_none() && meta::name(&config).is_empty() {
                return Err(unnamed(target));
            }
            let mut object = applied(target, old, &config, part, by)?;
            let Some(old) = old else { return Ok(object) };
            warnings = self.decode(target, &mut object, by.options)?;
            if meta::resource_version(&config).is_empty() {
                let version = old["metadata"]["resourceVersion"].clone();
                meta::metadata_mut(&mut object).insert("resourceVersion".into(), version);
            }
            Ok(object)
        })?;
        written.warnings.extend(warnings);
        Ok(written)
    }
}

fn read(body: &[u8]) -> Result<Value, ApiError> {
    let refuse = |why: String| ApiError::bad_request(format!("error decoding YAML: {why}"));
    let value = if let Ok(value) = serde_json::from_slice(body) {
        value
    } else {
        let text = std::str::from_utf8(body).map_err(|error| refuse(error.to_string()))?;
        yaml::read(text).map_err(|error| refuse(error.to_string()))?
    };
    let found = match &value {
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Object(_) | Value::Null => return Ok(value),
    };
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
