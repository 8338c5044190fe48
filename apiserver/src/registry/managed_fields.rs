//! Tracking of field managers (`metadata.managedFields`).

use super::{Registry, Target, WriteContext};
use crate::apply::{self, ApplyError, FieldSet, Write};
use crate::crd::{CrdVersion, CustomResourceDefinition};
use crate::kinds::{Kind, convert};
use crate::meta::{self, now};
use crate::request::WriteOptions;
use crate::status::{ApiError, Cause};
use crate::types::{self, Type};
use serde_json::{Value, json};

impl Registry {
    /// Records in managedFields which fields a write changed.
    pub(super) fn track_fields(
        &self,
        kind: &Kind,
        before: Option<&Value>,
        object: &mut Value,
        subresource: &str,
        context: WriteContext<'_>,
    ) {
        let manager = match context.options.field_manager.as_str() {
            "" => "unknown",
            manager => manager,
        };
        convert::round_trip(kind, object);
        self.with_field_write(kind, subresource, manager, |write| {
            apply::track(before, object, write);
        });
    }

    /// Returns the result of a server-side apply, with updated managedFields.
    pub(super) fn apply_config(
        &self,
        target: &Target,
        live: Option<&Value>,
        config: &Value,
        subresource: &str,
        context: WriteContext<'_>,
    ) -> Result<Value, ApiError> {
        let (manager, force) = (
            context.options.field_manager.as_str(),
            context.options.force == Some(true),
        );
        let outcome = self.with_field_write(&target.kind, subresource, manager, |write| {
            apply::apply(live, config, force, write)
        });
        outcome.map_err(apply_error)
    }

    fn with_field_write<T>(
        &self,
        kind: &Kind,
        subresource: &str,
        manager: &str,
        act: impl FnOnce(Write<'_, '_>) -> T,
    ) -> T {
        let types = |api_version: &str| -> Option<&Type> {
            let (group, _) = api_version.rsplit_once('/').unwrap_or_default();
            match &kind.definition {
                // Managers of an event in its other group are dropped.
                None if group != kind.group => None,
                None => types::builtin(api_version, &kind.kind),
                Some(definition) => {
                    version_of(kind, definition, api_version).map(|version| version.schema.ty())
                }
            }
        };
        let reset: &[&[&str]] = match (subresource, kind.definition.is_some()) {
            (part, false) if kind.kind == "CertificateSigningRequest" => signing_request_reset_fields(part),
            ("status", _) if kind.keeps_metadata_in_status_updates() => &[&["spec"], &["metadata"]],
            ("status", false) if kind.keeps_labels_in_status_updates() => {
                &[&["spec"], &["metadata", "labels"]]
            }
            ("status", false) if kind.kind == "Pod" => &[
                &["spec"],
                &["metadata", "deletionTimestamp"],
                &["metadata", "ownerReferences"],
            ],
            ("status", false) => &[&["spec"]],
            // The managers of these writes keep fields that the server drops afterwards.
            ("ephemeralcontainers" | "resize", false) => &[],
            _ if kind.has_status() => &[&["status"]],
            _ => &[],
        };
        act(Write {
            manager,
            api_version: &kind.api_version(),
            kind: &kind.kind,
            custom: kind.definition.is_some(),
            subresource,
            time: &now(),
            types: &types,
            convert: &|object, version| self.convert_and_check(kind, object, version, types(version)),
            reset: &FieldSet::of_fields(reset),
            // A write of a whole custom resource takes a status that it sends from managers of other versions, although it does not change it.
            resets_in: &|version| match &kind.definition {
                Some(_) if subresource.is_empty() => version == kind.api_version(),
                Some(definition) => {
                    version_of(kind, definition, version).is_some_and(|version| version.status)
                }
                None => true,
            },
        })
    }

    /// Returns an object of the kind in another version for the comparison of managers; None for a built-in kind with the same fields in both.
    /// A custom resource must match the type that it has there.
    fn convert_and_check(
        &self,
        kind: &Kind,
        object: &Value,
        version: &str,
        ty: Option<&Type>,
    ) -> Result<Option<Value>, String> {
        if kind.definition.is_none() {
            return Ok(convert::between_versions(kind, object, version));
        }
        let ty = ty.ok_or_else(|| format!("request to convert CR to an invalid group/version: {version}"))?;
        let converted = self.convert_for_managers(kind, object, version)?;
        let converted = converted.unwrap_or_else(|| {
            let mut object = object.clone();
            object["apiVersion"] = version.into();
            object
        });
        if let Some(why) = apply::type_error(&converted, ty) {
            return Err(why);
        }
        Ok(Some(converted))
    }
}

