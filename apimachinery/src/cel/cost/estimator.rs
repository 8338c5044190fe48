//! The walk through an expression that adds up its cost.

use super::bounds::Bounds;
use super::functions;
use super::path::Path;
use super::size::{EntrySize, Size};
use crate::cel::checker::Type;
use crate::cel::signatures;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators,
};
use std::collections::HashMap;

pub(super) const NEW_LIST: u64 = 10;
const NEW_MAP: u64 = 30;
const NEW_OBJECT: u64 = 40;

/// An argument or the receiver of a call.
pub(super) struct Operand<'e> {
    pub(super) expression: &'e IdedExpr,
    pub(super) ty: Type,
    pub(super) path: Path,
    /// None if nothing bounds it.
    pub(super) size: Option<Size>,
    /// The cost of its evaluation.
    pub(super) cost: u64,
}

impl Operand<'_> {
    pub(super) fn size(&self) -> Size {
        self.size.unwrap_or(Size::UNKNOWN)
    }
}

/// The cost of a call beside that of its operands, and the size of its result, if that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallCost {
    pub(super) cost: u64,
    pub(super) size: Option<Size>,
}

/// A variable that a comprehension binds.
pub(super) struct Local<'e> {
    pub(super) name: &'e str,
    pub(super) path: Path,
    pub(super) size: Option<Size>,
    pub(super) entry: Option<EntrySize>,
}

/// The types, paths and sizes of the parts of an expression, by id.
///
/// A size is looked up once and kept, in the order in which cel-go does: see [`Path`].
pub(super) struct Estimator<'e> {
    pub(super) types: &'e HashMap<u64, Type>,
    pub(super) bounds: &'e Bounds,
    pub(super) paths: HashMap<u64, Path>,
    pub(super) sizes: HashMap<u64, Size>,
    pub(super) entries: HashMap<u64, EntrySize>,
    pub(super) locals: Vec<Local<'e>>,
}

impl<'e> Estimator<'e> {
    pub(super) fn new(types: &'e HashMap<u64, Type>, bounds: &'e Bounds) -> Self {
        Self {
            types,
            bounds,
            paths: HashMap::new(),
            sizes: HashMap::new(),
            entries: HashMap::new(),
            locals: vec![],
        }
    }

