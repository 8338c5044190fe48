//! Which expressions about admission requests, and which rules of custom resources, are valid: their syntax, the names that they use, and the
//! types of their results.

use super::checker::{self, Invalid, Type, Types};
use super::cost::Cost;
use super::limits::{self, with_stack};
use super::positions::at_place;
use super::signatures::{self, Overload};
use super::{constants, cost, expression, lowering, macros, patches, positions, schema_types};
use kube_cel::cel::common::ast::IdedExpr;
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
    Rule {
        /// The type of the variables `self` and `oldSelf`.
        of_self: &'a Type,
        /// Whether `oldSelf` is an optional value.
        has_optional_old: bool,
    },
    Device,
}

impl Declarations<'_> {
    /// Returns the type of a variable; None if there is no such variable.
    pub(super) fn variable(&self, name: &str) -> Option<Type> {
        match self.subject {
            Subject::Device => (name == "device").then_some(Type::Object("kubernetes.DRADevice")),
            Subject::Rule {
                of_self,
                has_optional_old,
            } => match name {
                "oldSelf" if has_optional_old => Some(Type::Optional(Box::new(of_self.clone()))),
                "self" | "oldSelf" => Some(of_self.clone()),
                _ => None,
            },
            Subject::Request => match name {
                "object" | "oldObject" => Some(Type::Dyn),
                "params" if self.has_params => Some(Type::Dyn),
                "request" => Some(Type::Object("kubernetes.AdmissionRequest")),
                "namespaceObject" => Some(Type::Object("kubernetes.Namespace")),
                "authorizer" if self.has_authorizer => {
                    Some(Type::Simple("kubernetes.authorization.Authorizer"))
                }
                "authorizer.requestResource" if self.has_authorizer => {
                    Some(Type::Simple("kubernetes.authorization.ResourceCheck"))
                }
                "variables" if self.variables.is_some() => Some(Type::Object(checker::VARIABLES)),
                _ => None,
            },
        }
    }

    /// Returns the overloads of a function; None if there is no such function.
    pub(super) fn overloads(&self, name: &str) -> Option<&'static [Overload]> {
        let is_declared = name != patches::ESCAPE_KEY || self.has_patch_types;
        signatures::overloads(name).filter(|_| is_declared)
    }
}

/// An expression whose types are right.
struct Checked {
    expression: IdedExpr,
    ty: Type,
    types: Types,
}

/// Calls a function with the checked expression, where there is enough stack for it.
fn check<T: Send>(
    text: &str,
    declared: &Declarations<'_>,
    finish: impl FnOnce(Checked) -> Result<T, String> + Send,
) -> Result<T, String> {
    let compilation_failed = |why: String| format!("compilation failed: {why}");
    let depth = limits::depth(text).map_err(compilation_failed)?;
    with_stack(depth, || {
        finish(check_types(text, declared).map_err(compilation_failed)?)
    })
}

/// Parses an expression, expands its macros and checks its types and constants.
fn check_types(text: &str, declared: &Declarations<'_>) -> Result<Checked, String> {
    let parsed = expression::parse(text)?;
    let positions = positions::of(text, &parsed);
    let has_bindings = matches!(declared.subject, Subject::Device);
    let expression = macros::expand(parsed, has_bindings).map_err(|refused| {
        let invalid = refused.into_iter().map(|(id, why)| {
            let at = positions::place(&positions, id).unwrap_or_default();
            Invalid { at, why }
        });
        describe(text, invalid.collect())
    })?;
    let (ty, types, mut invalid) = checker::check(&expression, &positions, declared);
    if invalid.is_empty() {
        invalid = constants::check(&expression, &types, &positions);
    }
    if !invalid.is_empty() {
        return Err(describe(text, invalid));
    }
    Ok(Checked {
        expression,
        ty,
        types,
    })
}

/// Returns the estimated cost of an expression of a rule. `key` names the expression: `rule` is a condition, and `messageExpression` a text.
/// The rule is one of the schema; `is_object` marks the schema of a whole object.
///
/// # Errors
///
/// Returns kube-apiserver's message if the expression cannot be compiled, or is of a wrong type.
pub(crate) fn check_rule(rule: &Value, key: &str, schema: &Value, is_object: bool) -> Result<Cost, String> {
    let Some(of_self) = schema_types::of_schema(schema, is_object) else {
        return Ok(Cost::default());
    };
    let declared = Declarations {
        subject: Subject::Rule {
            of_self: &of_self,
            has_optional_old: rule["optionalOldSelf"] == true,
        },
        ..Declarations::default()
    };
    let text = rule[key].as_str().unwrap_or_default();
    check(text, &declared, |checked| {
        let (subject, program, result) = match key {
            "rule" => ("cel expression ", "program ", checker::BOOL),
            _ => ("", "", checker::STRING),
        };
        if checked.ty != result {
            return Err(format!("{subject}must evaluate to a {result}"));
        }
        constants::fold(&checked.expression)
            .map_err(|why| format!("{program}instantiation failed: {why}"))?;
        Ok(cost::estimate(
            &checked.expression,
            &checked.types,
            schema,
            is_object,
        ))
    })
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
    let declared = Declarations {
        subject: Subject::Device,
        ..Declarations::default()
    };
    let checked = check(expression, &declared, |checked| {
        if ![checker::BOOL, Type::Any].contains(&checked.ty) {
            return Err(format!(
                "must evaluate to bool or the unknown type, not {}",
                checked.ty
            ));
        }
        Ok(cost::estimate_of_device(&checked.expression, &checked.types))
    });
    // cel-go counts the characters before the end.
    checked.map_err(|why| match expression {
        "" => why.replace("<input>:1:1:", "<input>:1:0:"),
        _ => why,
    })
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
    check(expression, declared, |checked| {
        let ty = checked.ty;
        if !results.is_empty() && !results.contains(&ty.to_string().as_str()) {
            return Err(match results {
                [one] => format!("must evaluate to {one} but got {ty}"),
                many => format!("must evaluate to one of [{}] but got {ty}", many.join(" ")),
            });
        }
        constants::fold(&checked.expression).map_err(|why| format!("program instantiation failed: {why}"))?;
        lowering::lower(checked.expression)
            .map_err(|what| format!("this API server cannot evaluate {what}"))?;
        Ok(ty)
    })
}

/// Describes what is invalid, in the order of the text.
fn describe(text: &str, mut invalid: Vec<Invalid>) -> String {
    invalid.sort_by_key(|invalid| invalid.at);
    let errors = invalid
        .iter()
        .map(|invalid| at_place(text, invalid.at, &invalid.why));
    errors.collect::<Vec<_>>().join("\n")
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

    /// Threads of tests, as those of async runtimes, have 2 MiB of stack.
    #[test]
    fn deep_expressions_need_no_deep_stack() {
        for deep in [
            format!("{}true{}", "(".repeat(249), ")".repeat(249)),
            format!("{}true{}", "!(".repeat(200), ")".repeat(200)),
            format!("{}true", "true ? true : ".repeat(240)),
            format!("'a'{} == 'a'", ".trim()".repeat(240)),
            format!("{}1 == 1", "1+".repeat(240)),
            format!("{}true", "true && ".repeat(2000)),
        ] {
            assert_eq!(check(&deep, &["bool"]), Ok(()), "{deep}");
            let outcome = crate::cel::Expression::compile(&deep);
            assert_eq!(outcome.compiled().err(), None, "{deep}");
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
