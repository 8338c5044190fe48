//! Reads and writes YAML. No other file of this library does.

use serde::Serialize;

pub(crate) type YamlError = serde_saphyr::ser::Error;

/// Formats one document, with a leading `---`.
pub(crate) fn document(value: &impl Serialize) -> Result<String, YamlError> {
    // Block scalars can end lines with spaces. Every parser reads quoted strings.
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    Ok(format!(
        "---\n{}",
        serde_saphyr::to_string_with_options(value, options)?
    ))
}

/// Parses the documents of a text, empty ones as null. Errors have the position and do not quote the text, which may be a secret.
pub(crate) fn documents(text: &str) -> Result<Vec<serde_json::Value>, String> {
    serde_saphyr::from_multiple(text).map_err(|error| match error.location() {
        Some(location) => format!(
            "no YAML, at line {}, column {}",
            location.line(),
            location.column()
        ),
        None => "no YAML".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ambiguous_strings_are_quoted() {
        let yaml = document(&json!({"default": "on", "time": "1:30", "text": "two\nlines"})).unwrap();
        let lines: Vec<&str> = yaml.lines().collect();
        assert_eq!(lines[0], "---");
        for line in ["default: \"on\"", "time: \"1:30\"", "text: \"two\\nlines\""] {
            assert!(lines.contains(&line), "{line} is not in {yaml}");
        }
    }
}
