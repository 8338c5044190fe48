//! Checks of the type and of the format of a value as Go's package `validate` does them: a format is a part of the type for all values but
//! texts and lists.

use super::format::{has_format, is_recognized_format};
use super::numbers;
use crate::field::FieldError;
use serde_json::Value;

/// The types and the format that a schema allows.
pub(super) struct AllowedTypes<'a> {
    /// Empty if the schema does not restrict them.
    pub(super) types: Vec<&'a str>,
    /// Empty if there is none.
    format: &'a str,
    is_nullable: bool,
}

impl<'a> AllowedTypes<'a> {
    /// Returns those of a schema. Formats that the type of the schema does not have are ignored, unless `keeps_formats`.
    pub(super) fn of(schema: &'a Value, keeps_formats: bool) -> Self {
        let types: Vec<&str> = if schema["x-kubernetes-int-or-string"] == true {
            vec!["integer", "string"]
        } else {
            let ty = schema["type"].as_str().filter(|ty| !ty.is_empty());
            ty.into_iter().collect()
        };
        let ty = match types.as_slice() {
            [ty] => *ty,
            _ => "",
        };
        let format = schema["format"].as_str().unwrap_or_default();
        let format = if keeps_formats || is_recognized_format(format, ty) {
            format
        } else {
            ""
        };
        Self {
            types,
            format,
            is_nullable: schema["nullable"] == true,
        }
    }

    /// Returns what is wrong with the type of a value.
    pub(super) fn type_error(&self, value: &Value, path: &str) -> Option<FieldError> {
        let (found, found_format) = kind_of(value);
        if value.is_null() {
            let is_allowed = self.types.is_empty() || self.is_nullable;
            return (!is_allowed).then(|| self.wrong_type(found, path));
        }
        let names_format = !self.format.is_empty();
        if self.types.is_empty() && !names_format {
            return None;
        }
        let fits = self.fits(value, found);
        let is_text_or_list = value.is_string() || value.is_array();
        if names_format && !is_text_or_list && !fits && found_format != self.format {
            return Some(invalid(self.format, found_format, path));
        }
        // Their format is checked instead.
        let is_formatted =
            names_format && is_text_or_list && !self.allows("number") && !self.allows("integer");
        (!fits && !is_formatted).then(|| self.wrong_type(found, path))
    }

    /// Returns an error if a text does not have the format.
    pub(super) fn format_error(&self, text: &str, path: &str) -> Option<FieldError> {
        let is_valid = self.format.is_empty() || has_format(text, self.format);
        (!is_valid).then(|| {
            let message = format!("{path} in body must be of type {}: {text:?}", self.format);
            FieldError::type_invalid(path, text, message)
        })
    }

    fn allows(&self, ty: &str) -> bool {
        self.types.contains(&ty)
    }

    fn fits(&self, value: &Value, found: &str) -> bool {
        let is_whole = || value.as_f64().is_some_and(numbers::is_whole);
        match found {
            "number" => self.allows("number") || self.allows("integer") && is_whole(),
            "integer" => self.allows("integer") || self.allows("number"),
            other => self.allows(other),
        }
    }

    fn wrong_type(&self, found: &str, path: &str) -> FieldError {
        invalid(&self.types.join(","), found, path)
    }
}

fn invalid(expected: &str, found: &str, path: &str) -> FieldError {
    let message = format!("{path} in body must be of type {expected}: \"{found}\"");
    FieldError::type_invalid(path, found, message)
}

/// Returns the type of a value, and its format, which only numbers have.
fn kind_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) if number.is_f64() => ("number", "float64"),
        Value::Number(_) => ("integer", "int64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn formats_are_part_of_the_type() {
        let text = "f in body must be of type ";
        for (schema, value, of_object, of_default) in [
            (
                json!({ "format": "date" }),
                json!(true),
                "date: \"\"",
                "date: \"\"",
            ),
            (json!({ "format": "date" }), json!("a"), "", ""),
            (json!({ "format": "int64" }), json!(5), "", ": \"integer\""),
            (
                json!({ "type": "boolean", "format": "duration" }),
                json!({}),
                "boolean: \"object\"",
                "duration: \"\"",
            ),
            (
                json!({ "type": "object", "format": "x" }),
                json!("a"),
                "object: \"string\"",
                "",
            ),
            (
                json!({ "type": "integer", "format": "int32" }),
                json!("a"),
                "integer: \"string\"",
                "integer: \"string\"",
            ),
            (json!({ "type": "string", "nullable": true }), json!(null), "", ""),
        ] {
            for (keeps_formats, expected) in [(false, of_object), (true, of_default)] {
                let error = AllowedTypes::of(&schema, keeps_formats).type_error(&value, "f");
                let found = error.map_or_else(String::new, |error| error.detail);
                assert_eq!(found.trim_start_matches(text), expected, "{schema} {value}");
            }
        }
    }
}
