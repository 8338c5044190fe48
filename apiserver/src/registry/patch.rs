//! The patch verb: computes the patched object, then updates it like any other write.

use super::decode::ObjectDecodeError;
use super::scale::missing_replicas;
use super::update::UpdatedObject;
use super::{Registry, Target, WriteContext, WriteResult};
use crate::meta;
use crate::patch::{self, Decoding, PatchError, Patched};
use crate::request::{FieldValidation, WriteOptions};
use crate::status::{ApiError, Cause};
use crate::types::{self, ExplicitEmptyFields};
use serde_json::Value;
use std::sync::Arc;

/// Patch types, distinguished by media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Registry {
    /// Patches an object, or a subresource of it; an apply may create the object.
    pub fn patch(
        &self,
        target: &Target,
        subresource: &str,
        media_type: &str,
        body: &[u8],
        context: WriteContext<'_>,
    ) -> Result<WriteResult, ApiError> {
        let patch_type = patch_type(target, media_type)?;
        if patch_type == PatchType::Apply {
            return self.apply(target, subresource, body, context);
        }
        if context.options.force.is_some() {
            let cause = Cause::forbidden("force", "may not be specified for non-apply patch");
            return Err(ApiError::invalid_of("meta.k8s.io", "PatchOptions", "", &[cause]));
        }
        let mut warnings = vec![];
        let written = self.guaranteed_update(target, subresource, false, context, |old| {
            let Some(old) = old else {
                return Err(ApiError::not_found(&target.kind, &target.name));
            };
            let decoding = if context.options.field_validation == FieldValidation::Ignore {
                Decoding::Lenient
            } else {
                Decoding::Strict
            };
            if subresource == "scale" {
                let scale = self.scale_with_managed_fields(target, old)?;
                let mut scale = compute_patch(target, patch_type, &scale, body, decoding)?.object;
                let patched_scale = scale.clone();
                let subresource = target.kind.subresource(subresource);
                let subresource = subresource.ok_or_else(ApiError::no_such_resource)?;
                let scale_target = Target::new(
                    &Arc::new(target.kind.for_subresource(subresource)),
                    &target.namespace,
                    &target.name,
                );
                let decoded = self.try_decode(&scale_target, &mut scale, context.options);
                warnings = decoded.map_err(|error| error.for_patch(patch_type, &patched_scale, body))?;
                if scale["spec"]["replicas"].is_null()
                    && let Some(path) = missing_replicas(&target.kind, old)?
                {
                    let why = format!("the spec replicas field {path:?} cannot be empty");
                    return Err(ApiError::bad_request(why));
                }
                return Ok(self.with_patched_scale(target, old, scale, context)?.into());
            }
            let Patched {
                mut object,
                strict_errors,
            } = compute_patch(target, patch_type, old, body, decoding)?;
            let outcome = object.clone();
            let options = WriteOptions {
                strict_errors,
                ..context.options.clone()
            };
            let decoded = self.try_decode(target, &mut object, &options);
            warnings = decoded.map_err(|error| error.for_patch(patch_type, &outcome, body))?;
            // A patch without a resourceVersion applies to any version.
            if meta::resource_version(&object).is_empty() {
                let version = old["metadata"]["resourceVersion"].clone();
                meta::metadata_mut(&mut object).insert("resourceVersion".into(), version);
            }
            let empties = ExplicitEmptyFields::of(&outcome);
            Ok(UpdatedObject { object, empties })
        });
        WriteResult::with_decode_warnings(written, &warnings)
    }
}

impl ObjectDecodeError {
    /// The error to return if the object is the outcome of a patch.
    fn for_patch(self, patch_type: PatchType, outcome: &Value, body: &[u8]) -> ApiError {
        if self.why.is_empty() {
            return *self.error;
        }
        let strategic = (patch_type == PatchType::Strategic).then_some(body);
        patch_error(&patch::undecodable(outcome, strategic, &self.why))
    }
}

/// Refuses media types that the target does not accept as patches.
pub(crate) fn check_media_type(target: &Target, media_type: &str) -> Result<(), ApiError> {
    patch_type(target, media_type).map(drop)
}

fn patch_type(target: &Target, media_type: &str) -> Result<PatchType, ApiError> {
    let custom = target.kind.definition.is_some();
    match media_type {
        "application/json-patch+json" => Ok(PatchType::Json),
        "application/merge-patch+json" => Ok(PatchType::Merge),
        "application/strategic-merge-patch+json" if !custom => Ok(PatchType::Strategic),
        "application/apply-patch+yaml" => Ok(PatchType::Apply),
        // Routes of custom resources accept any media type; the handler refuses it.
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

fn compute_patch(
    target: &Target,
    patch_type: PatchType,
    object: &Value,
    body: &[u8],
    decoding: Decoding,
) -> Result<Patched, ApiError> {
    let kind = &target.kind;
    let outcome = match patch_type {
        PatchType::Json => patch::json_patch(object, body, decoding),
        PatchType::Strategic => {
            let (version, named) = (object["apiVersion"].as_str(), object["kind"].as_str());
            let ty = types::builtin(version.unwrap_or_default(), named.unwrap_or_default());
            let ty = ty.or_else(|| types::builtin(&kind.api_version(), &kind.kind));
            patch::strategic_merge_patch(object, body, ty.unwrap_or(&types::Type::Any), decoding)
        }
        PatchType::Merge | PatchType::Apply => patch::merge_patch(object, body, decoding),
    };
    outcome.map_err(|error| patch_error(&error))
}

fn patch_error(error: &PatchError) -> ApiError {
    let mut api_error = ApiError::new(error.code(), error.reason(), error.to_string());
    if error.code() == 422 {
        api_error.details = Some(crate::status::details("", "", ""));
    }
    match error.cause() {
        Some(cause) => api_error.with_cause(&Cause::from(cause.clone())),
        None => api_error,
    }
}
