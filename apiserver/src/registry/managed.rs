//! Who owns which fields.

use super::{Bodied, Target, WriteOptions};
use crate::apply::{self, ApplyError, FieldSet, Write};
use crate::kinds::Kind;
use crate::meta::now;
use crate::status::{ApiError, Cause};
use crate::types::{self, Type};
use serde_json::{Value, json};

/// Notes who changed which fields.
pub(super) fn track_fields(
    kind: &Kind,
    before: Option<&Value>,
    object: &mut Value,
    part: &str,
    by: Bodied<'_>,
) {
    let manager = match by.options.field_manager.as_str() {
        "" => "unknown",
        manager => manager,
    };
    if undeclared(kind, object).is_some() {
        // Nobody can say any more who owns what.
        crate::meta::metadata_mut(object).remove("managedFields");
        return;
    }
    with_write(kind, part, manager, |write| {
        apply::track(before, object, write);
    });
}

/// A field that is unknown to a version in which somebody owns fields of the object: who owns what is compared in all of them.
fn undeclared(kind: &Kind, object: &Value) -> Option<String> {
    let definition = kind.definition.as_ref()?;
    let entries = object["metadata"]["managedFields"].as_array()?;
    let versions = entries
        .iter()
        .filter_map(|entry| entry["apiVersion"].as_str()?.rsplit('/').next());
    versions
        .filter(|version| *version != kind.version)
        .find_map(|version| {
            let unknown = definition.version(version)?.schema.prune(&mut object.clone());
            Some(format!(
                ".{}: field not declared in schema",
                unknown.into_iter().next()?
            ))
        })
}

/// What an apply makes of an object, with the record of who owns what.
pub(super) fn applied(
    target: &Target,
    live: Option<&Value>,
    config: &Value,
    part: &str,
    by: Bodied<'_>,
) -> Result<Value, ApiError> {
    if let Some(why) = live.and_then(|live| undeclared(&target.kind, live)) {
        return Err(ApiError::new(500, "", why));
    }
    let (manager, force) = (by.options.field_manager.as_str(), by.options.force == Some(true));
    let outcome = with_write(&target.kind, part, manager, |write| {
        apply::apply(live, config, force, write)
    });
    outcome.map_err(refusal)
}

/// Notes who changed a scale, or makes of a configuration the scale that it is applied to.
///
/// Of a custom resource the real server cannot always, as it takes a scale for one of its versions: where nobody owns the replicas yet, or
/// what was sent does not say its kind, a write that is no apply leaves them to nobody; and an apply that would change something is
/// refused, at the latest when nothing else is against it.
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
    if custom && !owned {
        let why = format!(
            "failed to create manager for existing fields: failed to convert live object (/; {VERSION}, Kind=Scale) to proper \
             version: {NO_VERSION}"
        );
        return Err(ApiError::new(500, "", why));
    }
    let manager = options.field_manager.as_str();
    scale["apiVersion"] = json!(VERSION);
    scale["kind"] = json!("Scale");
    let types = |version: &str| types::builtin(version, "Scale");
    let write = Write {
        manager: if manager.is_empty() { "unknown" } else { manager },
        api_version: VERSION,
        kind: "Scale",
        custom: false,
        subresource: "scale",
        time: &now(),
        types: &types,
        reset: &FieldSet::of_fields(&[]),
    };
    if options.applied {
        let force = options.force == Some(true);
        let sent = format!("{}/{}", crate::meta::namespace(scale), crate::meta::name(scale));
        *scale = apply::apply(Some(live), scale, force, write).map_err(refusal)?;
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

fn with_write<T>(kind: &Kind, part: &str, manager: &str, act: impl FnOnce(Write<'_, '_>) -> T) -> T {
    let group = &kind.group;
    let types = |api_version: &str| -> Option<&Type> {
        match &kind.definition {
            None => types::builtin(api_version, &kind.kind),
            Some(definition) => {
                let (of, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
                definition
                    .version(version)
                    .filter(|_| of == group)
                    .map(|version| version.schema.ty())
            }
        }
    };
    let reset: &[&[&str]] = match (part, kind.definition.is_some()) {
        ("status", true) => &[&["spec"], &["metadata"]],
        ("status", false) if kind.keeps_labels_in_status_updates() => &[&["spec"], &["metadata", "labels"]],
        ("status", false) => &[&["spec"]],
        // Of these, what is dropped has been written nevertheless.
        ("ephemeralcontainers" | "resize", false) => &[],
        _ if kind.has_status() => &[&["status"]],
        _ => &[],
    };
    act(Write {
        manager,
        api_version: &kind.api_version(),
        kind: &kind.kind,
        custom: kind.definition.is_some(),
        subresource: part,
        time: &now(),
        types: &types,
        reset: &FieldSet::of_fields(reset),
    })
}

fn refusal(error: ApplyError) -> ApiError {
    let mut refusal = ApiError::new(error.code(), error.reason(), error.to_string());
    if let ApplyError::Conflict { causes, .. } = error {
        refusal.details = Some(json!({}));
        for cause in causes {
            let cause = Cause::new("FieldManagerConflict", cause.field, cause.message);
            refusal = refusal.with_cause(&cause);
        }
    }
    refusal
}
