//! Evaluation of conditions about admission requests.

use kube_cel::KubeCelExt as _;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, Program, Value as CelValue};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A compiled expression that is true or false for an admission request.
pub struct Condition {
    expression: String,
    /// The program, or why the expression cannot be compiled.
    program: Result<Program, String>,
}

impl Condition {
    /// Compiles an expression. One that cannot be compiled fails when it is evaluated.
    pub fn compile(expression: &str) -> Self {
        Self {
            expression: expression.to_owned(),
            program: Program::compile(expression).map_err(|error| error.to_string()),
        }
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expression.fmt(formatter)
    }
}

/// The variables of conditions.
pub struct Variables(Context<'static>);

impl fmt::Debug for Variables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Variables")
    }
}

impl Variables {
    /// Binds variables by name.
    pub fn new<'a>(values: impl IntoIterator<Item = (&'a str, &'a Value)>) -> Self {
        let mut context = Context::default().with_all();
        for (name, value) in values {
            context.add_variable_from_value(name, to_cel(value));
        }
        Self(context)
    }

    /// Evaluates a condition.
    ///
    /// # Errors
    ///
    /// Returns the API server's message if the expression cannot be evaluated, or is neither true nor false.
    pub fn evaluate(&self, condition: &Condition) -> Result<bool, String> {
        let failed = |why: String| format!("expression '{}' resulted in error: {why}", condition.expression);
        let program = condition.program.as_ref().map_err(|why| failed(why.clone()))?;
        match program.execute(&self.0) {
            Ok(CelValue::Bool(truth)) => Ok(truth),
            Ok(_) => Err(failed("the result is not a bool".to_owned())),
            Err(error) => Err(failed(super::messages::translate(&error.to_string()))),
        }
    }
}

fn to_cel(value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(truth) => CelValue::Bool(*truth),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => CelValue::Int(number),
            (None, Some(number)) => CelValue::UInt(number),
            (None, None) => CelValue::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => CelValue::String(Arc::new(text.clone())),
        Value::Array(items) => CelValue::List(Arc::new(items.iter().map(to_cel).collect())),
        Value::Object(fields) => {
            let entries = fields
                .iter()
                .map(|(name, value)| (Key::String(Arc::new(name.clone())), to_cel(value)));
            let map: HashMap<Key, CelValue> = entries.collect();
            CelValue::Map(Map { map: Arc::new(map) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn evaluate(expression: &str) -> Result<bool, String> {
        let object = json!({ "spec": { "replicas": 3, "name": "x" }, "list": ["a", "b"] });
        let request = json!({ "userInfo": { "groups": ["g"] }, "operation": "CREATE" });
        let variables = [
            ("object", &object),
            ("oldObject", &Value::Null),
            ("request", &request),
        ];
        Variables::new(variables).evaluate(&Condition::compile(expression))
    }

    #[test]
    fn conditions_are_evaluated_on_the_request() {
        for (expression, expected) in [
            ("object.spec.replicas > 2 && oldObject == null", true),
            ("has(object.spec.color)", false),
            ("'g' in request.userInfo.groups", true),
            ("object.list.exists(item, item.startsWith('b'))", true),
            ("quantity('1Gi').isGreaterThan(quantity('1Mi'))", true),
        ] {
            assert_eq!(evaluate(expression), Ok(expected), "{expression}");
        }
    }

    #[test]
    fn conditions_that_cannot_be_evaluated_are_errors() {
        assert_eq!(
            evaluate("object.spec.color == 'red'").unwrap_err(),
            "expression 'object.spec.color == 'red'' resulted in error: no such key: color"
        );
        for expression in [
            "1",
            "object.(",
            "authorizer.group('').resource('pods').check('get').allowed()",
        ] {
            assert!(evaluate(expression).is_err(), "{expression}");
        }
    }
}
