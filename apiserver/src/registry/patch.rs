//! Patches: what a patch makes of an object is then an update like any other.

use super::decode::Undecodable;
use super::update::Read;
use super::{Bodied, FieldValidation, Registry, Target, WriteOptions, Written};
use crate::meta;
use crate::patch::{self, Decoding, PatchError, Patched};
use crate::status::{ApiError, Cause};
use crate::types::{self, ExplicitEmptyFields};
use serde_json::Value;
use std::sync::Arc;

/// The ways to patch, by media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Registry {
    /// Patches an object, or a part of it; an apply may create it.
    pub fn patch(
        &self,
        target: &Target,
        part: &str,
        media_type: &str,
        body: &[u8],
        by: Bodied<'_>,
    ) -> Result<Written, ApiError> {
        let way = way(target, media_type)?;
        if way == Way::Apply {
            return self.apply(target, part, body, by);
        }
        if by.options.force.is_some() {
            let cause = Cause::forbidden("force", "may not be specified for non-apply patch");
            return Err(ApiError::invalid_of("meta.k8s.io", "PatchOptions", "", &[cause]));
        }
        let mut warnings = vec![];
        let written = self.change(target, part, false, by, |old| {
            let Some(old) = old else {
                return Err(ApiError::not_found(&target.kind, &target.name));
            };
            let decoding = if by.options.field_validation == FieldValidation::Ignore {
                Decoding::Lenient
            } else {
                Decoding::Strict
            };
            if part == "scale" {
                let scale = self.scale_with_record(target, old)?;
                let mut scale = patched(target, way, &scale, body, decoding)?.object;
                let shown = scale.clone();
                let part = target.kind.subresource(part);
                let part = part.ok_or_else(ApiError::no_such_resource)?;
                let part = Target::new(
                    &Arc::new(target.kind.for_subresource(part)),
                    &target.namespace,
                    &target.name,
                );
                let decoded = self.try_decode(&part, &mut scale, by.options);
                warnings = decoded.map_err(|refusal| refusal.of_patch(way, &shown, body))?;
                return Ok(self.with_scale(target, old, scale, by)?.into());
            }
            let Patched {
                mut object,
                strict_errors,
            } = patched(target, way, old, body, decoding)?;
            let outcome = object.clone();
            let options = WriteOptions {
                strict_errors,
                ..by.options.clone()
            };
            let decoded = self.try_decode(target, &mut object, &options);
            warnings = decoded.map_err(|refusal| refusal.of_patch(way, &outcome, body))?;
            // A patch that says nothing of the version holds for whichever there is.
            if meta::resource_version(&object).is_empty() {
                let version = old["metadata"]["resourceVersion"].clone();
                meta::metadata_mut(&mut object).insert("resourceVersion".into(), version);
            }
            let empties = ExplicitEmptyFields::of(&outcome);
            Ok(Read { object, empties })
        });
        Written::warned(written, &warnings)
    }
}

impl Undecodable {
    /// What is said where it was what a patch made.
    fn of_patch(self, way: Way, outcome: &Value, body: &[u8]) -> ApiError {
        if self.why.is_empty() {
            return *self.error;
        }
        let strategic = (way == Way::Strategic).then_some(body);
        refused(&patch::undecodable(outcome, strategic, &self.why))
    }
}

/// Refuses patches of a kind that the target does not take.
pub(crate) fn check_media_type(target: &Target, media_type: &str) -> Result<(), ApiError> {
    way(target, media_type).map(drop)
}

fn way(target: &Target, media_type: &str) -> Result<Way, ApiError> {
    let custom = target.kind.definition.is_some();
    match media_type {
        "application/json-patch+json" => Ok(Way::Json),
        "application/merge-patch+json" => Ok(Way::Merge),
        "application/strategic-merge-patch+json" if !custom => Ok(Way::Strategic),
        "application/apply-patch+yaml" => Ok(Way::Apply),
        // Custom resources' routes take any patch, and refuse it then.
        _ if custom => Err(ApiError::unsupported_media_type(&[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/apply-patch+yaml",
        ])),
        _ => Err(ApiError::generic(
            415,
            "UnsupportedMediaType",
            "415: Unsupported Media Type",
        )),
    }
}

fn patched(
    target: &Target,
    way: Way,
    object: &Value,
    body: &[u8],
    decoding: Decoding,
) -> Result<Patched, ApiError> {
    let kind = &target.kind;
    let outcome = match way {
        Way::Json => patch::json_patch(object, body, decoding),
        Way::Strategic => {
            let (version, named) = (object["apiVersion"].as_str(), object["kind"].as_str());
            let ty = types::builtin(version.unwrap_or_default(), named.unwrap_or_default());
            let ty = ty.or_else(|| types::builtin(&kind.api_version(), &kind.kind));
            patch::strategic_merge_patch(object, body, ty.unwrap_or(&types::Type::Any), decoding)
        }
        Way::Merge | Way::Apply => patch::merge_patch(object, body, decoding),
    };
    outcome.map_err(|error| refused(&error))
}

fn refused(error: &PatchError) -> ApiError {
    let mut refusal = ApiError::new(error.code(), error.reason(), error.to_string());
    if error.code() == 422 {
        refusal.details = Some(crate::status::details("", "", ""));
    }
    match error.cause() {
        Some(cause) => refusal.with_cause(&Cause::from(cause.clone())),
        None => refusal,
    }
}
