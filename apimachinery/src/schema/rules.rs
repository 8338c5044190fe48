//! Evaluation of a schema's rules, `x-kubernetes-validations`, with kube-cel.
//!
//! Walking the schema, correlating old items with new ones, paths, reasons and messages are implemented here; kube-cel parses and evaluates
//! one rule for one value. Differences from a real server:
//!
//! - Costs are estimated when the definition is created (`cel::cost`); when an object is validated, only the steps of comprehensions are
//!   counted: kube-cel does not report the operations that it executes.
//! - Lists of type set and map within compared values are compared in order. `oldSelf` has their items in the order of `self`, so that a
//!   reordered list is equal.
//! - `self` at the root has all of the metadata, not only `name` and `generateName`.
//! - Some evaluation errors have kube-cel's message: `cel::messages` and `cel::library` have those of the others.
//! - Keys of maps are texts, numbers and booleans only, and durations are added to times, not times to durations.

use super::rule_program::{RuleProgram, Violation};
use super::shown::showing;
use super::unchanged::Correlation;
use super::{Violations, field_path, join, lists, rule_text, rule_values, value_types};
use crate::cel::{OVER_BUDGET, OVER_COST, check_rule};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeMap;

const RULES: &str = "x-kubernetes-validations";
/// Prefix of the message of a rule without a message.
const FAILED_RULE_PREFIX: &str = "failed rule: ";

/// The error of a rule for a value without a type.
const UNTYPED: &str =
    "rule compiler initialization error: failed to convert to declType for CEL validation rules";

/// The rules of a schema and of its nested schemas.
#[derive(Debug, Default)]
pub(super) struct Rules {
    own: Vec<Rule>,
    /// The value has no type, so that its rules cannot be evaluated.
    is_untyped: bool,
    properties: BTreeMap<String, Rules>,
    values: Option<Box<Rules>>,
    items: Option<Box<Rules>>,
}

#[derive(Debug)]
struct Rule {
    text: String,
    message: String,
    reason: String,
    field_path: String,
    program: RuleProgram,
    /// Why the rule is invalid, if that is checked.
    refused: Option<String>,
}

impl Rules {
    /// Compiles the rules of a schema of whole objects; none if it has no rules.
    pub(super) fn compile(schema: &Value) -> Option<Self> {
        Self::compile_typed(schema, Some(schema), None)
    }

    /// Compiles rules that may be invalid. `is_object` marks the schema of a whole object.
    pub(super) fn compile_checked(schema: &Value, is_object: bool) -> Option<Self> {
        Self::compile_typed(schema, Some(schema), Some(is_object))
    }

    /// Compiles the rules of a schema. `typed` is the schema that describes the type of its values for rules: none if they have none. Rules of
    /// fields without a type are ignored. If the rules are checked, `checked` says whether the schema is that of a whole object.
    fn compile_typed(schema: &Value, typed: Option<&Value>, checked: Option<bool>) -> Option<Self> {
        // Indexing a missing sub-schema gives null, and so on forever.
        if !schema.is_object() {
            return None;
        }
        let elements = typed.and_then(value_types::elements);
        let checked_below =
            |schema: &Value| checked.map(|_| schema["x-kubernetes-embedded-resource"] == true);
        let compile_nested =
            |schema: &Value| Self::compile_typed(schema, elements, checked_below(schema)).map(Box::new);
        let properties = schema["properties"].as_object().into_iter().flatten();
        let properties = properties.filter(|(name, schema)| {
            let has_fields = typed.is_some_and(value_types::has_fields) || !value_types::is_escapable(name);
            has_fields && value_types::is_typed(schema)
        });
        let own: Vec<Rule> = schema[RULES]
            .as_array()
            .into_iter()
            .flatten()
            .map(|rule| Rule::compile(rule, schema, checked))
            .collect();
        let rules = Self {
            is_untyped: typed.is_none() && !own.is_empty(),
            own,
            properties: properties
                .filter_map(|(name, schema)| {
                    let rules = Self::compile_typed(schema, Some(schema), checked_below(schema))?;
                    Some((name.clone(), rules))
                })
                .collect(),
            values: compile_nested(&schema["additionalProperties"]),
            items: compile_nested(&schema["items"]),
        };
        let is_empty = rules.own.is_empty()
            && rules.properties.is_empty()
            && rules.values.is_none()
            && rules.items.is_none();
        (!is_empty).then_some(rules)
    }

