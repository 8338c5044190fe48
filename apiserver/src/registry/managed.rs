//! Who owns which fields.

use super::{Bodied, Target};
use crate::apply::{self, ApplyError, FieldSet, Write};
use crate::kinds::Kind;
use crate::meta::now;
use crate::status::{ApiError, Cause};
use crate::types::{self, Type};
use serde_json::{Value, json};

/// Notes who changed which fields.
pub(crate) fn track_fields(
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
    with_write(kind, part, manager, |write| {
        apply::track(before, object, write);
    });
}

/// What an apply makes of an object, with the record of who owns what.
pub(super) fn applied(
    target: &Target,
    live: Option<&Value>,
    config: &Value,
    part: &str,
    by: Bodied<'_>,
) -> Result<Value, ApiError> {
    let (manager, force) = (by.options.field_manager.as_str(), by.options.force == Some(true));
    let outcome = with_write(&target.kind, part, manager, |write| {
        apply::apply(live, config, force, write)
    });
    outcome.map_err(refusal)
}

/// Notes who changed a scale.
pub(super) fn track_scale(live: &Value, scale: &mut Value, manager: &str) {
    const VERSION: &str = "autoscaling/v1";
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
    apply::track(Some(live), scale, write);
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
        ("status", false) => &[&["spec"]],
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
