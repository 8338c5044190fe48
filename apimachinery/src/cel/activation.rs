//! Evaluation of expressions about admission requests.

use super::access::{AccessCheck, Authorize};
use super::authorizer::{self, AuthorizerValue};
use super::budget::{Budget, OVER_BUDGET};
use super::expression::Expression;
use super::functions::{self, REQUEST_RESOURCE, opaque};
use super::limits::with_stack;
use super::messages::translate;
use super::outcome::Outcome;
use super::{library, patches};
use kube_cel::KubeCelExt as _;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, ExecutionError, Value as CelValue};
use serde_json::{Number, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The maximum number of steps of comprehensions in one evaluation. kube-apiserver limits the cost to 1,000,000, and a step costs 5 or more.
const MAX_STEPS: usize = 200_000;

/// The maximum number of comprehensions within each other.
const MAX_NESTED: usize = 12;
/// The maximum number of permissions that one evaluation checks: kube-apiserver's cost of a check is 350,000.
const MAX_CHECKS: usize = 2;
/// The steps that cost as much as the check of a permission.
const STEPS_OF_CHECK: usize = 70_000;

/// The error of an evaluation that costs too much.
pub(crate) const OVER_COST: &str = "operation cancelled: actual cost limit exceeded";

/// A composed variable: a name, and the expression that it stands for.
pub type Variable = (String, Expression);

/// The variables of expressions about one request.
pub struct Activation {
    context: Context<'static>,
    state: Arc<State>,
}

impl fmt::Debug for Activation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Activation")
    }
}

impl Activation {
    /// Binds variables by name, and composed variables, which are evaluated when they are used. `own` is the check for the resource of the
    /// request, without a verb.
    pub fn new<'a>(
        values: impl IntoIterator<Item = (&'a str, &'a Value)>,
        variables: &Arc<[Variable]>,
        own: AccessCheck,
        budget: Budget,
    ) -> Self {
        let state = Arc::new(State::new(variables.clone(), budget));
        let mut context = Context::default().with_all();
        library::register(&mut context);
        functions::register(&mut context, &state);
        authorizer::register(&mut context, &state);
        for (name, value) in values {
            context.add_variable_from_value(name, to_cel(value));
        }
        let check = |check| opaque(AuthorizerValue::Check(check));
        context.add_variable_from_value("authorizer", check(AccessCheck::default()));
        context.add_variable_from_value(REQUEST_RESOURCE, check(own));
        Self { context, state }
    }

    /// Evaluates an expression, and asks for the permissions that it checks.
    ///
    /// # Errors
    ///
    /// Returns the API server's message if the expression cannot be evaluated; [`OVER_BUDGET`] if the evaluations cost too much.
    pub fn evaluate(&self, expression: &Expression, authorize: Authorize<'_>) -> Result<Outcome, String> {
        let result = self.resolve(expression, authorize)?;
        Ok(Outcome::from_cel(&result))
    }

    /// Evaluates an expression that makes an apply configuration, and returns this.
    ///
    /// # Errors
    ///
    /// As for [`evaluate`](Self::evaluate), and if the types of its parts are not named by their paths.
    pub fn configuration(&self, expression: &Expression, authorize: Authorize<'_>) -> Result<Value, String> {
        patches::configuration(&self.resolve(expression, authorize)?)
    }

    /// Evaluates an expression that makes a JSON patch, and returns this.
    ///
    /// # Errors
    ///
    /// As for [`configuration`](Self::configuration).
    pub fn json_patch(&self, expression: &Expression, authorize: Authorize<'_>) -> Result<Value, String> {
        patches::json_patch(&self.resolve(expression, authorize)?)
    }

    fn resolve(&self, expression: &Expression, authorize: Authorize<'_>) -> Result<CelValue, String> {
        let failed = |why: &str| format!("expression '{}' resulted in error: {why}", expression.text());
        let compiled = expression.compiled().map_err(failed)?;
        loop {
            self.state.reset();
            let result = with_stack(expression.depth(), || CelValue::resolve(compiled, &self.context));
            // The functions are shared between threads and outlive the request, so they cannot ask themselves: the evaluation is repeated
            // when the answers are there.
            if !self.state.answer(authorize) {
                if self.state.is_over_cost() {
                    return Err(failed(OVER_COST));
                }
                if self.state.is_over_budget() {
                    return Err(OVER_BUDGET.to_owned());
                }
                return result.map_err(|error| failed(&translate(&error.to_string())));
            }
        }
    }
}

/// Counts the steps of rules.
pub(crate) struct StepCounter(Arc<State>);

impl StepCounter {
    /// Begins another evaluation.
    pub(crate) fn reset(&self) {
        self.0.reset();
    }

    /// The steps of the evaluation.
    pub(crate) fn count(&self) -> usize {
        self.0.steps.load(Ordering::Relaxed)
    }

    /// Whether the evaluation had too many steps, whatever its result is.
    pub(crate) fn is_over_cost(&self) -> bool {
        self.0.is_over_cost()
    }
}

/// Adds the functions that expressions are lowered to, for rules, which have no composed variables.
pub(crate) fn register_functions(context: &mut Context<'_>) -> StepCounter {
    let state = Arc::new(State::new([].into(), Budget::Policy));
    functions::register(context, &state);
    StepCounter(state)
}