    /// Adds what the object violates.
    pub(super) fn check(&self, object: &Value, old: Option<&Value>, schema: &Value, found: &mut Violations) {
        self.visit(object, old, None, schema, "", found);
    }

    /// Evaluates the rules of a value and of what it contains. A value without a corresponding old one is unchanged if the nearest value
    /// around it that has one is.
    fn visit<'a>(
        &self,
        value: &'a Value,
        old: Option<&'a Value>,
        around: Option<Correlation<'a>>,
        schema: &'a Value,
        path: &str,
        found: &mut Violations,
    ) {
        if value.is_null() || found.is_over_cost {
            return;
        }
        let nearest = old.map(|old| Correlation { value, old, schema }).or(around);
        let old = old.filter(|old| !old.is_null());
        if self.is_untyped {
            found
                .errors
                .push(FieldError::invalid(path, type_name(schema), UNTYPED));
        } else if !self.own.is_empty() {
            self.check_own(value, old, nearest, schema, path, found);
            if found.is_over_cost {
                return;
            }
        }
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let old = old.and_then(|old| old.get(name));
                    if let Some(rules) = self.properties.get(name) {
                        let schema = &schema["properties"][name];
                        rules.visit(value, old, nearest, schema, &join(path, name), found);
                    } else if let Some(rules) = self
                        .values
                        .as_ref()
                        .filter(|_| schema["properties"].get(name).is_none())
                    {
                        rules.visit(
                            value,
                            old,
                            nearest,
                            &schema["additionalProperties"],
                            &format!("{path}[{name}]"),
                            found,
                        );
                    }
                }
            }
            Value::Array(items) => {
                let Some(rules) = &self.items else { return };
                for (index, item) in items.iter().enumerate() {
                    let old = lists::correlated(item, old, schema);
                    let below = format!("{path}[{index}]");
                    rules.visit(item, old, nearest, &schema["items"], &below, found);
                }
            }
            _ => {}
        }
    }

    /// Evaluates the rules of a value itself. Nothing else is evaluated after one that is too expensive.
    fn check_own(
        &self,
        value: &Value,
        old: Option<&Value>,
        nearest: Option<Correlation<'_>>,
        schema: &Value,
        path: &str,
        found: &mut Violations,
    ) {
        let with_doubles = |value: &Value| with_doubles(value, schema);
        let doubled = with_doubles(value);
        let shown = rule_values::to_cel(&doubled, schema);
        let invalid = rule_values::invalid_data(value, schema);
        let reads_old = self.own.iter().any(|rule| rule.program.reads_old);
        let old = old.map(|old| {
            let old = with_doubles(old);
            if reads_old {
                rule_values::to_cel(&lists::in_order_of(&doubled, &old, schema), schema)
            } else {
                rule_values::to_cel(&old, schema)
            }
        });
        for rule in &self.own {
            if let Some(why) = &rule.refused {
                let (ty, why) = (type_name(schema), format!("rule compile error: {why}"));
                found.errors.push(FieldError::invalid(path, ty, why));
                continue;
            }
            let is_evaluated = old.is_some() || !rule.program.reads_old;
            let violation = match &invalid {
                Some(why) if is_evaluated && rule.program.reads_self => Some(Violation::Failed(why.clone())),
                _ => rule.program.evaluate(&shown, old.as_ref(), &mut found.steps),
            };
            let Some(violation) = violation else { continue };
            let error = rule.error(&violation, value, schema, path);
            if matches!(violation, Violation::OverCost | Violation::OverBudget) {
                found.errors.push(error);
                found.is_over_cost = true;
                return;
            }
            // Rules that compare with the old value are about the change.
            let ratchets = !rule.program.reads_old && matches!(violation, Violation::False(_));
            if ratchets && nearest.is_some_and(Correlation::is_unchanged) {
                found.unchanged.push(error);
            } else {
                found.errors.push(error);
            }
        }
    }
}

