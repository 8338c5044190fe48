//! The enumerations of built-in types. The published OpenAPI documents lack them; kube-apiserver's own have them, from generated Go code.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const DEFINITIONS: &str = "pkg/generated/openapi/zz_generated.openapi.go";

/// Adds the enumerations, and the descriptions that list their values, to the schemas.
pub(crate) fn add(kubernetes: &Path, schemas: &mut BTreeMap<String, Value>) -> Result<()> {
    let source = fs::read_to_string(kubernetes.join(DEFINITIONS)).context(DEFINITIONS)?;
    let (mut ty, mut field, mut description) = (None, "", "");
    for line in source.lines() {
        let indent = line.len() - line.trim_start_matches('\t').len();
        let text = line.trim();
        if let Some(rest) = line.strip_prefix("func schema_") {
            let function = rest.split('(').next().unwrap_or_default();
            ty = type_name(schemas, function);
        } else if indent == 5 && text.ends_with("\": {") {
            field = text.trim_start_matches('"').trim_end_matches("\": {");
            description = "";
        } else if let (7, Some(text)) = (indent, text.strip_prefix("Description: ")) {
            description = text.trim_end_matches(',');
        } else if let Some((_, values)) = text.split_once("Enum:").filter(|_| indent >= 7) {
            let Some(schema) = ty.as_ref().and_then(|name| schemas.get_mut(name)) else {
                continue;
            };
            let values = values
                .trim()
                .trim_start_matches("[]interface{}{")
                .trim_end_matches("},");
            let values: Value = serde_json::from_str(&format!("[{values}]")).context(line.to_owned())?;
            let property = &mut schema["properties"][field];
            property["description"] = serde_json::from_str(description).context(description.to_owned())?;
            match indent {
                7 => property["enum"] = values,
                10 => property["items"]["enum"] = values,
                _ => bail!("enumeration at an unknown place: {line}"),
            }
        }
    }
    Ok(())
}

/// Returns the name of the definition that a function returns: `k8sio_api_core_v1_Pod` is `io.k8s.api.core.v1.Pod`.
fn type_name(schemas: &BTreeMap<String, Value>, function: &str) -> Option<String> {
    let function = function.trim_start_matches("k8sio_");
    let is_it = |name: &&String| {
        let name = name.replace('.', "_");
        name.strip_suffix(function)
            .is_some_and(|rest| rest.ends_with('_'))
    };
    schemas.keys().find(is_it).cloned()
}