/// What the functions of one activation share.
pub(super) struct State {
    variables: Arc<[Variable]>,
    budget: Budget,
    /// The composed variables that have been evaluated.
    computed: Mutex<BTreeMap<String, Result<CelValue, ExecutionError>>>,
    /// The permissions that were asked for.
    decisions: Mutex<BTreeMap<AccessCheck, Option<String>>>,
    /// The permissions to ask for.
    pending: Mutex<BTreeSet<AccessCheck>>,
    steps: AtomicUsize,
    /// The steps of all evaluations, with those that checks of permissions stand for.
    steps_of_all: AtomicUsize,
    /// How many permissions the evaluation has checked.
    checks: AtomicUsize,
    /// How deeply comprehensions are nested.
    depth: AtomicUsize,
}

impl State {
    fn new(variables: Arc<[Variable]>, budget: Budget) -> Self {
        Self {
            variables,
            budget,
            computed: Mutex::default(),
            decisions: Mutex::default(),
            pending: Mutex::default(),
            steps: AtomicUsize::new(0),
            steps_of_all: AtomicUsize::new(0),
            checks: AtomicUsize::new(0),
            depth: AtomicUsize::new(0),
        }
    }

    /// Counts steps of comprehensions; an error if there are too many.
    pub(super) fn count_steps(&self, count: usize) -> Result<(), ExecutionError> {
        if self.steps.fetch_add(count, Ordering::Relaxed) < MAX_STEPS {
            return Ok(());
        }
        Err(ExecutionError::function_error(functions::COUNT_STEP, OVER_COST))
    }

    /// Evaluates a comprehension within others; an error if they are nested too deeply, which would need too much of the stack.
    pub(super) fn nested(
        &self,
        evaluate: impl FnOnce() -> Result<CelValue, ExecutionError>,
    ) -> Result<CelValue, ExecutionError> {
        let depth = self.depth.fetch_add(1, Ordering::Relaxed);
        let result = if depth < MAX_NESTED {
            evaluate()
        } else {
            Err(ExecutionError::function_error(functions::COUNT_STEP, OVER_COST))
        };
        self.depth.fetch_sub(1, Ordering::Relaxed);
        result
    }

    /// Whether the evaluation had too many steps, whatever its result is.
    fn is_over_cost(&self) -> bool {
        self.steps.load(Ordering::Relaxed) > MAX_STEPS
    }

    /// Adds the steps of the evaluation to those of all; true if these are too many.
    fn is_over_budget(&self) -> bool {
        let checks = self.checks.load(Ordering::Relaxed);
        let steps = self.steps.load(Ordering::Relaxed) + checks * STEPS_OF_CHECK;
        self.steps_of_all.fetch_add(steps, Ordering::Relaxed) + steps > self.budget.steps()
    }

    fn reset(&self) {
        self.steps.store(0, Ordering::Relaxed);
        self.checks.store(0, Ordering::Relaxed);
    }

    /// Evaluates a composed variable, once.
    pub(super) fn variable(&self, name: &str, context: &Context<'_>) -> Result<CelValue, ExecutionError> {
        if let Some(computed) = lock(&self.computed).get(name) {
            return computed.clone();
        }
        let failed = |why: &str| {
            let why = format!("composited variable {name:?} fails to evaluate: {why}");
            ExecutionError::function_error(functions::VARIABLE, why)
        };
        // The last one of a name counts.
        let variable = self.variables.iter().rfind(|(known, _)| known == name);
        let computed = match variable {
            None => Err(ExecutionError::no_such_key(name)),
            Some((_, expression)) => match expression.compiled() {
                Err(why) => Err(failed(why)),
                Ok(compiled) => with_stack(expression.depth(), || CelValue::resolve(compiled, context))
                    .map_err(|error| failed(&translate(&error.to_string()))),
            },
        };
        lock(&self.computed).insert(name.to_owned(), computed.clone());
        computed
    }

    /// Returns the decision about a permission, or an error that ends the evaluation until it is known.
    pub(super) fn decide(&self, check: AccessCheck) -> Result<Option<String>, ExecutionError> {
        if self.checks.fetch_add(1, Ordering::Relaxed) >= MAX_CHECKS {
            return Err(ExecutionError::function_error(functions::COUNT_STEP, OVER_COST));
        }
        if let Some(decision) = lock(&self.decisions).get(&check) {
            return Ok(decision.clone());
        }
        lock(&self.pending).insert(check);
        Err(ExecutionError::function_error("check", "not decided yet"))
    }

    /// Asks for the permissions that an evaluation lacked; false if there are none.
    fn answer(&self, authorize: Authorize<'_>) -> bool {
        let pending = std::mem::take(&mut *lock(&self.pending));
        let is_incomplete = !pending.is_empty();
        for check in pending {
            let decision = authorize(&check);
            lock(&self.decisions).insert(check, decision);
        }
        if is_incomplete {
            lock(&self.computed).retain(|_, computed| computed.is_ok());
        }
        is_incomplete
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn to_cel(value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(truth) => CelValue::Bool(*truth),
        Value::Number(number) => number_to_cel(number),
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

/// Converts a number: to an integer if it is one, else to a float.
pub(crate) fn number_to_cel(number: &Number) -> CelValue {
    match (number.as_i64(), number.as_u64()) {
        (Some(number), _) => CelValue::Int(number),
        (None, Some(number)) => CelValue::UInt(number),
        (None, None) => CelValue::Float(number.as_f64().unwrap_or_default()),
    }
}

#[cfg(test)]
#[path = "activation_tests.rs"]
mod tests;