impl Rule {
    fn compile(rule: &Value, schema: &Value, checked: Option<bool>) -> Self {
        let text = |name: &str| rule[name].as_str().unwrap_or_default().trim().to_owned();
        let old_is_optional = rule["optionalOldSelf"] == true;
        let expression = |name: &str| {
            let text = rule[name].as_str()?;
            Some(rule_text::for_evaluation(text, schema, old_is_optional))
        };
        let program = RuleProgram::compile(
            &expression("rule").unwrap_or_default(),
            expression("messageExpression").as_deref(),
            old_is_optional,
            schema,
        );
        let checked = checked.filter(|_| !text("rule").is_empty());
        Self {
            refused: checked.and_then(|is_object| check_rule(rule, "rule", schema, is_object).err()),
            text: text("rule"),
            message: text("message"),
            reason: text("reason"),
            field_path: field_path::field_path(schema, &text("fieldPath")).unwrap_or_default(),
            program,
        }
    }

    /// The message of a violated rule: the result of its `messageExpression` if that is a valid message, else its message, else its
    /// original text.
    fn failure_message(&self, result: &str) -> String {
        const MAX_MESSAGE_BYTES: usize = 5 << 10;
        let text = result.trim();
        let is_message = !text.is_empty() && text.len() <= MAX_MESSAGE_BYTES && !text.contains('\n');
        if is_message && !text.starts_with(FAILED_RULE_PREFIX) {
            return text.to_owned();
        }
        match self.message.as_str() {
            "" => format!("{FAILED_RULE_PREFIX}{}", self.text),
            message => message.to_owned(),
        }
    }

    fn error(&self, violation: &Violation, value: &Value, schema: &Value, path: &str) -> FieldError {
        let why = match violation {
            Violation::False(result) => return self.violation_error(result, value, path),
            Violation::Failed(why) => {
                let why = rule_text::as_written(why, &self.text);
                format!("{why} evaluating rule: {}", self.title())
            }
            Violation::OverCost => format!(
                "'{OVER_COST}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                self.title()
            ),
            Violation::OverBudget => OVER_BUDGET.to_owned(),
        };
        FieldError::invalid(path, type_name(schema), why)
    }

    /// The error for a value for which the rule is false.
    fn violation_error(&self, result: &str, value: &Value, path: &str) -> FieldError {
        let message = self.failure_message(result);
        let path = format!("{path}{}", self.field_path);
        let path = path.strip_prefix('.').unwrap_or(&path);
        let error = match self.reason.as_str() {
            "FieldValueRequired" => FieldError::required(path, message),
            "FieldValueForbidden" => FieldError::forbidden(path, message),
            "FieldValueDuplicate" => showing(FieldError::duplicate(path, Value::Null), value),
            _ => FieldError::invalid(path, value.clone(), message),
        };
        if value.is_object() || value.is_array() {
            error.without_value()
        } else {
            error
        }
    }

    /// The rule's message, else its text.
    fn title(&self) -> &str {
        if self.message.is_empty() {
            &self.text
        } else {
            &self.message
        }
    }
}

/// Returns the type of a schema, which errors show instead of a value; empty if it has none.
fn type_name(schema: &Value) -> &str {
    schema["type"].as_str().unwrap_or_default()
}

/// Converts whole numbers to floats where the schema's type is `number`: CEL treats 2 and 2.0 as different types.
fn with_doubles(value: &Value, schema: &Value) -> Value {
    match value {
        Value::Number(number) if schema["type"] == "number" => {
            number.as_f64().map_or_else(|| value.clone(), Value::from)
        }
        Value::Array(items) => items
            .iter()
            .map(|item| with_doubles(item, &schema["items"]))
            .collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let schema = schema["properties"]
                    .get(name)
                    .unwrap_or(&schema["additionalProperties"]);
                (name.clone(), with_doubles(value, schema))
            });
            fields.collect()
        }
        other => other.clone(),
    }
}
