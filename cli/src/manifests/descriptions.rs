//! Shortens or removes the descriptions of CRDs, as `descriptions` in `kubewright.toml` says.

use serde::Deserialize;
use serde_json::Value;

/// How much of the descriptions a CRD contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Descriptions {
    /// All.
    #[default]
    Full,
    /// The first sentence of each.
    Short,
    /// None: `kubectl explain` shows only names and types.
    None,
}

impl Descriptions {
    /// Returns the CRD with these descriptions.
    pub fn apply(self, crd: &Value) -> Value {
        let mut crd = crd.clone();
        // Definitions of others may have any shape.
        let versions = crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
        for version in versions.into_iter().flatten() {
            if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
                self.shorten(schema);
            }
        }
        crd
    }

    fn shorten(self, schema: &mut Value) {
        let Value::Object(fields) = schema else { return };
        match self {
            Self::Full => return,
            Self::None => drop(fields.remove("description")),
            Self::Short => {
                if let Some(Value::String(text)) = fields.get_mut("description") {
                    *text = first_sentence(text);
                }
            }
        }
        for key in ["items", "additionalProperties"] {
            if let Some(nested) = fields.get_mut(key) {
                self.shorten(nested);
            }
        }
        // A field can be called `description`: only the values of `properties` are schemas.
        let properties = fields.get_mut("properties").and_then(Value::as_object_mut);
        for (_, property) in properties.into_iter().flatten() {
            self.shorten(property);
        }
    }
}

/// Returns the first sentence, without line breaks. A word alone, such as "Required.", is not a sentence, and none ends before a small
/// letter or with "e.g.". Lists and blocks of code after the first paragraph's text are left out.
pub(crate) fn first_sentence(text: &str) -> String {
    let is_text = |line: &&str| !line.is_empty() && !line.starts_with(['-', '*']) && !line.starts_with("```");
    let mut words = String::new();
    for line in text.lines().map(str::trim).take_while(is_text) {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(line);
    }
    let mut ends = words.match_indices(". ").map(|(at, _)| at + 1);
    let end = ends.find(|&end| {
        let (sentence, rest) = words.split_at(end);
        sentence.contains(' ')
            && !["e.g.", "i.e."].iter().any(|word| sentence.ends_with(word))
            && !rest.trim_start().starts_with(char::is_lowercase)
    });
    words.truncate(end.unwrap_or(words.len()));
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn descriptions_are_shortened_or_removed_and_fields_of_that_name_stay() {
        let crd = |outer: Option<&str>, inner: Option<&str>| {
            let mut schema = json!({"type": "object", "properties": {"description": {"type": "array", "items": {"type": "string"}}}});
            if let (Some(outer), Some(inner)) = (outer, inner) {
                schema["description"] = json!(outer);
                schema["properties"]["description"]["items"]["description"] = json!(inner);
            }
            json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}})
        };
        let (outer, inner) = (
            "The v1.2 size. More: https://a.b/c. End.",
            "One line\nand more\n\nEnd",
        );
        let full = crd(Some(outer), Some(inner));
        assert_eq!(Descriptions::Full.apply(&full), full);
        assert_eq!(
            Descriptions::Short.apply(&full),
            crd(Some("The v1.2 size."), Some("One line and more"))
        );
        assert_eq!(Descriptions::None.apply(&full), crd(None, None));
    }

    #[test]
    fn first_sentence_is_a_sentence() {
        for (text, expected) in [
            (
                "Required. The taint key to be\napplied. More.",
                "Required. The taint key to be applied.",
            ),
            ("A size, e.g. 5 or more. End.", "A size, e.g. 5 or more."),
            ("One of, i.e. any of. End.", "One of, i.e. any of."),
            ("One of:\n- a. b\n- c", "One of:"),
            ("`Ready` is true. End.", "`Ready` is true."),
            ("Code:\n```yaml\na: b\n```", "Code:"),
            ("Fällt weg. Ä", "Fällt weg."),
            ("Required.", "Required."),
            ("\nlater", ""),
        ] {
            assert_eq!(first_sentence(text), expected);
        }
    }
}
