//! The reasons why the API server refuses a schema, in terms of Rust: what the types have, and the fix.

use kubewright_apimachinery::field::FieldError;
use serde_json::Value;

use super::rule_costs;

/// The keyword of CEL rules.
pub(super) const RULES: &str = "x-kubernetes-validations";

// ANCHOR: errors
/// Why the API server refuses the schema of a field, with the fix.
#[derive(Debug, thiserror::Error)]
pub(super) enum DefinitionReason {
    /// A field has no type.
    #[error(
        "values of any type are not allowed, as `serde_json::Value` has: write a struct, or add \
         `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]` to the field"
    )]
    AnyValue,
    /// The values of a list or map have no type: an attribute of the field would concern the list or map.
    #[error(
        "values of any type are not allowed, as `serde_json::Value` has: write a struct, or use a type of its own, such as \
         `struct Any(serde_json::Value)`, with `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]`"
    )]
    AnyElement,
    /// A tuple.
    #[error("tuples are not allowed: use a struct with named fields, or a `Vec` of one type")]
    Tuple,
    /// A map whose keys are not any strings.
    #[error(
        "a map whose keys are integers or have a pattern is not allowed: use a `BTreeMap<String, …>`, or give the field the schema of one \
         with `#[schemars(with = \"BTreeMap<String, …>\")]`"
    )]
    MapKeys,
    /// `#[serde(flatten)]` of a map.
    #[error(
        "a flattened map beside other fields is not allowed: give the map a field of its own, or flatten a \
         `BTreeMap<String, serde_json::Value>`"
    )]
    FlattenedMap,
    /// A pattern that Go's regular expressions do not have.
    #[error(
        "the pattern {pattern} is not a valid regular expression ({detail}): the API server's have no look-around and no back-references"
    )]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The API server's reason.
        detail: String,
    },
    /// A CEL rule, or its message.
    #[error("{subject} {why}: correct it in {attribute}")]
    Rule {
        /// The rule, with its expression.
        subject: String,
        /// Why it is invalid, as in `does not compile (1:6: undefined field 'a')`.
        why: String,
        /// The attribute that has the rule.
        attribute: &'static str,
    },
    /// A default that the schema refuses.
    #[error("the default does not match the schema ({0}): change `#[serde(default = …)]` or the constraint")]
    Default(String),
    /// An enum whose variants have no common schema.
    #[error(
        "an enum whose variants have data of different shapes is not allowed ({keyword} {detail}): use a struct with an optional field \
         for each variant"
    )]
    Variants {
        /// The keyword of the schema.
        keyword: String,
        /// The API server's reason.
        detail: String,
    },
    /// Any other keyword of the schema.
    #[error("{keyword}: {detail}: change the type or its `#[schemars(…)]` attributes")]
    Other {
        /// The keyword.
        keyword: String,
        /// The API server's reason.
        detail: String,
    },
}
// ANCHOR_END: errors

/// Returns the reason of an error at a keyword of a field's schema. The schema is that of the whole object.
pub(super) fn reason(schema: &Value, path: &str, keyword: &str, error: &FieldError) -> DefinitionReason {
    let detail = &error.detail;
    match keyword {
        // An attribute of a field concerns the list or map, not the values in it.
        "type" if detail.starts_with("must not be empty") && path.ends_with("[]") => {
            DefinitionReason::AnyElement
        }
        "type" if detail.starts_with("must not be empty") => DefinitionReason::AnyValue,
        "items" | "additionalItems" => DefinitionReason::Tuple,
        "patternProperties" => DefinitionReason::MapKeys,
        "additionalProperties" if detail.contains("mutual exclusive") => DefinitionReason::FlattenedMap,
        "pattern" => DefinitionReason::Pattern {
            pattern: error.value.clone().unwrap_or_default(),
            detail: detail.clone(),
        },
        _ if keyword.starts_with(RULES) => invalid_rule(schema, path, keyword, detail),
        _ if keyword.starts_with("default") => {
            DefinitionReason::Default(detail.trim_start_matches(" in body ").to_owned())
        }
        _ if keyword.starts_with("oneOf") || keyword.starts_with("anyOf") || keyword.starts_with("allOf") => {
            DefinitionReason::Variants {
                keyword: keyword.to_owned(),
                detail: detail.clone(),
            }
        }
        _ => DefinitionReason::Other {
            keyword: keyword.to_owned(),
            detail: detail.clone(),
        },
    }
}

/// The keyword is as in `x-kubernetes-validations[0].rule`.
fn invalid_rule(schema: &Value, path: &str, keyword: &str, detail: &str) -> DefinitionReason {
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
    DefinitionReason::Rule {
        subject,
        why,
        attribute,
    }
}

/// Returns the places and reasons of the compiler's errors, as in `1:6: undefined field 'a'`, without the lines that show the expression.
fn without_source(errors: &str) -> String {
    let errors = errors
        .lines()
        .filter_map(|line| line.strip_prefix("ERROR: <input>:"));
    errors.collect::<Vec<_>>().join("; ")
}
