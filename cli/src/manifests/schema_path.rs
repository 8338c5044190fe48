//! Checks JSONPaths, such as those of printer columns, against a schema.

use serde_json::Value;

use crate::similar;

/// Checks that a path leads to a field of the schema.
///
/// # Errors
/// The first step that does not exist, with the fields that do. A path with syntax that is not understood here is accepted: the API server
/// checks it.
pub(super) fn check(schema: &Value, path: &str) -> Result<(), String> {
    let Some(steps) = steps(path) else { return Ok(()) };
    // The schema of an object has no fields of metadata; the API server knows them.
    if matches!(
        steps.first(),
        Some(Step::Field("metadata" | "apiVersion" | "kind"))
    ) {
        return Ok(());
    }
    let (mut schema, mut walked) = (schema, String::new());
    for step in steps {
        if schema["x-kubernetes-preserve-unknown-fields"] == true {
            return Ok(());
        }
        match step {
            Step::Field(name) => {
                let properties = schema["properties"].as_object();
                schema = match properties.and_then(|properties| properties.get(name)) {
                    Some(found) => found,
                    None if schema["additionalProperties"].is_object() => &schema["additionalProperties"],
                    None if schema["additionalProperties"] == true => return Ok(()),
                    None if schema["type"] == "array" => {
                        return Err(format!(
                            "`{walked}` is a list: write `{walked}[*].{name}` or an index"
                        ));
                    }
                    None => {
                        let names: Vec<&str> = properties
                            .into_iter()
                            .flatten()
                            .map(|(name, _)| name.as_str())
                            .collect();
                        return Err(missing(name, &walked, &names));
                    }
                };
                walked.push('.');
                walked.push_str(name);
            }
            Step::Items => {
                if !schema["items"].is_object() {
                    return Err(format!("`{walked}` is not a list: remove the brackets"));
                }
                schema = &schema["items"];
                walked.push_str("[*]");
            }
        }
    }
    Ok(())
}

fn missing(name: &str, walked: &str, names: &[&str]) -> String {
    let place = if walked.is_empty() { "the object" } else { walked };
    let hint = match names.iter().find(|known| similar::is_similar(known, name)) {
        Some(known) => format!("did you mean `{known}`?"),
        None if names.is_empty() => "it has no fields".to_owned(),
        None => format!("the fields are {}", names.join(", ")),
    };
    format!("`{place}` has no field `{name}`: {hint}")
}

/// A step of a path.
#[derive(Debug, PartialEq)]
enum Step<'p> {
    Field(&'p str),
    /// An index, `*` or a filter.
    Items,
}

/// Splits `.status.conditions[?(@.type=="Ready")].status`; none for other syntax, such as `..` and `{…}`.
fn steps(path: &str) -> Option<Vec<Step<'_>>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let end = closing_bracket(after)?;
            let inner = &after[..end];
            let quoted = |quote: char| {
                inner
                    .strip_prefix(quote)
                    .and_then(|inner| inner.strip_suffix(quote))
            };
            steps.push(match quoted('\'').or_else(|| quoted('"')) {
                Some(name) => Step::Field(name),
                None => Step::Items,
            });
            rest = &after[end + 1..];
        } else {
            let after = rest.strip_prefix('.')?;
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let name = &after[..end];
            if name.is_empty() || name.contains(['*', '\\', '{', '}']) {
                return None;
            }
            steps.push(Step::Field(name));
            rest = &after[end..];
        }
    }
    Some(steps)
}

/// Returns the position of the bracket that closes the current one; brackets in quotes do not count.
fn closing_bracket(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, character) in text.char_indices() {
        if let Some(open) = quote {
            quote = (open != character).then_some(open);
            continue;
        }
        match character {
            '\'' | '"' => quote = Some(character),
            '[' => depth += 1,
            ']' if depth == 0 => return Some(at),
            ']' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn steps_are_fields_and_items() {
        use Step::{Field, Items};
        let cases = [
            (".spec.replicas", Some(vec![Field("spec"), Field("replicas")])),
            (
                r#".status.conditions[?(@.type=="a]b")].status"#,
                Some(vec![Field("status"), Field("conditions"), Items, Field("status")]),
            ),
            (
                ".metadata.labels['a.b/c']",
                Some(vec![Field("metadata"), Field("labels"), Field("a.b/c")]),
            ),
            (".spec.hosts[0]", Some(vec![Field("spec"), Field("hosts"), Items])),
            ("..name", None),
            ("spec", None),
            (".a[", None),
        ];
        for (path, expected) in cases {
            assert_eq!(steps(path), expected, "{path}");
        }
    }

    #[test]
    fn missing_fields_are_named_with_a_fix() {
        let schema = json!({"properties": {
            "spec": {"properties": {
                "replicas": {"type": "integer"},
                "hosts": {"type": "array", "items": {"properties": {"name": {"type": "string"}}}},
                "labels": {"additionalProperties": {"type": "string"}},
                "any": {"x-kubernetes-preserve-unknown-fields": true},
            }},
        }});
        for valid in [
            ".spec.replicas",
            ".spec.hosts[0].name",
            ".spec.labels['a']",
            ".spec.any.thing[0]",
            ".metadata.creationTimestamp",
        ] {
            assert_eq!(check(&schema, valid), Ok(()), "{valid}");
        }
        let cases = [
            (
                ".spec.replica",
                "`.spec` has no field `replica`: did you mean `replicas`?",
            ),
            (
                ".spec.x",
                "`.spec` has no field `x`: the fields are any, hosts, labels, replicas",
            ),
            (
                ".status.x",
                "`the object` has no field `status`: the fields are spec",
            ),
            (
                ".spec.hosts.name",
                "`.spec.hosts` is a list: write `.spec.hosts[*].name` or an index",
            ),
            (
                ".spec.replicas[0]",
                "`.spec.replicas` is not a list: remove the brackets",
            ),
            (
                ".spec.replicas.x",
                "`.spec.replicas` has no field `x`: it has no fields",
            ),
        ];
        for (path, expected) in cases {
            assert_eq!(check(&schema, path), Err(expected.to_owned()), "{path}");
        }
    }
}
