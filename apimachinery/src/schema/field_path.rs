//! The paths of fields that rules name in `fieldPath`.

use serde_json::Value;

/// Returns a rule's `fieldPath`, such as `.a['b']`, as errors write it: `.a.b`, or `.a[b]` if `b` is the key of a map; None if it is no field of the
/// schema.
pub(super) fn field_path(schema: &Value, path: &str) -> Option<String> {
    let (mut schema, mut rest, mut found) = (schema, path, String::new());
    while !rest.is_empty() {
        let (name, after) = if let Some(quoted) = rest.strip_prefix("['") {
            unquoted(quoted)?
        } else {
            let dotted = rest.strip_prefix('.')?;
            let (name, after) = dotted.split_at(dotted.find(['.', '[']).unwrap_or(dotted.len()));
            (name.to_owned(), after)
        };
        schema = if let Some(field) = schema["properties"].get(&name) {
            found.push('.');
            found.push_str(&name);
            field
        } else {
            found = format!("{found}[{name}]");
            schema
                .get("additionalProperties")
                .filter(|values| values.is_object())?
        };
        rest = after;
    }
    (!path.is_empty()).then_some(found)
}

/// Splits the name from what follows it and `']`. A backslash escapes a quote or a backslash in a name.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\'' => return Some((name, text[at..].strip_prefix("']")?)),
            '\\' => name.push(characters.next()?.1),
            other => name.push(other),
        }
    }
    None
}