/// Restores the managedFields from before admission if webhooks left invalid ones; returns a warning then.
pub(super) fn restore_invalid_managers(object: &mut Value, tracked: &Value) -> Option<String> {
    let why = apply::managed_fields_error(&object["metadata"]["managedFields"])?;
    meta::set_or_remove(meta::metadata_mut(object), "managedFields", tracked);
    Some(format!(
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; \
         please fix your requests: {why}"
    ))
}

/// Tracks the managers of a scale that was written, or applies a configuration to it.
///
/// kube-apiserver cannot do this for every custom resource, because it takes the scale for a version of the resource. If the replicas have
/// no manager yet, or the scale does not name its kind, a write other than apply leaves them without one. An apply that changes something
/// is refused, after all other checks.
pub(super) fn track_scale(
    kind: &Kind,
    live: &Value,
    scale: &mut Value,
    options: &WriteOptions,
) -> Result<(), ApiError> {
    const VERSION: &str = "autoscaling/v1";
    const NO_VERSION: &str = "request to convert CR to an invalid group/version: autoscaling/v1";
    let custom = kind.definition.is_some();
    let owned = live["metadata"].get("managedFields").is_some();
    if custom && !options.applied && !(owned && scale.get("kind").is_some()) {
        crate::meta::metadata_mut(scale).remove("managedFields");
        return Ok(());
    }
    let is_scale = scale["apiVersion"] == VERSION && scale["kind"] == "Scale";
    if custom && !owned && is_scale {
        let why = format!(
            "failed to create manager for existing fields: failed to convert live object (/; {VERSION}, Kind=Scale) to proper \
             version: {NO_VERSION}"
        );
        return Err(ApiError::new(500, "", why));
    }
    let manager = options.field_manager.as_str();
    if !options.applied {
        scale["apiVersion"] = json!(VERSION);
        scale["kind"] = json!("Scale");
    }
    let types = |version: &str| types::builtin(version, "Scale");
    let write = Write {
        manager: if manager.is_empty() { "unknown" } else { manager },
        api_version: VERSION,
        kind: "Scale",
        custom: false,
        subresource: "scale",
        time: &now(),
        types: &types,
        convert: &|_, _| Ok(None),
        reset: &FieldSet::of_fields(&[]),
        resets_in: &|_| true,
    };
    if options.applied {
        let force = options.force == Some(true);
        let sent = format!("{}/{}", crate::meta::namespace(scale), crate::meta::name(scale));
        *scale = apply::apply(Some(live), scale, force, write).map_err(apply_error)?;
        let changes = ["spec", "status"].iter().any(|part| scale[*part] != live[*part]);
        if custom && changes {
            let why = format!(
                "failed to convert new object ({sent}; {VERSION}, Kind=Scale) to proper version: {NO_VERSION}"
            );
            return Err(ApiError::new(500, "", why));
        }
    } else {
        apply::track(Some(live), scale, write);
    }
    Ok(())
}

/// Returns the version of a custom resource by its API version.
pub(super) fn version_of<'d>(
    kind: &Kind,
    definition: &'d CustomResourceDefinition,
    api_version: &str,
) -> Option<&'d CrdVersion> {
    let (group, version) = api_version.rsplit_once('/')?;
    definition.version(version).filter(|_| group == kind.group)
}

/// The fields of a CertificateSigningRequest that a write cannot change.
fn signing_request_reset_fields(subresource: &str) -> &'static [&'static [&'static str]] {
    match subresource {
        "status" => &[&["spec"], &["status", "conditions"]],
        "approval" => &[&["spec"], &["status", "certificate"]],
        _ => &[&["spec"], &["status"]],
    }
}

fn apply_error(error: ApplyError) -> ApiError {
    let mut api_error = ApiError::new(error.code(), error.reason(), error.to_string());
    if let ApplyError::Conflict { causes, .. } = error {
        api_error.details = Some(json!({}));
        for cause in causes {
            let cause = Cause::new("FieldManagerConflict", cause.field, cause.message);
            api_error = api_error.with_cause(&cause);
        }
    }
    api_error
}
