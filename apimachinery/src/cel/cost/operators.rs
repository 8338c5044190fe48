//! The costs of operators, and of the conversions between strings and bytes.

use super::estimator::{CallCost, Estimator, Operand};
use super::functions::{with_result, without_result};
use super::size::Size;
use crate::cel::checker::Type;
use kube_cel::cel::common::ast::{IdedExpr, operators};

/// The overloads that operands may have, of those whose costs differ.
#[derive(Clone, Copy, PartialEq)]
enum Overload {
    /// Strings or bytes.
    Text,
    List,
    /// The cost does not depend on sizes.
    Constant,
    /// Known when the expression is evaluated: the estimate is that of the most expensive one.
    Any,
}

impl<'e> Estimator<'e> {
    /// Returns the cost of an operator beside that of its operands; None if this is not an operator whose cost depends on sizes.
    pub(super) fn operator(
        &mut self,
        expression: &'e IdedExpr,
        name: &str,
        args: &[Operand<'e>],
    ) -> Option<CallCost> {
        Some(match (name, args) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, _) => without_result(0),
            (operators::CONDITIONAL, [_, left, right]) => {
                self.set_entry_of_both(expression, left, right);
                with_result(0, left.size().union(right.size()))
            }
            (operators::ADD, [left, right]) => {
                let size = left.size().add(right.size());
                let cost = match overload(args) {
                    Overload::Text => size.traversal(),
                    Overload::List => 1,
                    Overload::Any => size.traversal().max(1),
                    Overload::Constant => return Some(constant()),
                };
                self.set_entry_of_both(expression, left, right);
                with_result(cost, size)
            }
            (operators::EQUALS, [left, right]) => equality(left, right),
            (operators::NOT_EQUALS, [left, right]) => comparison(left, right),
            (
                operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS,
                [left, right],
            ) => match overload(args) {
                Overload::Text => comparison(left, right),
                Overload::Any => at_least_constant(comparison(left, right)),
                Overload::List | Overload::Constant => constant(),
            },
            (operators::IN, [_, collection]) => {
                let of_list = without_result(collection.size().max);
                match overload(&args[1..]) {
                    Overload::List => of_list,
                    Overload::Any => at_least_constant(of_list),
                    Overload::Text | Overload::Constant => constant(),
                }
            }
            (operators::INDEX, [collection, _]) => self.index(expression, collection),
            ("string", [arg]) => {
                let Size { min, max } = arg.size();
                let of_bytes = with_result(arg.size().traversal(), Size { min: min / 4, max });
                conversion(&arg.ty, "bytes", of_bytes)
            }
            ("bytes", [arg]) => {
                let Size { min, max } = arg.size();
                // kube-apiserver's product overflows, too.
                let max = max.wrapping_mul(4);
                let of_string = with_result(arg.size().traversal(), Size { min, max });
                conversion(&arg.ty, "string", of_string)
            }
            _ => return None,
        })
    }

    fn index(&mut self, expression: &'e IdedExpr, collection: &Operand<'e>) -> CallCost {
        let steps: &[&str] = match &collection.ty {
            Type::List(_) => &["@items"],
            Type::Map(..) => &["@values"],
            Type::Dyn => &["@items", "@values"],
            _ => &[],
        };
        let mut size = None;
        for step in steps {
            let path = self.path(collection.expression).append(step);
            self.paths.insert(expression.id, path);
            let of_entries = self.entry(collection.expression).map(|entry| entry.value);
            size = of_entries.or_else(|| self.size(expression));
        }
        CallCost { cost: 1, size }
    }

    /// The entries of the result are those of one operand or the other.
    fn set_entry_of_both(&mut self, expression: &'e IdedExpr, left: &Operand<'e>, right: &Operand<'e>) {
        if let (Some(left), Some(right)) = (self.entry(left.expression), self.entry(right.expression)) {
            self.set_entry(expression, left.union(right));
        }
    }
}

/// Returns the overload of operands: the first type that is known decides.
fn overload(args: &[Operand<'_>]) -> Overload {
    let is_known = |ty: &&Type| !matches!(ty, Type::Dyn);
    match args.iter().map(|arg| &arg.ty).find(is_known) {
        Some(Type::Simple("string" | "bytes")) => Overload::Text,
        Some(Type::List(_)) => Overload::List,
        Some(_) => Overload::Constant,
        None => Overload::Any,
    }
}

/// The cost of a conversion from a type, if the argument has this type, or may have it.
fn conversion(ty: &Type, from: &str, cost: CallCost) -> CallCost {
    match ty {
        Type::Simple(name) if *name == from => cost,
        Type::Dyn => at_least_constant(cost),
        _ => constant(),
    }
}

/// The cost of comparing two values: they are read as long as both have characters.
fn comparison(left: &Operand<'_>, right: &Operand<'_>) -> CallCost {
    let shorter = left.size().max.min(right.size().max);
    without_result(Size::up_to(shorter).traversal())
}

fn equality(left: &Operand<'_>, right: &Operand<'_>) -> CallCost {
    const LONGEST_FORMAT: u64 = 64;
    if left.ty != right.ty {
        return comparison(left, right);
    }
    match &left.ty {
        Type::Simple("net.IP" | "net.CIDR" | "kubernetes.Quantity" | "kubernetes.Semver") => constant(),
        Type::Simple("kubernetes.NamedFormat") => without_result(Size::up_to(LONGEST_FORMAT).traversal()),
        Type::Simple("kubernetes.URL") => without_result(right.size.unwrap_or(Size::fixed(1)).traversal()),
        _ => comparison(left, right),
    }
}

fn at_least_constant(call: CallCost) -> CallCost {
    CallCost {
        cost: call.cost.max(1),
        size: call.size,
    }
}

fn constant() -> CallCost {
    without_result(1)
}
