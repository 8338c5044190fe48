//! The names and types of expressions about admission requests and of rules: which names are not declared, which arguments are of a wrong type, and of
//! which type the result is.

use super::declarations::Declarations;
pub(crate) use super::value_type::Type;
use super::{fields, library, overloads, schema_types};
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators,
};
use std::cell::RefCell;
use std::collections::HashMap;

/// The type of the object with the composed variables.
const VARIABLES: &str = "kubernetes.variables";
pub(super) const BOOL: Type = Type::Simple("bool");
const INT: Type = Type::Simple("int");
pub(super) const STRING: Type = Type::Simple("string");

/// The types of the parts of an expression, by their ids.
pub(super) type Types = HashMap<u64, Type>;

/// Why an expression is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Invalid {
    UndeclaredName(String),
    UndeclaredFunction(String),
    UndefinedField {
        name: String,
        /// Whether it is the argument of `has`.
        is_tested: bool,
    },
    Call {
        /// The function, or the name of an operator.
        name: String,
        /// How many calls of the function come before it in the text.
        number: usize,
        why: String,
    },
}

/// Returns the type of an expression, the types of its parts, and what is invalid in it.
pub(super) fn check(expression: &IdedExpr, declared: &Declarations<'_>) -> (Type, Types, Vec<Invalid>) {
    let (types, invalid, calls) = (RefCell::default(), RefCell::default(), RefCell::default());
    let scope = Scope {
        declared,
        bound: vec![],
        types: &types,
        invalid: &invalid,
        calls: &calls,
    };
    let ty = scope.infer(expression);
    (ty, types.into_inner(), invalid.into_inner())
}

/// Names that CEL declares as types and namespaces.
pub(super) const TYPE_NAMES: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "dyn",
    "google",
    "int",
    "kubernetes",
    "list",
    "map",
    "net",
    "null_type",
    "optional_type",
    "string",
    "type",
    "uint",
];

struct Scope<'a> {
    declared: &'a Declarations<'a>,
    /// What comprehensions bind, the innermost last.
    bound: Vec<(&'a str, Type)>,
    types: &'a RefCell<Types>,
    invalid: &'a RefCell<Vec<Invalid>>,
    /// How many calls of each function were found.
    calls: &'a RefCell<HashMap<&'a str, usize>>,
}

impl<'a> Scope<'a> {
    fn infer(&self, expression: &'a IdedExpr) -> Type {
        let ty = self.infer_kind(expression);
        self.types.borrow_mut().insert(expression.id, ty.clone());
        ty
    }

