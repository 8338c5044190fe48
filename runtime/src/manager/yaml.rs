//! YAML, the only place of this library that writes it.

use serde::Serialize;

pub(super) type Error = serde_saphyr::ser::Error;

/// One document, with its `---`.
pub(super) fn document(value: &impl Serialize) -> Result<String, Error> {
    // Block scalars would leave blanks at line ends; quoted strings read back everywhere.
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    Ok(format!(
        "---\n{}",
        serde_saphyr::to_string_with_options(value, options)?
    ))
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
