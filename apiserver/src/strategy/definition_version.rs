//! Checks of one version of a definition, but for its schema: printer columns, the scale, the deprecation warning.

use crate::meta::text;
use crate::quote::{self, is_printable};
use crate::status::Cause;
use serde_json::Value;

/// The formats of printer columns.
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

const NO_LEADING_DOT: &str = "must be a simple json path starting with .";

pub(super) fn check_columns(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    let columns = version["additionalPrinterColumns"].as_array();
    for (at, column) in columns.into_iter().flatten().enumerate() {
        let path = format!("{path}.additionalPrinterColumns[{at}]");
        if text(column, "name").is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
        }
        let kind = text(column, "type");
        let known = ["boolean", "date", "integer", "number", "string"];
        let reason = format!("must be one of {}", known.join(","));
        if kind.is_empty() {
            causes.push(Cause::required(format!("{path}.type"), &reason));
        } else if !known.contains(&kind) {
            causes.push(Cause::invalid(format!("{path}.type"), &column["type"], reason));
        }
        let format = text(column, "format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let reason = format!("must be one of {}", COLUMN_FORMATS.join(","));
            causes.push(Cause::invalid(
                format!("{path}.format"),
                &column["format"],
                reason,
            ));
        }
        let json_path = text(column, "jsonPath");
        if json_path.is_empty() {
            causes.push(Cause::required(format!("{path}.JSONPath"), ""));
        } else if !json_path.starts_with('.') {
            causes.push(Cause::invalid(
                format!("{path}.JSONPath"),
                &column["jsonPath"],
                NO_LEADING_DOT,
            ));
        }
    }
}

pub(super) fn check_scale(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    let scale = &version["subresources"]["scale"];
    if !scale.is_object() {
        return;
    }
    for (key, root) in [("specReplicasPath", "spec"), ("statusReplicasPath", "status")] {
        let field = format!("{path}.subresources.scale.{key}");
        let json_path = text(scale, key);
        if json_path.is_empty() {
            causes.push(Cause::required(field, ""));
        } else if !json_path.starts_with('.') {
            causes.push(Cause::invalid(field, &scale[key], NO_LEADING_DOT));
        } else if !json_path.starts_with(&format!(".{root}.")) {
            let reason = format!("should be a json path under .{root}");
            causes.push(Cause::invalid(field, &scale[key], reason));
        }
    }
    let json_path = text(scale, "labelSelectorPath");
    let has_root = json_path.starts_with(".spec.") || json_path.starts_with(".status.");
    if !json_path.is_empty() && !has_root {
        let field = format!("{path}.subresources.scale.labelSelectorPath");
        let reason = if json_path.starts_with('.') {
            "should be a json path under either .spec or .status"
        } else {
            NO_LEADING_DOT
        };
        causes.push(Cause::invalid(field, &scale["labelSelectorPath"], reason));
    }
}

/// Upper limit of the length of a deprecation warning, in bytes.
const MAX_DEPRECATION_WARNING_BYTES: usize = 256;

pub(super) fn check_deprecation_warning(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    let value = &version["deprecationWarning"];
    let Some(warning) = value.as_str() else { return };
    let mut refuse = |why: &str| {
        // Quoted as JSON, which keeps characters that cannot be printed.
        let message = format!("Invalid value: {}: {why}", quote::json(value));
        let field = format!("{path}.deprecationWarning");
        causes.push(Cause::new("FieldValueInvalid", field, message));
    };
    if version["deprecated"] != true {
        return refuse("can only be set for deprecated versions");
    }
    if warning.len() > MAX_DEPRECATION_WARNING_BYTES {
        refuse(&format!(
            "must be <= {MAX_DEPRECATION_WARNING_BYTES} characters long"
        ));
    }
    if warning.is_empty() {
        refuse("must not be an empty string");
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, c)| !is_printable(*c)) {
        refuse(&format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
}
