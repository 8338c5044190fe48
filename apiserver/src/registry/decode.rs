//! The object of a request: of the right kind, with metadata that is metadata.

use super::{FieldValidation, Registry, Target, WriteOptions};
use crate::builtin;
use crate::kinds::{Catalog, Kind};
use crate::meta;
use crate::status::{ApiError, Cause};
use crate::strategy;
use crate::types::{self, Fault};
use serde_json::Value;

impl Registry {
    /// Checks the kind, drops what no field is, and returns what the client should be warned of.
    pub(super) fn decode(
        &self,
        target: &Target,
        object: &mut Value,
        options: &WriteOptions,
    ) -> Result<Vec<String>, ApiError> {
        let kind = &target.kind;
        check_type(&self.catalog(), kind, object)?;
        let unknown = check_fields(kind, object)?;
        meta::normalise(object, &kind.kind, &kind.version)?;
        report(kind, unknown, options.field_validation)
    }
}

/// Removes unknown fields, tells of them, and fills in defaults.
fn check_fields(kind: &Kind, object: &mut Value) -> Result<Vec<String>, ApiError> {
    if let Some(definition) = &kind.definition {
        let Some(version) = definition.version(&kind.version) else {
            return Ok(vec![]);
        };
        let unknown = version.schema.prune(object);
        version.schema.drop_nulls(object);
        version.schema.default(object);
        return Ok(unknown
            .iter()
            .map(|path| format!("unknown field {path:?}"))
            .collect());
    }
    let Some(ty) = types::builtin(&kind.api_version(), &kind.kind) else {
        return Ok(vec![]);
    };
    let mut unknown = vec![];
    for fault in types::check(object, ty, true) {
        match fault {
            Fault::Unknown(_) => unknown.push(fault.to_string()),
            Fault::Mismatch(why) => return Err(undecodable(kind, &why)),
        }
    }
    types::normalize(object, ty);
    builtin::default(object, ty);
    strategy::read(kind, object);
    Ok(unknown)
}

/// What is said of unknown fields.
fn report(kind: &Kind, unknown: Vec<String>, validation: FieldValidation) -> Result<Vec<String>, ApiError> {
    match validation {
        FieldValidation::Ignore => Ok(vec![]),
        FieldValidation::Warn => Ok(unknown),
        FieldValidation::Strict if unknown.is_empty() => Ok(unknown),
        FieldValidation::Strict => {
            let why = format!("strict decoding error: {}", unknown.join(", "));
            Err(undecodable(kind, &why))
        }
    }
}

/// What is not said about kind and version is what the path says; custom resources must say it.
fn check_type(catalog: &Catalog, kind: &Kind, object: &mut Value) -> Result<(), ApiError> {
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let (version, named, expected) = (text("apiVersion"), text("kind"), kind.api_version());
    if kind.definition.is_some() {
        check_custom_type(kind, object, (&version, &named), &expected)?;
    } else if !named.is_empty() && named != kind.kind || !version.is_empty() && version != expected {
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
        let why = if catalog.kind(&version, &named).is_some() {
            let package = package.unwrap_or("core");
            format!(
                "converting ({short}.{named}) to ({package}.{}): unknown conversion",
                kind.kind
            )
        } else {
            format!(
                "no kind {named:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
            )
        };
        return Err(ApiError::bad_request(format!(
            "{named} in version {short:?} cannot be handled as a {}: {why}",
            kind.kind
        )));
    }
    object["kind"] = kind.kind.clone().into();
    object["apiVersion"] = expected.into();
    Ok(())
}

fn check_custom_type(
    kind: &Kind,
    object: &Value,
    (version, named): (&str, &str),
    expected: &str,
) -> Result<(), ApiError> {
    if version.is_empty() || named.is_empty() {
        let missing = if named.is_empty() { "Kind" } else { "apiVersion" };
        let text = serde_json::to_string(object).unwrap_or_default();
        return Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): Object '{missing}' is missing in '{text}' ({text})",
            kind.kind
        )));
    }
    if version != expected {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        )));
    }
    if named != kind.kind {
        let cause = Cause::invalid("kind", &object["kind"], format!("must be {}", kind.kind));
        return Err(ApiError::invalid_of(
            &kind.group,
            named,
            meta::name(object),
            &[cause],
        ));
    }
    Ok(())
}

fn undecodable(kind: &Kind, why: &str) -> ApiError {
    ApiError::bad_request(format!(
        "{} in version {:?} cannot be handled as a {}: {why}",
        kind.kind, kind.version, kind.kind
    ))
}

/// What is said of a patch that a strict decoder would refuse.
pub(super) fn report_strict(
    kind: &Kind,
    errors: Vec<String>,
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<(), ApiError> {
    warnings.extend(report(kind, errors, validation)?);
    Ok(())
}