    fn infer_kind(&self, expression: &'a IdedExpr) -> Type {
        match &expression.expr {
            Expr::Literal(literal) => of_literal(literal),
            Expr::Ident(name) => self.ident(name),
            Expr::Select(select) => {
                let operand = self.infer(&select.operand);
                let ty = self.field(&operand, &select.field, select.test);
                if select.test { BOOL } else { ty }
            }
            Expr::List(list) => {
                let items = list.elements.iter().map(|item| self.infer(item));
                Type::List(Box::new(items.reduce(common).unwrap_or(Type::Empty)))
            }
            Expr::Map(map) => {
                let entries = map.entries.iter().filter_map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) => Some((self.infer(&entry.key), self.infer(&entry.value))),
                    EntryExpr::StructField(_) => None,
                });
                let joined = entries.reduce(|(key, value), (k, v)| (common(key, k), common(value, v)));
                let (key, value) = joined.unwrap_or((Type::Dyn, Type::Dyn));
                Type::Map(Box::new(key), Box::new(value))
            }
            Expr::Call(call) if library::is_missing_macro(&call.func_name, call.args.len()) => Type::Unknown,
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(_) | Expr::Unspecified => Type::Unknown,
        }
    }

    /// Infers in the order of the text, so that calls of one function can be told apart by their number.
    fn call(&self, call: &'a CallExpr) -> Type {
        let name = &*call.func_name;
        let (qualified, target) = library::qualified(call);
        if qualified != name {
            let args = call.args.iter().map(|arg| self.infer(arg)).collect();
            return of_call(&qualified, None, args);
        }
        let receiver = target.map(|target| self.infer(target));
        let is_infix =
            library::is_operator(name) && !matches!(name, operators::LOGICAL_NOT | operators::NEGATE);
        let before = usize::from(is_infix).min(call.args.len());
        let mut args: Vec<Type> = call.args[..before].iter().map(|arg| self.infer(arg)).collect();
        // Macros expand to calls about what they accumulate, which are not in the text.
        let is_accumulated = |arg: &IdedExpr| matches!(&arg.expr, Expr::Ident(name) if name.starts_with('@'));
        let number = (!call.args.iter().any(is_accumulated)).then(|| self.count(name));
        args.extend(call.args[before..].iter().map(|arg| self.infer(arg)));
        if !library::is_declared(name) {
            self.report(Invalid::UndeclaredFunction(name.to_owned()));
        } else if let (Some(number), Some(why)) = (number, overloads::check(name, receiver.as_ref(), &args)) {
            let name = name.to_owned();
            self.report(Invalid::Call { name, number, why });
        }
        if let (operators::OPT_SELECT, [operand, _]) = (name, &args[..])
            && let Some(Expr::Literal(LiteralValue::String(field))) =
                call.args.get(1).map(|field| &field.expr)
        {
            return self.field(operand, field.inner(), false).optional();
        }
        of_call(name, receiver, args)
    }

    /// Returns how many calls of a function came before.
    fn count(&self, name: &'a str) -> usize {
        let mut calls = self.calls.borrow_mut();
        let count = calls.entry(name).or_default();
        *count += 1;
        *count - 1
    }

    fn report(&self, invalid: Invalid) {
        self.invalid.borrow_mut().push(invalid);
    }

    fn ident(&self, name: &str) -> Type {
        if let Some((_, bound)) = self.bound.iter().rfind(|(known, _)| *known == name) {
            return bound.clone();
        }
        let declared = self.declared;
        if let Some(rule) = declared.rule {
            return match name {
                "oldSelf" if rule.has_optional_old => rule.of_self.clone().optional(),
                "self" | "oldSelf" => rule.of_self.clone(),
                name => self.type_name(name),
            };
        }
        match name {
            "object" | "oldObject" => Type::Dyn,
            "params" if declared.has_params => Type::Dyn,
            "request" => Type::Object("kubernetes.AdmissionRequest"),
            "namespaceObject" => Type::Object("kubernetes.Namespace"),
            "authorizer" if declared.has_authorizer => Type::Simple("kubernetes.authorization.Authorizer"),
            "variables" if declared.variables.is_some() => Type::Object(VARIABLES),
            name => self.type_name(name),
        }
    }

    /// Reports a name that is not that of a type.
    fn type_name(&self, name: &str) -> Type {
        if !TYPE_NAMES.contains(&name) {
            self.report(Invalid::UndeclaredName(name.to_owned()));
        }
        Type::Unknown
    }

    fn field(&self, operand: &Type, field: &str, is_tested: bool) -> Type {
        self.find_field(operand, field).unwrap_or_else(|| {
            let name = field.to_owned();
            self.report(Invalid::UndefinedField { name, is_tested });
            Type::Unknown
        })
    }

    /// Returns the type of a field; None if there is no such field.
    fn find_field(&self, operand: &Type, field: &str) -> Option<Type> {
        match operand {
            Type::Dyn => Some(Type::Dyn),
            Type::Map(_, value) => Some((**value).clone()),
            Type::Object(VARIABLES) => self
                .declared
                .variables
                .and_then(|known| known.get(field))
                .cloned(),
            Type::Object(object) => fields::field(object, field),
            Type::Schema(schema) => schema_types::field(schema, field),
            Type::Optional(value) => self.find_field(value, field).map(Type::optional),
            _ => Some(Type::Unknown),
        }
    }

    fn comprehension(&self, comprehension: &'a ComprehensionExpr) -> Type {
        let item = match self.infer(&comprehension.iter_range) {
            Type::Dyn => Type::Dyn,
            Type::List(item) => *item,
            Type::Map(key, _) => *key,
            _ => Type::Unknown,
        };
        let with = |accumulated: Type| {
            let mut bound = self.bound.clone();
            bound.push((&comprehension.accu_var, accumulated));
            bound.push((&comprehension.iter_var, item.clone()));
            Scope { bound, ..*self }
        };
        let initial = self.infer(&comprehension.accu_init);
        let accumulated = with(initial).infer(&comprehension.loop_step);
        with(accumulated).infer(&comprehension.result)
    }
}

