//! Explains CEL rules that the API server refuses as too expensive: which limits are missing, and the attribute that sets each.

use std::collections::BTreeSet;

use kubewright_apimachinery::field::FieldError;
use serde_json::Value;

/// How many fields a message names.
const MAX_SHOWN: usize = 4;
/// Formats whose values have a limited length.
const SHORT_FORMATS: [&str; 3] = ["date", "date-time", "duration"];

/// Removes the errors that only name one of the rules that together exceed the budget of the schema, and returns them. Removes that of the
/// schema, too, if a rule exceeds its own budget.
pub(super) fn take_contributions(errors: &mut Vec<FieldError>) -> Vec<FieldError> {
    let is_contribution = |error: &FieldError| error.detail.starts_with("contributed to estimated rule cost");
    let (contributions, mut others): (Vec<_>, Vec<_>) = errors.drain(..).partition(is_contribution);
    if others.iter().any(|error| error.detail.starts_with("estimated ")) {
        others.retain(|error| !error.detail.contains("estimated rule cost total"));
    }
    *errors = others;
    contributions
}

/// Returns the reason and the fix, if this is an error about costs of rules. The keyword and detail are those of the error, and the path is
/// that of the field whose schema has the rule; the most expensive rules are those of these fields.
pub(super) fn reason(
    schema: &Value,
    path: &str,
    keyword: &str,
    detail: &str,
    most_expensive: &BTreeSet<String>,
) -> Option<String> {
    let (_, rest) = detail.split_once(" exceeds budget by factor of ")?;
    let (factor, _) = rest.split_once(" (")?;
    let factor = factor.strip_suffix('x').unwrap_or(factor);
    let Some((subject, expression)) = expression(schema, path, keyword) else {
        let mut fields: Vec<&str> = most_expensive.iter().map(String::as_str).collect();
        if fields.is_empty() {
            fields.push("all fields");
        }
        return Some(format!(
            "all CEL rules together may cost {factor} times what the API server allows: simplify the most expensive ones, at {}, or lower \
             the limits of the lists, maps and strings that they read",
            fields.join(", ")
        ));
    };
    let mut missing = vec![];
    let (node, place) = ancestors(schema, path, &mut missing);
    let names: Vec<&str> = expression
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    visit(node, path, place, &names, &mut missing);
    let more = missing.len().saturating_sub(MAX_SHOWN);
    missing.truncate(MAX_SHOWN);
    let fix = match (missing.as_slice(), more) {
        ([], _) => "lower the limits of the lists, maps and strings that it reads".to_owned(),
        (shown, 0) => format!("limit {}", shown.join(", ")),
        (shown, more) => format!("limit {} and {more} more", shown.join(", ")),
    };
    let first_line = first_line(expression);
    Some(format!(
        "{subject} `{first_line}` may cost {factor} times what the API server allows: {fix}, or simplify it"
    ))
}

/// Returns the expression that an error is about, such as `x-kubernetes-validations[0].rule`, and what it is.
pub(super) fn expression<'s>(
    schema: &'s Value,
    path: &str,
    keyword: &str,
) -> Option<(&'static str, &'s str)> {
    let (rules, rest) = keyword.split_once('[')?;
    let (index, key) = rest.split_once("].")?;
    let (node, _) = ancestors(schema, path, &mut vec![]);
    let subject = match key {
        "rule" => "the CEL rule",
        _ => "the message of a CEL rule",
    };
    Some((subject, node[rules][index.parse::<usize>().ok()?][key].as_str()?))
}

/// Returns what messages show of an expression.
pub(super) fn first_line(expression: &str) -> &str {
    expression.trim().lines().next().unwrap_or_default()
}

/// Where a value is, which decides about the attribute that limits it.
#[derive(Clone, Copy)]
enum Place {
    /// In a field: its value, or an item of its lists, so many levels deep.
    Field { depth: usize },
    /// The value of a map.
    MapValue,
}

impl Place {
    fn of_items(self) -> Self {
        match self {
            Self::Field { depth } => Self::Field { depth: depth + 1 },
            Self::MapValue => Self::MapValue,
        }
    }

    /// Returns how a limit with this name is set.
    fn attribute(self, limit: &str) -> String {
        match self {
            Self::Field { depth } if limit != "maxProperties" => {
                let length = "length(max = …)";
                format!(
                    "`#[schemars({}{length}{})]`",
                    "inner(".repeat(depth),
                    ")".repeat(depth)
                )
            }
            Self::Field { depth: 0 } => format!("`#[schemars(extend(\"{limit}\" = …))]`"),
            _ => format!("a type of its own with `#[schemars(extend(\"{limit}\" = …))]`"),
        }
    }
}

/// Returns the schema at a path such as `spec.rules[]`, and its place. Adds the lists and maps around it that have no limit.
fn ancestors<'s>(schema: &'s Value, path: &str, missing: &mut Vec<String>) -> (&'s Value, Place) {
    let (mut node, mut place) = (schema, Place::Field { depth: 0 });
    let mut at = String::new();
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let name = part.trim_end_matches("[]");
        if !at.is_empty() {
            at.push('.');
        }
        at.push_str(name);
        (node, place) = (&node["properties"][name], Place::Field { depth: 0 });
        for _ in 0..part[name.len()..].len() / 2 {
            add(node, &at, place, missing);
            (node, place) = entries(node, place);
            at.push_str("[]");
        }
    }
    (node, place)
}

/// Returns the schema of the items of a list, or of the values of a map.
fn entries(node: &Value, place: Place) -> (&Value, Place) {
    if node["items"].is_object() {
        (&node["items"], place.of_items())
    } else {
        (&node["additionalProperties"], Place::MapValue)
    }
}

/// Adds the values of a schema, and of its fields with these names, that have no limit.
fn visit(node: &Value, path: &str, place: Place, names: &[&str], missing: &mut Vec<String>) {
    add(node, path, place, missing);
    for (name, field) in node["properties"].as_object().into_iter().flatten() {
        let is_named = |used: &&str| {
            *used == name || used.trim_matches('_') == name || *used == name.replace('-', "__dash__")
        };
        if names.iter().any(is_named) {
            let separator = if path.is_empty() { "" } else { "." };
            let path = format!("{path}{separator}{name}");
            visit(field, &path, Place::Field { depth: 0 }, names, missing);
        }
    }
    let (nested, place) = entries(node, place);
    if nested.is_object() {
        visit(nested, &format!("{path}[]"), place, names, missing);
    }
}

/// Adds a value that has no limit.
fn add(node: &Value, path: &str, place: Place, missing: &mut Vec<String>) {
    let is_short = node["format"]
        .as_str()
        .is_some_and(|format| SHORT_FORMATS.contains(&format));
    let limit = match node["type"].as_str() {
        Some("string") if !is_short && node["enum"].is_null() => "maxLength",
        Some("array") => "maxItems",
        Some("object") if node["additionalProperties"].is_object() => "maxProperties",
        _ => return,
    };
    if node[limit].is_null() {
        missing.push(format!("{path} with {}", place.attribute(limit)));
    }
}
