//! Which expressions about admission requests, and which rules of custom resources, are valid: their syntax, the names that they use, and the
//! types of their results.

use super::cost::Cost;
use super::syntax::syntax_error;
use super::types::{self, Invalid, Type};
use super::{cost, expression, library, lowering, macros, schema_types};
use kube_cel::cel::common::ast::operators;
use regex::{Captures, Regex};
use serde_json::Value;
use std::collections::BTreeMap;

/// The types of composed variables by their names.
pub(crate) type VariableTypes = BTreeMap<String, Type>;

/// The type of a variable whose expression is invalid.
pub(crate) const ANY_TYPE: Type = Type::Dyn;

/// The variables of an expression that not all expressions have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Declarations<'a> {
    pub(crate) has_params: bool,
    pub(crate) has_authorizer: bool,
    /// The composed variables; None if there is no variable `variables`.
    pub(crate) variables: Option<&'a VariableTypes>,
    pub(crate) subject: Subject<'a>,
    /// Whether there are the types of objects that mutations make.
    pub(crate) has_patch_types: bool,
}

/// What an expression is about, which decides its other variables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Subject<'a> {
    #[default]
    Request,
    Rule(RuleVariables<'a>),
    Device,
}

/// The types of the variables `self` and `oldSelf` of a rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleVariables<'a> {
    pub(super) of_self: &'a Type,
    /// Whether `oldSelf` is an optional value.
    pub(super) has_optional_old: bool,
}

/// Returns the estimated cost of an expression of a rule. `key` names the expression: `rule` is a condition, and `messageExpression` a text.
/// The rule is one of the schema; `is_object` marks the schema of a whole object.
///
/// # Errors
///
/// Returns kube-apiserver's message if the expression cannot be compiled, or is of a wrong type.
pub(crate) fn check_rule(rule: &Value, key: &str, schema: &Value, is_object: bool) -> Result<Cost, String> {
    let expression = rule[key].as_str().unwrap_or_default();
    if let Some(why) = syntax_error(expression) {
        return Err(format!("compilation failed: {why}"));
    }
    // Syntax that only kube-apiserver can parse: the validation of an object refuses it.
    let Ok(parsed) = expression::parse(expression).map(macros::expand) else {
        return Ok(Cost::default());
    };
    let Some(of_self) = schema_types::of_schema(schema, is_object) else {
        return Ok(Cost::default());
    };
    let declared = Declarations {
        subject: Subject::Rule(RuleVariables {
            of_self: &of_self,
            has_optional_old: rule["optionalOldSelf"] == true,
        }),
        ..Declarations::default()
    };
    let (ty, types, invalid) = types::check(&parsed, &declared);
    if !invalid.is_empty() {
        return Err(format!("compilation failed: {}", describe(expression, &invalid)));
    }
    let (subject, result) = match key {
        "rule" => ("cel expression ", types::BOOL),
        _ => ("", types::STRING),
    };
    if ty != Type::Unknown && ty != result {
        return Err(format!("{subject}must evaluate to a {result}"));
    }
    Ok(cost::estimate(&parsed, &types, schema, is_object))
}

/// True if rules can use the values of a schema; `is_object` marks the schema of a whole object.
pub(crate) fn has_rule_type(schema: &Value, is_object: bool) -> bool {
    schema_types::of_schema(schema, is_object).is_some()
}

/// Returns the estimated cost of the expression with which a request for a device selects it.
///
/// # Errors
///
/// Returns kube-apiserver's message if the expression cannot be compiled, or is of a wrong type.
pub(crate) fn check_device_selector(expression: &str) -> Result<u64, String> {
    let compilation_failed = |why: String| format!("compilation failed: {why}");
    if let Some(mut why) = syntax_error(expression) {
        if expression.is_empty() {
            // cel-go counts the characters before the end.
            why = why.replace("<input>:1:1:", "<input>:1:0:");
        }
        return Err(compilation_failed(why));
    }
    let Ok(parsed) = expression::parse(expression).map(macros::expand_with_bindings) else {
        return Ok(0);
    };
    let declared = Declarations {
        subject: Subject::Device,
        ..Declarations::default()
    };
    let (ty, types, invalid) = types::check(&parsed, &declared);
    if !invalid.is_empty() {
        return Err(compilation_failed(describe(expression, &invalid)));
    }
    if ![types::BOOL, Type::Any, Type::Unknown].contains(&ty) {
        return Err(format!("must evaluate to bool or the unknown type, not {ty}"));
    }
    Ok(cost::estimate_of_device(&parsed, &types))
}

