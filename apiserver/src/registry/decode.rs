//! The object of a request: of the right kind, with metadata that is metadata.

use super::create::check_namespace;
use super::managed::track_fields;
use super::{Bodied, FieldValidation, Registry, Target, WriteOptions};
use crate::builtin;
use crate::kinds::{Catalog, Kind};
use crate::meta;
use crate::status::{ApiError, Cause};
use crate::strategy;
use crate::types::{self, Fault, Type};
use serde_json::{Map, Value};

/// Why what was sent is no object of the kind.
pub(super) struct Undecodable {
    /// In the words of the decoder alone; empty where it was not the decoder that refused it.
    pub(super) why: String,
    /// What is said where it was the body of a request.
    pub(super) error: Box<ApiError>,
}

impl Undecodable {
    /// Refused by the decoder.
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

impl From<ApiError> for Undecodable {
    fn from(error: ApiError) -> Self {
        Self {
            why: String::new(),
            error: Box::new(error),
        }
    }
}

impl Registry {
    /// Checks the kind, drops what no field is, and returns what the client should be warned of.
    pub(super) fn decode(
        &self,
        target: &Target,
        object: &mut Value,
        options: &WriteOptions,
    ) -> Result<Vec<String>, ApiError> {
        self.try_decode(target, object, options)
            .map_err(|refusal| *refusal.error)
    }

    /// The same, with the words of the decoder alone.
    pub(super) fn try_decode(
        &self,
        target: &Target,
        object: &mut Value,
        options: &WriteOptions,
    ) -> Result<Vec<String>, Undecodable> {
        let kind = &target.kind;
        check_type(&self.catalog(), kind, object)?;
        let mut faults = options.strict_errors.clone();
        let owned = object["metadata"]["managedFields"].as_array();
        let disowns = owned.is_some_and(Vec::is_empty);
        faults.extend(check_fields(kind, object, options.applied)?);
        meta::normalize_metadata(object);
        if disowns {
            // No owners are not the same as not a word of owners.
            meta::metadata_mut(object).insert("managedFields".into(), Value::Array(vec![]));
        }
        report(kind, faults, options.field_validation)
    }

    /// Reads an object that is answered and not kept.
    pub(crate) fn read_question(
        &self,
        target: &Target,
        object: &mut Value,
        part: &str,
        by: Bodied<'_>,
    ) -> Result<Vec<String>, ApiError> {
        let warnings = self.decode(target, object, by.options)?;
        check_namespace(target, object)?;
        track_fields(&target.kind, None, object, part, by);
        Ok(warnings)
    }
}

/// Removes unknown fields, tells of them, and fills in defaults. What an apply made is not read: its nulls stay.
fn check_fields(kind: &Kind, object: &mut Value, applied: bool) -> Result<Vec<String>, Undecodable> {
    if let Some(definition) = &kind.definition {
        let Some(version) = definition.version(&kind.version) else {
            return Ok(vec![]);
        };
        // What an apply made was typed before, times as texts.
        if !applied {
            check_metadata(kind, &mut object["metadata"])?;
        }
        let unknown = version.schema.prune(object);
        if !applied {
            version.schema.drop_nulls(object);
        }
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
            Fault::Mismatch(why) => return Err(Undecodable::new(kind, &kind.version, &kind.kind, why)),
        }
    }
    // Of a node: what was sent empty is nobody's when it is filled in, as that is done when it has been kept.
    let is_empty = kind.kind == "Node"
        && object["status"]["allocatable"]
            .as_object()
            .is_some_and(Map::is_empty);
    types::normalize(object, ty);
    builtin::default(object, ty);
    if is_empty && let Some(Value::Object(status)) = object.get_mut("status") {
        status.remove("allocatable");
    }
    strategy::read(kind, object);
    Ok(unknown)
}

/// A custom resource's metadata is read by itself.
fn check_metadata(kind: &Kind, metadata: &mut Value) -> Result<(), Undecodable> {
    match mismatch(metadata, &Type::named("meta.v1.ObjectMeta")) {
        Some(why) => Err(Undecodable::new(kind, &kind.version, &kind.kind, why)),
        None => Ok(()),
    }
}

/// What the decoder stops at.
fn mismatch(value: &mut Value, ty: &Type) -> Option<String> {
    let mut faults = types::check(value, ty, false).into_iter();
    faults.find_map(|fault| match fault {
        Fault::Mismatch(why) => Some(why),
        Fault::Unknown(_) => None,
    })
}

/// What is said of unknown fields.
fn report(
    kind: &Kind,
    unknown: Vec<String>,
    validation: FieldValidation,
) -> Result<Vec<String>, Undecodable> {
    match validation {
        FieldValidation::Ignore => Ok(vec![]),
        FieldValidation::Warn => Ok(unknown),
        FieldValidation::Strict if unknown.is_empty() => Ok(unknown),
        FieldValidation::Strict => {
            let why = format!("strict decoding error: {}", unknown.join(", "));
            Err(Undecodable::new(kind, &kind.version, &kind.kind, why))
        }
    }
}

/// What is not said about kind and version is what the path says; custom resources must say it.
fn check_type(catalog: &Catalog, kind: &Kind, object: &mut Value) -> Result<(), Undecodable> {
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
        let ty = types::builtin(&version, &named);
        let mismatch = ty.and_then(|ty| mismatch(&mut object.clone(), ty));
        let known = ty.is_some() || catalog.kind(&version, &named).is_some() || is_list(&version, &named);
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
        return Err(Undecodable::new(kind, short, &named, why));
    }
    object["kind"] = kind.kind.clone().into();
    object["apiVersion"] = expected.into();
    Ok(())
}

/// A list of anything, which is no resource.
fn is_list(version: &str, named: &str) -> bool {
    (version, named) == ("v1", "List")
}

fn check_custom_type(
    kind: &Kind,
    object: &Value,
    (version, named): (&str, &str),
    expected: &str,
) -> Result<(), ApiError> {
    if named.is_empty() {
        let text = serde_json::to_string(object).unwrap_or_default();
        return Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{text}' ({text})",
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