fn of_literal(literal: &LiteralValue) -> Type {
    Type::Simple(match literal {
        LiteralValue::Boolean(_) => "bool",
        LiteralValue::Bytes(_) => "bytes",
        LiteralValue::Double(_) => "double",
        LiteralValue::Int(_) => "int",
        LiteralValue::Null => "null_type",
        LiteralValue::String(_) => "string",
        LiteralValue::UInt(_) => "uint",
    })
}

fn of_call(name: &str, receiver: Option<Type>, args: Vec<Type>) -> Type {
    if let Some(ty) = receiver.and_then(|receiver| of_method(name, receiver, &args)) {
        return ty;
    }
    let mut args = args.into_iter();
    let mut next = || args.next().unwrap_or(Type::Unknown);
    match name {
        operators::LOGICAL_AND
        | operators::LOGICAL_OR
        | operators::LOGICAL_NOT
        | operators::EQUALS
        | operators::NOT_EQUALS
        | operators::LESS
        | operators::LESS_EQUALS
        | operators::GREATER
        | operators::GREATER_EQUALS
        | operators::IN
        | operators::NOT_STRICTLY_FALSE => BOOL,
        operators::CONDITIONAL => {
            let _condition = next();
            match (next(), next()) {
                (left, right) if left == right => left,
                (Type::Dyn, _) | (_, Type::Dyn) => Type::Dyn,
                (left @ (Type::List(_) | Type::Optional(_)), right @ (Type::List(_) | Type::Optional(_))) => {
                    common(left, right)
                }
                _ => Type::Unknown,
            }
        }
        operators::ADD
        | operators::SUBSTRACT
        | operators::MULTIPLY
        | operators::DIVIDE
        | operators::MODULO => match (next(), next()) {
            (Type::Dyn, Type::Dyn) => Type::Dyn,
            (left, right) if left == right && is_scalar(&left) => left,
            (Type::Dyn, known) | (known, Type::Dyn) if is_scalar(&known) => known,
            (Type::List(left), Type::List(right)) => Type::List(Box::new(common(*left, *right))),
            _ => Type::Unknown,
        },
        operators::NEGATE => next(),
        operators::INDEX => next().entry(),
        operators::OPT_INDEX => next().entry().optional(),
        "dyn" => Type::Dyn,
        "optional.of" | "optional.ofNonZeroValue" => Type::Optional(Box::new(next())),
        "optional.none" => Type::Optional(Box::new(Type::Empty)),
        name => library::result_type(name).unwrap_or(Type::Unknown),
    }
}

/// The type of the result of a method that depends on that of its receiver; None for other methods.
fn of_method(name: &str, receiver: Type, args: &[Type]) -> Option<Type> {
    Some(match (name, receiver) {
        ("sum" | "min" | "max", list @ (Type::List(_) | Type::Dyn)) => list.entry(),
        ("distinct" | "reverse" | "slice" | "sort", list @ (Type::List(_) | Type::Dyn)) => list,
        ("flatten", Type::List(item)) if args.is_empty() => *item,
        ("flatten", _) => Type::List(Box::new(Type::Dyn)),
        ("value", Type::Optional(value)) => *value,
        ("or", optional @ Type::Optional(_)) => optional,
        ("orValue", Type::Optional(value)) if Some(&*value) == args.first() => *value,
        _ => return None,
    })
}

/// True for the types that arithmetic operators have in common with both operands.
fn is_scalar(ty: &Type) -> bool {
    [
        BOOL,
        INT,
        STRING,
        Type::Simple("double"),
        Type::Simple("uint"),
        Type::Simple("bytes"),
    ]
    .contains(ty)
}

/// The type of the items of a list of both.
fn common(left: Type, right: Type) -> Type {
    match (left, right) {
        (left, right) if left == right => left,
        (Type::Empty, other) | (other, Type::Empty) => other,
        (Type::List(left), Type::List(right)) => Type::List(Box::new(common(*left, *right))),
        (Type::Optional(left), Type::Optional(right)) => Type::Optional(Box::new(common(*left, *right))),
        (Type::Unknown, _) | (_, Type::Unknown) => Type::Unknown,
        _ => Type::Dyn,
    }
}

#[cfg(test)]
#[path = "types_tests.rs"]
mod tests;
