//! Decoding of request bodies: type check, unknown fields, defaults.

use super::create::check_namespace;
use super::{Registry, Target, WriteContext};
use crate::kinds::{Catalog, Kind};
use crate::meta;
use crate::request::{FieldValidation, WriteOptions, body::excerpt};
use crate::schema::Schema;
use crate::status::{ApiError, Cause};
use crate::strategy;
use crate::types;
use crate::yaml;
use serde_json::Value;

/// The reason why a body cannot be decoded as an object of the kind.
pub(super) struct ObjectDecodeError {
    /// The decoder's message alone; empty if something else refused the body.
    pub(super) why: String,
    /// The error to return if the object is the body of the request.
    pub(super) error: Box<ApiError>,
}

impl ObjectDecodeError {
    /// An error of the decoder.
    fn new(kind: &Kind, version: &str, named: &str, why: String) -> Self {
        let error = ApiError::bad_request(format!(
            "{named} in version {version:?} cannot be handled as a {}: {why}",
            kind.kind
        ));
        Self {
            why,
            error: Box::new(error),
        }
    }
}

impl From<ApiError> for ObjectDecodeError {
    fn from(error: ApiError) -> Self {
        Self {
            why: String::new(),
            error: Box::new(error),
        }
    }
}

impl Registry {
    /// Checks the type, prunes unknown fields, sets defaults, and returns warnings for the client.
    pub(super) fn decode(
        &self,
        target: &Target,
        object: &mut Value,
        options: &WriteOptions,
    ) -> Result<Vec<String>, ApiError> {
        self.try_decode(target, object, options)
            .map_err(|error| *error.error)
    }

    /// Like [`Self::decode`], but the error also carries the decoder's message alone.
    pub(super) fn try_decode(
        &self,
        target: &Target,
        object: &mut Value,
        options: &WriteOptions,
    ) -> Result<Vec<String>, ObjectDecodeError> {
        let kind = &target.kind;
        check_type(&self.catalog(), kind, object, options)?;
        let mut strict_errors = options.strict_errors.clone();
        let owned = object["metadata"]["managedFields"].as_array();
        let disowns = owned.is_some_and(Vec::is_empty);
        let pruned = strategy::prune_and_default(kind, object, options.applied);
        let pruned = pruned.map_err(|why| ObjectDecodeError::new(kind, &kind.version, &kind.kind, why))?;
        strict_errors.extend(pruned);
        if let (None, Some(body)) = (&kind.definition, &options.json) {
            types::sort_strict_errors(&mut strict_errors, body);
        }
        meta::normalize_metadata(object);
        if disowns {
            // An explicitly empty list resets the managers; an absent one does not.
            meta::metadata_mut(object).insert("managedFields".into(), Value::Array(vec![]));
        }
        apply_field_validation(kind, &kind.version, strict_errors, options.field_validation)
    }

    /// Decodes an object that is answered but not stored, such as a review.
    pub(crate) fn decode_virtual_resource(
        &self,
        target: &Target,
        object: &mut Value,
        subresource: &str,
        context: WriteContext<'_>,
    ) -> Result<Vec<String>, ApiError> {
        let warnings = self.decode(target, object, context.options)?;
        // The namespace of a scale is checked with its name.
        if subresource != "scale" {
            check_namespace(target, object)?;
        }
        self.track_fields(&target.kind, None, object, subresource, context);
        Ok(warnings)
    }
}

/// Turns unknown fields into nothing, warnings or an error, as `fieldValidation` requests.
fn apply_field_validation(
    kind: &Kind,
    version: &str,
    unknown: Vec<String>,
    validation: FieldValidation,
) -> Result<Vec<String>, ObjectDecodeError> {
    match validation {
        FieldValidation::Ignore => Ok(vec![]),
        FieldValidation::Warn => Ok(unknown),
        FieldValidation::Strict if unknown.is_empty() => Ok(unknown),
        FieldValidation::Strict => {
            let (mut yaml_errors, mut unknown): (Vec<String>, Vec<String>) =
                unknown.into_iter().partition(|error| error.starts_with("line "));
            if !yaml_errors.is_empty() {
                yaml_errors = vec![yaml::unmarshal_errors(&yaml_errors)];
            }
            yaml_errors.append(&mut unknown);
            let why = format!("strict decoding error: {}", yaml_errors.join(", "));
            Err(ObjectDecodeError::new(kind, version, &kind.kind, why))
        }
    }
}

