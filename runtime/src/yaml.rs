//! YAML, the only place of this library that writes and reads it.

use serde::Serialize;

pub(crate) type Error = serde_saphyr::ser::Error;

/// One document, with its `---`.
pub(crate) fn document(value: &impl Serialize) -> Result<String, Error> {
    // Block scalars would leave blanks at line ends; quoted strings read back everywhere.
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    Ok(format!(
        "---\n{}",
        serde_saphyr::to_string_with_options(value, options)?
    ))
}

/// The documents of a text, empty ones as null. The error says where and what is wrong, and quotes nothing: it may be a secret.
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
    fn quotes_what_kubectl_would_take_for_something_else() {
        let yaml = document(&json!({"default": "on", "time": "1:30", "text": "two\nlines"})).unwrap();
        let lines: Vec<&str> = yaml.lines().collect();
        assert_eq!(lines[0], "---");
        for line in ["default: \"on\"", "time: \"1:30\"", "text: \"two\\nlines\""] {
            assert!(lines.contains(&line), "{line} is not in {yaml}");
        }
    }
}
