//! A compiled rule, and its evaluation by kube-cel.

use crate::cel::{
    Budget, Depth, OVER_COST, StepCounter, compile_rule, register_functions, register_library, translate,
    with_stack,
};
use kube_cel::KubeCelExt as _;
use kube_cel::cel::parser::Expression;
use kube_cel::cel::{Context, Value as CelValue};
use serde_json::Value;

thread_local! {
    static CONTEXT: (Context<'static>, StepCounter) = {
        let mut context = Context::default().with_all();
        register_library(&mut context);
        let steps = register_functions(&mut context);
        (context, steps)
    };
}

/// A rule, and its `messageExpression`.
#[derive(Debug)]
pub(super) struct RuleProgram {
    /// An error says why it does not compile.
    rule: Result<(Expression, Depth), String>,
    message: Option<(Expression, Depth)>,
    /// Whether the rule reads the value.
    pub(super) reads_self: bool,
    /// Whether the rule compares with the old value.
    pub(super) reads_old: bool,
    old_is_optional: bool,
}

/// Why a rule does not hold.
#[derive(Debug)]
pub(super) enum Violation {
    /// It is false. The text is the result of its `messageExpression`, which may be empty.
    False(String),
    /// It cannot be evaluated.
    Failed(String),
    /// Its evaluation costs too much.
    OverCost,
    /// All evaluations of an object cost too much.
    OverBudget,
}

impl RuleProgram {
    pub(super) fn compile(rule: &str, message: Option<&str>, old_is_optional: bool, schema: &Value) -> Self {
        let compiled =
            compile_rule(rule, schema).map_err(|error| format!("failed to compile rule \"{rule}\": {error}"));
        let message = message.map(|text| {
            compile_rule(text, schema).map_err(|error| {
                format!("failed to compile messageExpression \"{text}\" for rule \"{rule}\": {error}")
            })
        });
        let (rule, message) = match message.transpose() {
            Err(why) => (compiled.and(Err(why)), None),
            Ok(message) => (compiled, message),
        };
        let reads = |name: &str| {
            let compiled = rule.as_ref();
            compiled.is_ok_and(|(rule, _)| rule.references().has_variable(name))
        };
        Self {
            reads_self: reads("self"),
            reads_old: reads("oldSelf"),
            rule,
            message,
            old_is_optional,
        }
    }

    /// Returns why the rule does not hold. A rule that compares with the old value holds if there is none, unless it is optional.
    /// Adds the steps of the evaluation to those of the object.
    pub(super) fn evaluate(
        &self,
        value: &CelValue,
        old: Option<&CelValue>,
        steps_of_object: &mut usize,
    ) -> Option<Violation> {
        let (rule, depth) = match &self.rule {
            Ok(rule) => rule,
            Err(why) => return Some(Violation::Failed(translate(why))),
        };
        if old.is_none() && !self.old_is_optional && self.reads_old {
            return None;
        }
        with_stack(*depth, || self.resolve(rule, value, old, steps_of_object))
    }

    fn resolve(
        &self,
        rule: &Expression,
        value: &CelValue,
        old: Option<&CelValue>,
        steps_of_object: &mut usize,
    ) -> Option<Violation> {
        CONTEXT.with(|(context, steps)| {
            steps.reset();
            let mut scope = context.new_inner_scope();
            scope.add_variable_from_value("self", value.clone());
            if let Some(old) = old {
                scope.add_variable_from_value("oldSelf", old.clone());
            } else if self.old_is_optional {
                scope.add_variable_from_value("oldSelf", CelValue::Null);
            }
            let result = CelValue::resolve(rule, &scope);
            if steps.is_over_cost() {
                return Some(Violation::OverCost);
            }
            *steps_of_object += steps.count();
            if *steps_of_object > Budget::Policy.steps() {
                return Some(Violation::OverBudget);
            }
            match result {
                Ok(CelValue::Bool(true)) => None,
                Ok(CelValue::Bool(false)) => Some(Violation::False(self.message(&scope))),
                Ok(_) => Some(Violation::Failed("rule did not evaluate to bool".to_owned())),
                Err(error) => Some(match translate(&error.to_string()) {
                    why if why == OVER_COST => Violation::OverCost,
                    why => Violation::Failed(why),
                }),
            }
        })
    }

    fn message(&self, scope: &Context<'_>) -> String {
        let message = self.message.as_ref();
        let resolved =
            message.map(|(message, depth)| with_stack(*depth, || CelValue::resolve(message, scope)));
        match resolved {
            Some(Ok(CelValue::String(text))) => text.to_string(),
            _ => String::new(),
        }
    }
}