/// Returns the type of an expression.
///
/// # Errors
///
/// Returns kube-apiserver's message if the expression cannot be compiled, or its result is of none of the types `results`, which are all types
/// if there are none; else, why this server cannot evaluate it.
pub(crate) fn check_expression(
    expression: &str,
    declared: &Declarations<'_>,
    results: &[&str],
) -> Result<Type, String> {
    let compilation_failed = |why: String| format!("compilation failed: {why}");
    if let Some(why) = syntax_error(expression) {
        return Err(compilation_failed(why));
    }
    let cannot_evaluate = |what: String| format!("this API server cannot evaluate {what}");
    // What only kube-apiserver can parse.
    let parsed = expression::parse(expression).map_err(|_| cannot_evaluate("its syntax".to_owned()))?;
    let (ty, _, invalid) = types::check(&macros::expand(parsed.clone()), declared);
    if !invalid.is_empty() {
        return Err(compilation_failed(describe(expression, &invalid)));
    }
    let is_right = |result: &&str| ty == Type::Unknown || ty.to_string() == **result;
    if !results.is_empty() && !results.iter().any(is_right) {
        return Err(match results {
            [one] => format!("must evaluate to {one} but got {ty}"),
            many => format!("must evaluate to one of [{}] but got {ty}", many.join(" ")),
        });
    }
    lowering::lower(parsed).map_err(cannot_evaluate)?;
    Ok(ty)
}

/// Describes what is invalid, in the order of the text. The parser keeps no positions, so this finds them in the text.
fn describe(expression: &str, invalid: &[Invalid]) -> String {
    let plain = without_literals(expression);
    let mut errors: Vec<(usize, String)> = vec![];
    for invalid in invalid {
        let undeclared = |name: &str| format!("undeclared reference to '{name}' (in container '')");
        let (pattern, number, why) = match invalid {
            Invalid::UndeclaredName(name) => (format!(r"(?:^|[^.\w]\s*)({name})\b"), None, undeclared(name)),
            Invalid::UndeclaredFunction(name) => (call_pattern(name), None, undeclared(name)),
            Invalid::UndeclaredType(name) => {
                let pattern = format!(r"(?:^|[^.\w]\s*){}\s*(\{{)", regex::escape(name));
                (pattern, None, undeclared(name))
            }
            Invalid::ConstructedField { name, why } => {
                (format!(r"[{{,]\s*\??{name}\s*(:)"), None, why.clone())
            }
            Invalid::Field { name, is_tested, why } => {
                let pattern = if *is_tested {
                    format!(r"\bhas\s*(\()[^()]*\.\s*{name}\s*\)")
                } else {
                    format!(r"(\.)\??\s*{name}\b")
                };
                (pattern, None, why.clone())
            }
            Invalid::Call { name, number, why } => (call_pattern(name), Some(*number), why.clone()),
        };
        let found = Regex::new(&pattern).ok();
        let places = found.iter().flat_map(|pattern| pattern.captures_iter(&plain));
        let mut places: Vec<usize> = places
            .filter_map(|found| found.get(1))
            .map(|found| found.start())
            .collect();
        if matches!(invalid, Invalid::Field { is_tested: false, .. }) {
            // The argument of `has` may be another error about this field.
            places.sort_by_key(|at| is_within_has(&plain[..*at]));
        }
        let is_new = |at: &&usize| !errors.iter().any(|(known, other)| known == *at && *other == why);
        let at = match number {
            Some(number) => places.get(number),
            // A macro may repeat the place.
            None => places.iter().find(is_new).or(places.first()),
        };
        errors.push((at.copied().unwrap_or_default(), why));
    }
    errors.sort();
    let described = errors.iter().map(|(at, why)| at_place(expression, *at, why));
    described.collect::<Vec<_>>().join("\n")
}

/// True if a text ends within the argument of `has`.
fn is_within_has(before: &str) -> bool {
    before
        .rsplit_once('(')
        .is_some_and(|(function, argument)| !argument.contains(')') && function.trim_end().ends_with("has"))
}