/// Checks apiVersion and kind. Built-in kinds take missing ones from the path; custom resources must set both.
fn check_type(
    catalog: &Catalog,
    kind: &Kind,
    object: &mut Value,
    options: &WriteOptions,
) -> Result<(), ObjectDecodeError> {
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let (version, named, expected) = (text("apiVersion"), text("kind"), kind.api_version());
    if kind.definition.is_some() {
        check_custom_type(kind, object, (&version, &named), options)?;
        object["kind"] = kind.kind.clone().into();
        object["apiVersion"] = expected.into();
        return Ok(());
    }
    let version = meta::without_empty_group(&version).to_owned();
    let is_older_eviction = named == "Eviction" && version == "policy/v1beta1" && named == kind.kind;
    let is_other = !named.is_empty() && named != kind.kind || !version.is_empty() && version != expected;
    if named == "Scale" && named == kind.kind && OLDER_SCALES.contains(&version.as_str()) {
        return Err(ObjectDecodeError::from(version_mismatch(&version, &expected)));
    }
    if is_other && !is_older_eviction {
        let version = if version.is_empty() {
            expected.clone()
        } else {
            version
        };
        let named = if named.is_empty() {
            kind.kind.clone()
        } else {
            named
        };
        let short = version.rsplit('/').next().unwrap_or_default();
        let package = kind.group.split('.').next().filter(|group| !group.is_empty());
        let ty = types::builtin(&version, &named);
        let mismatch = ty.and_then(|ty| strategy::first_mismatch(&mut object.clone(), ty));
        // `v1` `List` is known to the scheme but is not a resource.
        let is_list = (version.as_str(), named.as_str()) == ("v1", "List");
        let known = ty.is_some() || catalog.kind(&version, &named).is_some() || is_list;
        let why = match mismatch {
            Some(why) => why,
            None if known => {
                let package = package.unwrap_or("core");
                format!(
                    "converting ({short}.{named}) to ({package}.{}): unknown conversion",
                    kind.kind
                )
            }
            None => format!(
                "no kind {named:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
            ),
        };
        return Err(ObjectDecodeError::new(kind, short, &named, why));
    }
    object["kind"] = kind.kind.clone().into();
    object["apiVersion"] = expected.into();
    Ok(())
}

/// The API versions that scales had before.
const OLDER_SCALES: [&str; 3] = ["apps/v1beta1", "apps/v1beta2", "extensions/v1beta1"];

/// The 400 for an object in another API version than that of the path.
fn version_mismatch(version: &str, expected: &str) -> ApiError {
    ApiError::bad_request(format!(
        "the API version in the data ({version}) does not match the expected API version ({expected})"
    ))
}

fn check_custom_type(
    kind: &Kind,
    object: &Value,
    (version, named): (&str, &str),
    options: &WriteOptions,
) -> Result<(), ObjectDecodeError> {
    if named.is_empty() {
        let text = serde_json::to_string(object).unwrap_or_default();
        return Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{text}' ({})",
            kind.kind,
            excerpt(text.as_bytes())
        ))
        .into());
    }
    let expected = kind.api_version();
    if version != expected {
        let warnings = check_other_version(kind, object, version, options)?;
        let error = version_mismatch(version, &expected);
        return Err(error.with_warnings(&warnings).into());
    }
    if named != kind.kind {
        let cause = Cause::invalid("kind", &object["kind"], format!("must be {}", kind.kind));
        return Err(ApiError::invalid_of(&kind.group, named, meta::name(object), &[cause]).into());
    }
    Ok(())
}

/// Checks the fields of a custom resource in another version than that of the path, before it is refused. Returns the warnings. A version
/// that the definition lacks has no fields.
fn check_other_version(
    kind: &Kind,
    object: &Value,
    version: &str,
    options: &WriteOptions,
) -> Result<Vec<String>, ObjectDecodeError> {
    let (group, version) = version.split_once('/').unwrap_or_default();
    let mut strict_errors = options.strict_errors.clone();
    if let Some(definition) = &kind.definition
        && (group, &object["kind"]) == (&kind.group, &Value::from(kind.kind.as_str()))
    {
        let without_fields = Schema::new(&Value::Null);
        let found = definition.version(version);
        let schema = found.map_or(&without_fields, |version| &version.schema);
        let unknown = schema.decode(&mut object.clone(), false);
        let unknown =
            unknown.map_err(|why| ObjectDecodeError::new(kind, version, &kind.kind, why.to_string()))?;
        strict_errors.extend(unknown.iter().map(|path| format!("unknown field \"{path}\"")));
    }
    apply_field_validation(kind, version, strict_errors, options.field_validation)
}
