//! The reasons why the API server refuses a schema, in terms of Rust: what the types have, and the fix.

use kubewright_apimachinery::field::FieldError;
use serde_json::Value;

use super::rule_costs;

/// The keyword of CEL rules.
pub(super) const RULES: &str = "x-kubernetes-validations";

// ANCHOR: reasons
/// Returns the reason of an error at a keyword of a field's schema, with the fix. The schema is that of the whole object.
pub(super) fn reason(schema: &Value, path: &str, keyword: &str, error: &FieldError) -> String {
    let detail = &error.detail;
    match keyword {
        "type" if detail.starts_with("must not be empty") => any_value(path),
        "items" | "additionalItems" => {
            "tuples are not allowed: use a struct with named fields, or a `Vec` of one type".to_owned()
        }
        "patternProperties" => {
            "a map whose keys are integers or have a pattern is not allowed: use a `BTreeMap<String, …>`, or give the field the schema of one \
             with `#[schemars(with = \"BTreeMap<String, …>\")]`"
                .to_owned()
        }
        "additionalProperties" if detail.contains("mutual exclusive") => {
            "a flattened map beside other fields is not allowed: give the map a field of its own, or flatten a \
             `BTreeMap<String, serde_json::Value>`"
                .to_owned()
        }
        "pattern" => format!(
            "the pattern {} is not a valid regular expression ({detail}): the API server's have no look-around and no back-references",
            error.value.as_deref().unwrap_or_default()
        ),
        _ if keyword.starts_with(RULES) => invalid_rule(schema, path, keyword, detail),
        _ if keyword.starts_with("default") => {
            format!(
                "the default does not match the schema ({}): change `#[serde(default = …)]` or the constraint",
                detail.trim_start_matches(" in body ")
            )
        }
        _ if keyword.starts_with("oneOf") || keyword.starts_with("anyOf") || keyword.starts_with("allOf") => format!(
            "an enum whose variants have data of different shapes is not allowed ({keyword} {detail}): use a struct with an optional field \
             for each variant"
        ),
        _ => format!("{keyword}: {detail}: change the type or its `#[schemars(…)]` attributes"),
    }
}

/// An attribute of a field concerns the list or map, not the values in it: these need a type of their own.
fn any_value(path: &str) -> String {
    let attribute = "`#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]`";
    let fix = if path.ends_with("[]") {
        format!("use a type of its own, such as `struct Any(serde_json::Value)`, with {attribute}")
    } else {
        format!("add {attribute} to the field")
    };
    format!("values of any type are not allowed, as `serde_json::Value` has: write a struct, or {fix}")
}

/// The keyword is as in `x-kubernetes-validations[0].rule`.
fn invalid_rule(schema: &Value, path: &str, keyword: &str, detail: &str) -> String {
    let attribute = if path.is_empty() {
        "`#[kube(validation = …)]`"
    } else {
        "`#[schemars(extend(\"x-kubernetes-validations\" = …))]` of the type or the field"
    };
    let key = keyword.rsplit('.').next().unwrap_or(keyword);
    let is_expression = ["rule", "messageExpression"].contains(&key);
    let expression = rule_costs::expression(schema, path, keyword).filter(|_| is_expression);
    let subject = match expression {
        Some((subject, expression)) => format!("{subject} `{}`", rule_costs::first_line(expression)),
        None => format!("{key} of a CEL rule"),
    };
    let compilation = detail.strip_prefix("messageExpression ").unwrap_or(detail);
    let why = match compilation.strip_prefix("compilation failed: ") {
        Some(errors) => format!("does not compile ({})", without_source(errors)),
        None => format!("is not valid ({compilation})"),
    };
    format!("{subject} {why}: correct it in {attribute}")
}
// ANCHOR_END: reasons

/// Returns the places and reasons of the compiler's errors, as in `1:6: undefined field 'a'`, without the lines that show the expression.
fn without_source(errors: &str) -> String {
    let errors = errors
        .lines()
        .filter_map(|line| line.strip_prefix("ERROR: <input>:"));
    errors.collect::<Vec<_>>().join("; ")
}