/// Returns a pattern whose first group is the place of a call as cel-go names it: the parenthesis of a function, the operator's first character.
fn call_pattern(name: &str) -> String {
    match name {
        operators::LOGICAL_NOT => r"(!)(?:[^=]|$)".to_owned(),
        operators::LESS | operators::GREATER => format!("({})(?:[^=]|$)", name.trim_matches('_')),
        operators::IN => r"\b(in)\b".to_owned(),
        operators::INDEX => r"[\w)\]}]\s*(\[)".to_owned(),
        // Here cel-go names the operand. This is the one on the right.
        operators::LOGICAL_AND => r"&&\s*(\S)".to_owned(),
        operators::LOGICAL_OR => r"\|\|\s*(\S)".to_owned(),
        operators::CONDITIONAL => r"[^.\[](\?)".to_owned(),
        name if library::is_operator(name) => format!("({})", regex::escape(name.trim_matches('_'))),
        name => format!(r"\b{name}\s*(\()"),
    }
}

/// Replaces what contains no names: strings and numbers by digits, comments by blanks.
fn without_literals(expression: &str) -> String {
    let literals = Regex::new(
        r#"(?s)[rRbB]{0,2}("""(\\.|[^\\])*?"""|'''(\\.|[^\\])*?'''|"(\\.|[^"\\])*"|'(\\.|[^'\\])*')|//[^\n]*|\b0x[0-9a-fA-F]+u?\b|\b[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?u?\b"#,
    );
    let blank = |text: &Captures<'_>| {
        let filler = if text[0].starts_with("//") { " " } else { "0" };
        filler.repeat(text[0].len())
    };
    literals.map_or_else(
        |_| expression.to_owned(),
        |literals| literals.replace_all(expression, blank).into_owned(),
    )
}

/// An error at a place of an expression.
fn at_place(expression: &str, at: usize, why: &str) -> String {
    let before = expression.get(..at).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = expression.get(start..).and_then(|rest| rest.lines().next());
    let column = before.get(start..).unwrap_or_default().chars().count();
    format!(
        "ERROR: <input>:{}:{}: {why}\n | {}\n | {}^",
        before.matches('\n').count() + 1,
        column + 1,
        line.unwrap_or_default(),
        ".".repeat(column)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str, results: &[&str]) -> Result<(), String> {
        let declared = Declarations {
            has_authorizer: true,
            ..Declarations::default()
        };
        check_expression(expression, &declared, results).map(|_| ())
    }

    #[test]
    fn names_are_those_of_a_request() {
        for good in [
            "true",
            "request.resource.group != 'leases' && !('x' in request.userInfo.groups)",
            "object.spec.containers.all(c, c.image.startsWith(\"x\")) // why",
            "has(object.a) ? size(oldObject.b) > 1u : object == null",
            "authorizer.group('').resource('pods').check('get').allowed()",
        ] {
            assert_eq!(check(good, &["bool"]), Ok(()), "{good}");
        }
        assert_eq!(
            check("a &&\n b.c", &["bool"]).unwrap_err(),
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'a' (in container '')\n | a &&\n | ^\nERROR: \
             <input>:2:2: undeclared reference to 'b' (in container '')\n |  b.c\n | .^"
        );
        for (expression, place) in [
            ("'a' == object.a && a", "1:20: undeclared reference to 'a'"),
            ("nope (1) == 2", "1:6: undeclared reference to 'nope'"),
            (
                "request.name == 'nope' && request.nope",
                "1:34: undefined field 'nope'",
            ),
            (
                "'==' == object.a && 1 == 'x'",
                "1:23: found no matching overload for '_==_'",
            ),
            ("1 <= 2 && 'x' < 1", "1:15: found no matching overload for '_<_'"),
            (
                "object.a ? 'x' : 1",
                "1:10: found no matching overload for '_?_:_'",
            ),
        ] {
            let error = check(expression, &["bool"]).unwrap_err();
            assert!(error.contains(place), "{error}");
        }
    }

    #[test]
    fn results_must_be_of_the_right_type() {
        assert_eq!(
            check("1", &["bool"]).unwrap_err(),
            "must evaluate to bool but got int"
        );
        assert_eq!(
            check("object.x", &["string", "null_type"]).unwrap_err(),
            "must evaluate to one of [string null_type] but got dyn"
        );
        assert_eq!(check("object.x", &[]), Ok(()));
    }
}