    /// Returns the cost of an expression.
    pub(super) fn cost(&mut self, expression: &'e IdedExpr) -> u64 {
        match &expression.expr {
            Expr::Literal(_) | Expr::Unspecified => 0,
            Expr::Ident(name) => {
                let bound = self.local(name).map(|local| local.path.clone());
                let path = bound.unwrap_or_else(|| Path::of_variable(name));
                self.paths.insert(expression.id, path);
                1
            }
            // The name of a type.
            Expr::Select(select) if matches!(self.ty(expression), Type::Meta(_)) => {
                self.paths.insert(expression.id, Path::of_variable(&select.field));
                1
            }
            Expr::Select(select) => {
                let cost = self.cost(&select.operand);
                if select.test {
                    return cost;
                }
                let has_fields = self.ty(&select.operand).has_fields();
                let path = self.path(&select.operand).append(&select.field);
                self.paths.insert(expression.id, path);
                cost.saturating_add(u64::from(has_fields))
            }
            Expr::Call(call) => self.call(expression, call),
            Expr::List(list) => {
                let (cost, value) = self.costs_and_size(list.elements.iter());
                let key = Size::fixed(1);
                self.set_entry(
                    expression,
                    EntrySize {
                        is_list: true,
                        key,
                        value,
                    },
                );
                cost.saturating_add(NEW_LIST)
            }
            Expr::Map(map) => {
                let entries = map.entries.iter().filter_map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) => Some(entry),
                    EntryExpr::StructField(_) => None,
                });
                let (keys, key) = self.costs_and_size(entries.clone().map(|entry| &entry.key));
                let (values, value) = self.costs_and_size(entries.map(|entry| &entry.value));
                let is_list = false;
                self.set_entry(expression, EntrySize { is_list, key, value });
                keys.saturating_add(values).saturating_add(NEW_MAP)
            }
            Expr::Struct(object) => {
                let fields = object.entries.iter().filter_map(|entry| match &entry.expr {
                    EntryExpr::StructField(field) => Some(&field.value),
                    EntryExpr::MapEntry(_) => None,
                });
                let (cost, _) = self.costs_and_size(fields);
                cost.saturating_add(NEW_OBJECT)
            }
            Expr::Comprehension(comprehension) => self.comprehension(expression, comprehension),
        }
    }

    /// Returns the sum of the costs of expressions, and the range of their sizes.
    fn costs_and_size(&mut self, expressions: impl Iterator<Item = &'e IdedExpr>) -> (u64, Size) {
        let mut cost = 0_u64;
        let mut size: Option<Size> = None;
        for expression in expressions {
            cost = cost.saturating_add(self.cost(expression));
            let found = self.size(expression).unwrap_or(Size::UNKNOWN);
            size = Some(size.unwrap_or(Size::NONE).union(found));
        }
        (cost, size.unwrap_or(Size::fixed(0)))
    }

    fn call(&mut self, expression: &'e IdedExpr, call: &'e CallExpr) -> u64 {
        let (name, target) = signatures::qualified(call);
        if let ("dyn", [arg]) = (&*name, &call.args[..]) {
            // It only hides the type.
            let cost = self.cost(arg).saturating_add(1);
            self.copy_sizes(expression, arg);
            return cost;
        }
        let args: Vec<_> = call.args.iter().map(|arg| self.operand(arg)).collect();
        let target = target.map(|target| self.operand(target));
        let of_operands = match (&*name, &args[..]) {
            // Only one of both is evaluated.
            (operators::CONDITIONAL, [condition, left, right]) => {
                condition.cost.saturating_add(left.cost.max(right.cost))
            }
            _ => sum(target.iter().chain(&args).map(|operand| operand.cost)),
        };
        let called = match self.operator(expression, &name, &args) {
            Some(of_operator) => of_operator,
            None => functions::call_cost(&name, target.as_ref(), &args, self.bounds),
        };
        if let Some(size) = called.size.or_else(|| self.size(expression)) {
            self.sizes.insert(expression.id, size);
        }
        of_operands.saturating_add(called.cost)
    }

    fn operand(&mut self, expression: &'e IdedExpr) -> Operand<'e> {
        let cost = self.cost(expression);
        Operand {
            expression,
            ty: self.ty(expression).clone(),
            path: self.path(expression),
            size: self.size(expression),
            cost,
        }
    }

    fn comprehension(&mut self, expression: &'e IdedExpr, comprehension: &'e ComprehensionExpr) -> u64 {
        let ComprehensionExpr {
            iter_range: range,
            accu_init: initial,
            ..
        } = comprehension;
        let is_bind = matches!(&range.expr, Expr::List(list) if list.elements.is_empty())
            && comprehension.loop_cond.expr == Expr::Literal(LiteralValue::Boolean(false.into()));
        let range_cost = self.cost(range);
        let initial_cost = self.cost(initial);
        let depth = self.locals.len();
        let accumulated = Local {
            name: &comprehension.accu_var,
            path: self.path(initial),
            size: self.size(initial),
            entry: self.entry(initial),
        };
        self.locals.push(accumulated);
        if is_bind {
            let result = self.cost(&comprehension.result);
            self.locals.truncate(depth);
            self.copy_sizes(expression, &comprehension.result);
            return sum([range_cost, initial_cost, result].into_iter());
        }
        let first = &comprehension.iter_var;
        if let Some(second) = &comprehension.iter_var2 {
            // In this order, since paths share memory.
            let key = self.item(first, range, Some(IterationPart::Key));
            self.locals.push(key);
            let value = self.item(second, range, Some(IterationPart::Value));
            self.locals.push(value);
        } else {
            let item = self.item(first, range, None);
            self.locals.push(item);
        }
        let condition = self.cost(&comprehension.loop_cond);
        let step = condition.saturating_add(self.cost(&comprehension.loop_step));
        self.locals.truncate(depth + 1);
        let result = self.cost(&comprehension.result);
        self.locals.truncate(depth);
        let count = self.size(range).unwrap_or(Size::UNKNOWN);
        let is_scalar = matches!(initial.expr, Expr::Literal(_));
        let size = if is_scalar { Size::fixed(1) } else { count };
        self.sizes.insert(expression.id, size);
        if let Some(entry) = self.entry(&comprehension.loop_step)
            && !is_scalar
        {
            self.set_entry(expression, entry);
        }
        let steps = count.max.saturating_mul(step);
        sum([range_cost, initial_cost, result, steps].into_iter())
    }

    /// A variable of a comprehension with this range: a part of its entries, or, if it is the only variable, the item or key.
    fn item(&self, name: &'e str, range: &IdedExpr, part: Option<IterationPart>) -> Local<'e> {
        let entry = self.entry(range);
        let is_list = entry.map_or_else(|| matches!(self.ty(range), Type::List(_)), |entry| entry.is_list);
        let is_value = part.map_or(is_list, |part| part == IterationPart::Value);
        let size = entry.map(|entry| if is_value { entry.value } else { entry.key });
        let step = match (is_list, is_value) {
            (true, true) => "@items",
            (true, false) => "@indices",
            (false, true) => "@values",
            (false, false) => "@keys",
        };
        Local {
            name,
            path: self.path(range).append(step),
            size,
            entry: None,
        }
    }

    /// The result of an expression has the sizes of that of another one.
    fn copy_sizes(&mut self, expression: &IdedExpr, other: &IdedExpr) {
        if let Some(size) = self.size(other) {
            self.sizes.insert(expression.id, size);
        }
        if let Some(entry) = self.entry(other) {
            self.set_entry(expression, entry);
        }
    }
}

/// What one of two variables of a comprehension is bound to.
#[derive(Clone, Copy, PartialEq)]
enum IterationPart {
    /// The index of a list, or the key of a map.
    Key,
    Value,
}

fn sum(costs: impl Iterator<Item = u64>) -> u64 {
    costs.fold(0, u64::saturating_add)
}
