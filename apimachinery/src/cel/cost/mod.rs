//! The cost of a rule, estimated before it is evaluated: kube-apiserver refuses a definition with a rule whose estimate is too high.
//!
//! The estimate is the sum of the costs of all operations for the largest value that the schema allows (`bounds`). It must be exactly
//! kube-apiserver's, so this follows the rules of cel-go's `checker/cost.go` and of `pkg/cel/library/cost.go` of k8s.io/apiserver.
//!
//! Selectors of devices have an estimate, too. Expressions of policies and match conditions have none: kube-apiserver limits their costs only when
//! it evaluates them.
//!
//! Reading order: `bounds` (the sizes that a schema allows), `size` (ranges of sizes, and costs that grow with them), `path` (which part of
//! the schema an expression selects), `estimator` (the walk) with `parts`, `operators` and `functions` (the costs of calls).

mod bounds;
mod estimator;
mod functions;
mod operators;
mod parts;
mod path;
mod size;

use super::checker::Type;
use bounds::Bounds;
use estimator::Estimator;
use kube_cel::cel::common::ast::IdedExpr;
use serde_json::Value;
use std::collections::HashMap;

/// The estimated cost of an expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// The cost of one evaluation.
    pub(crate) once: u64,
    /// How many values with the rule's schema a request can contain, if nothing else limits their number.
    pub(crate) values_per_request: u64,
}

/// Estimates the cost of an expression of a rule of this schema. `is_object` marks the schema of a whole object; `types` has the types of
/// the expression's parts.
pub(super) fn estimate(
    expression: &IdedExpr,
    types: &HashMap<u64, Type>,
    schema: &Value,
    is_object: bool,
) -> Cost {
    let Some(bounds) = Bounds::of(schema, is_object) else {
        return Cost::default();
    };
    Cost {
        once: Estimator::new(types, &bounds).cost(expression),
        values_per_request: bounds.values_per_request(),
    }
}

/// Estimates the cost of the expression with which a request selects a device.
pub(super) fn estimate_of_device(expression: &IdedExpr, types: &HashMap<u64, Type>) -> u64 {
    let bounds = Bounds::of_device();
    Estimator::new(types, &bounds).cost(expression)
}

#[cfg(test)]
mod tests;
