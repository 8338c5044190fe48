//! Writes an object as a template: YAML in the style of the manifests, with the expressions in it, and with `{{` escaped elsewhere.

use serde_json::{Map, Value, json};

use super::expressions::{CLOSE, OPEN, RAW};
use crate::yaml::{self, YamlError};

/// Stands for the indentation of its line, as a number.
pub(super) const INDENT: char = '\u{E003}';

/// Returns the template of a map, which is not indented.
pub(super) fn text(value: &Value) -> Result<String, YamlError> {
    let mut lines = Vec::new();
    match value {
        Value::Object(fields) => map(fields, &mut lines)?,
        other => lines.extend(yaml::write(other)?.lines().map(escape)),
    }
    Ok(joined(&lines))
}

/// Returns the template of a list's item, with its dash.
pub(super) fn item(value: &Value) -> Result<String, YamlError> {
    let mut lines = Vec::new();
    list(std::slice::from_ref(value), &mut lines)?;
    Ok(joined(&lines))
}

fn joined(lines: &[String]) -> String {
    let with_indent = |line: &String| {
        let indent = line.len() - line.trim_start().len();
        line.replace(INDENT, &indent.to_string()) + "\n"
    };
    lines.iter().map(with_indent).collect()
}

fn map(fields: &Map<String, Value>, lines: &mut Vec<String>) -> Result<(), YamlError> {
    for (key, value) in fields {
        entry(key, value, lines)?;
    }
    Ok(())
}

fn entry(key: &str, value: &Value, lines: &mut Vec<String>) -> Result<(), YamlError> {
    let head = yaml::write(&json!({key: null}))?;
    let head = escape(head.trim_end().trim_end_matches("null").trim_end());
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let mut below = Vec::new();
            map(fields, &mut below)?;
            lines.push(head);
            lines.extend(indented(&below));
        }
        Value::Array(items) if !items.is_empty() => {
            lines.push(head);
            list(items, lines)?;
        }
        Value::String(text) if text.starts_with(RAW) => lines.extend(raw_lines(text)),
        Value::String(text) if text.contains(OPEN) => lines.push(format!("{head} {}", quoted(text))),
        _ => lines.extend(yaml::write(&json!({key: value}))?.lines().map(escape)),
    }
    Ok(())
}

fn list(items: &[Value], lines: &mut Vec<String>) -> Result<(), YamlError> {
    for item in items {
        let mut below = Vec::new();
        match item {
            Value::Object(fields) if !fields.is_empty() => {
                let mut fields = fields.clone();
                // First, so that a list is easy to read, and no item begins with a condition.
                if let Some(name) = fields.remove("name") {
                    entry("name", &name, &mut below)?;
                }
                map(&fields, &mut below)?;
            }
            Value::Array(items) if !items.is_empty() => list(items, &mut below)?,
            Value::String(text) if text.starts_with(RAW) => {
                lines.extend(raw_lines(text));
                continue;
            }
            Value::String(text) if text.contains(OPEN) => {
                lines.push(format!("- {}", quoted(text)));
                continue;
            }
            other => {
                lines.extend(yaml::write(&json!([other]))?.lines().map(escape));
                continue;
            }
        }
        if below.first().is_some_and(|line| line.starts_with("{{-")) {
            lines.push("-".to_owned());
        } else if let Some(first) = below.first_mut() {
            first.insert_str(0, "- ");
            let (first, rest) = (below.remove(0), below);
            lines.push(first);
            lines.extend(indented(&rest));
            continue;
        }
        lines.extend(indented(&below));
    }
    Ok(())
}

fn raw_lines(text: &str) -> impl Iterator<Item = String> {
    text.trim_start_matches(RAW).lines().map(str::to_owned)
}

fn indented(lines: &[String]) -> impl Iterator<Item = String> {
    lines.iter().map(|line| format!("  {line}"))
}

/// Returns a text with expressions as a scalar in double quotes. Expressions are rendered before YAML is parsed.
fn quoted(text: &str) -> String {
    let mut scalar = String::from("\"");
    for (index, part) in text.split([OPEN, CLOSE]).enumerate() {
        // Parts are literal and expression in turn.
        if index % 2 == 1 {
            scalar.push_str("{{ ");
            scalar.push_str(part);
            scalar.push_str(" }}");
        } else {
            let literal = Value::from(part).to_string();
            scalar.push_str(&escape(literal.trim_matches('"')));
        }
    }
    scalar + "\""
}

/// Has the template print `{{`.
fn escape(text: &str) -> String {
    text.replace("{{", r#"{{ "{{" }}"#)
}

#[cfg(test)]
mod tests {
    use super::super::expressions::{expression, raw, when};
    use super::*;

    #[test]
    fn plain_values_are_written_as_in_the_manifests() {
        let value = json!({
            "a": {"b": [], "c": {}, "d": null, "e": "yes", "f": "1:30"},
            "list": [{"a": 1, "b": [{"c": [2]}]}, ["x", ["y"]], "z"],
            "text": "two\nlines: \"quoted\" \\ # not a comment ",
        });
        let text = text(&value).unwrap();
        assert_eq!(yaml::read_all(&text).unwrap(), [value], "{text}");
    }

    #[test]
    fn expressions_are_written_and_braces_escaped() {
        let value = json!({
            "plain": "{{ x }} and {{",
            "mixed": format!("\"{{{{ {} }}}}", expression("$.Values.a | quote")),
            "list": [{"a": raw(&when("$.Values.b", "a: 1\n")), "name": "first"}, raw("- {{ . }}\n"), {"b": raw("{{- x }}\nb: 2\n")}],
        });
        assert_eq!(
            text(&value).unwrap(),
            r#"list:
- name: first
  {{- if $.Values.b }}
  a: 1
  {{- end }}
- {{ . }}
-
  {{- x }}
  b: 2
mixed: "\"{{ "{{" }} {{ $.Values.a | quote }} }}"
plain: "{{ "{{" }} x }} and {{ "{{" }}"
"#
        );
    }
}
