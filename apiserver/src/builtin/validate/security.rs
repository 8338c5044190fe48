//! Who a pod or a container runs as, and within which bounds.

use super::{Check, items, text, volume};
use crate::field::FieldError;
use crate::types;
use serde_json::Value;

pub(super) fn context(check: &mut Check, context: &Value, path: &str) {
    let ids = ["runAsUser", "runAsGroup", "fsGroup"];
    let ids = ids.map(|name| (&context[name], format!("{path}.{name}")));
    for (id, path) in ids.into_iter().chain(items(context, "supplementalGroups", path)) {
        if let Some(id) = id.as_i64().filter(|id| !(0..=i64::from(i32::MAX)).contains(id)) {
            let detail = "must be between 0 and 2147483647, inclusive";
            check.push(FieldError::invalid(&path, id, detail));
        }
    }
    profile(check, context, "seccompProfile", "seccomp", path);
    profile(check, context, "appArmorProfile", "AppArmor", path);
}

fn profile(check: &mut Check, context: &Value, name: &str, what: &str, path: &str) {
    let profile = &context[name];
    if !profile.is_object() {
        return;
    }
    let (kind, path) = (text(profile, "type"), format!("{path}.{name}"));
    let (file, at) = (&profile["localhostProfile"], format!("{path}.localhostProfile"));
    match kind {
        "Localhost" if file.as_str().is_none_or(str::is_empty) => {
            let detail = format!("must be set when {what} type is Localhost");
            check.push(FieldError::required(&at, &detail));
        }
        "Localhost" if what == "seccomp" => volume::file(check, file, &at),
        "RuntimeDefault" | "Unconfined" if !file.is_null() => {
            let detail = format!("can only be set when {what} type is Localhost");
            let error = FieldError::invalid(&at, file.clone(), detail);
            check.push(if what == "seccomp" {
                error.showing(types::internal(profile, "core.SeccompProfile"))
            } else {
                error
            });
        }
        "Localhost" | "RuntimeDefault" | "Unconfined" => {}
        "" => {
            let detail = format!("type is required when {name} is set");
            check.push(FieldError::required(&format!("{path}.type"), &detail));
        }
        _ => check.push(FieldError::not_supported(
            &format!("{path}.type"),
            kind,
            ["Localhost", "RuntimeDefault", "Unconfined"],
        )),
    }
}
