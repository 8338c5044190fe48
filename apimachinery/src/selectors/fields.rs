//! Field selectors: `status.phase=Running,metadata.name!=x`.

use crate::status::ApiError;

/// Requirements on fields. An empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    requirements: Vec<(String, bool, String)>,
}

impl FieldSelector {
    /// Parses a selector. In values, a backslash escapes commas, equals signs and itself.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        let mut requirements = vec![];
        for part in split(text) {
            if part.is_empty() {
                continue;
            }
            let Some((field, equal, value)) = operator(part) else {
                return Err(ApiError::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{part}'"
                )));
            };
            let value = unescape(value)?;
            // The real server ignores requirements with an empty field and an empty value.
            if equal && field.is_empty() && value.is_empty() {
                continue;
            }
            requirements.push((field.to_owned(), equal, value));
        }
        Ok(Self { requirements })
    }

    /// The fields that the selector uses.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.requirements.iter().map(|(field, _, _)| field.as_str())
    }

    /// Whether the selector matches everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The value that the selector requires of a field.
    pub fn exact_value(&self, name: &str) -> Option<&str> {
        let pins = |(field, equal, _): &&(String, bool, String)| field == name && *equal;
        self.requirements
            .iter()
            .find(pins)
            .map(|(_, _, value)| value.as_str())
    }

    /// Whether the selector matches an object, given the values of its fields.
    pub fn matches(&self, field_value: impl Fn(&str) -> String) -> bool {
        self.requirements
            .iter()
            .all(|(field, equal, value)| (field_value(field) == *value) == *equal)
    }
}

fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut escaped) = (vec![], 0, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn operator(part: &str) -> Option<(&str, bool, &str)> {
    let at = part.find(['=', '!'])?;
    let (field, rest) = part.split_at(at);
    if let Some(value) = rest.strip_prefix("!=") {
        return Some((field, false, value));
    }
    rest.strip_prefix("==")
        .or_else(|| rest.strip_prefix('='))
        .map(|value| (field, true, value))
}

fn unescape(value: &str) -> Result<String, ApiError> {
    let (mut text, mut characters) = (String::new(), value.chars());
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(next @ ('\\' | ',' | '=')) => text.push(next),
                next => {
                    let next = next.map(String::from).unwrap_or_default();
                    return Err(ApiError::bad_request(format!(
                        "invalid field selector: invalid escape sequence: \\{next}"
                    )));
                }
            },
            ',' | '=' => {
                return Err(ApiError::bad_request(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(character)
                )));
            }
            other => text.push(other),
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_selector_operators_and_escapes_are_parsed() {
        let selector = FieldSelector::parse(r"a=b,c!=d\,e,f==g").unwrap();
        let expected = [("a", true, "b"), ("c", false, "d,e"), ("f", true, "g")];
        let expected = expected.map(|(field, equal, value)| (field.to_owned(), equal, value.to_owned()));
        assert_eq!(selector.requirements, expected);
        assert!(FieldSelector::parse("").unwrap().is_empty());
        let error = FieldSelector::parse("spec.x").unwrap_err();
        assert_eq!(
            error.message,
            "invalid selector: 'spec.x'; can't understand 'spec.x'"
        );
        assert!(FieldSelector::parse(r"a=\b").is_err());
    }
}
