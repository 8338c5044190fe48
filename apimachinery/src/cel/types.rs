//! The names and types of expressions about admission requests and of rules: which names are not declared, which arguments are of a wrong type, and of
//! which type the result is.

use super::declarations::{Declarations, Subject};
pub(crate) use super::value_type::Type;
use super::{fields, library, macros, overloads, patches, schema_types};
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, StructExpr, operators,
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
    /// The type of an object.
    UndeclaredType(String),
    /// A field of an object that a mutation constructs.
    ConstructedField {
        name: String,
        why: String,
    },
    /// A selected field.
    Field {
        name: String,
        /// Whether it is the argument of `has`.
        is_tested: bool,
        why: String,
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
    /// The calls of each function that were found, by their ids, with their numbers.
    calls: &'a RefCell<HashMap<&'a str, HashMap<u64, usize>>>,
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
                let (key, value) = joined.unwrap_or((Type::Empty, Type::Empty));
                Type::Map(Box::new(key), Box::new(value))
            }
            Expr::Call(call) if library::is_missing_macro(&call.func_name, call.args.len()) => Type::Unknown,
            Expr::Call(call) => self.call(expression, call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(object) => self.object(object),
            Expr::Unspecified => Type::Unknown,
        }
    }

    fn object(&self, object: &'a StructExpr) -> Type {
        let name = object.type_name.as_str();
        if !self.declared.has_patch_types || !patches::is_patch_type(name) {
            self.report(Invalid::UndeclaredType(name.to_owned()));
            return Type::Unknown;
        }
        for entry in &object.entries {
            let EntryExpr::StructField(field) = &entry.expr else {
                continue;
            };
            let ty = self.infer(&field.value);
            let expected = patches::field(name, &field.field);
            let is_right = match &expected {
                Some(expected) => ty.is_assignable_to(expected),
                None => false,
            };
            if !is_right {
                let expected = expected.map_or_else(String::new, |expected| expected.to_string());
                let why = format!(
                    "expected type of field '{}' is '{expected}' but provided type is '{ty}'",
                    field.field
                );
                let name = field.field.clone();
                self.report(Invalid::ConstructedField { name, why });
            }
        }
        Type::Constructed(name.into())
    }

    /// Infers in the order of the text, so that calls of one function can be told apart by their number.
    fn call(&self, expression: &'a IdedExpr, call: &'a CallExpr) -> Type {
        let name = &*call.func_name;
        let (mut qualified, mut target) = library::qualified(call);
        if qualified == patches::ESCAPE_KEY && !self.declared.has_patch_types {
            (qualified, target) = (name.into(), call.target.as_deref());
        }
        if qualified != name {
            let args = call.args.iter().map(|arg| self.infer(arg)).collect();
            return of_call(&qualified, None, args);
        }
        let receiver = target.map(|target| self.infer(target));
        let is_infix =
            library::is_operator(name) && !matches!(name, operators::LOGICAL_NOT | operators::NEGATE);
        let before = usize::from(is_infix).min(call.args.len());
        let mut args: Vec<Type> = call.args[..before].iter().map(|arg| self.infer(arg)).collect();
        // Macros expand to calls that are not in the text; those of kube-cel's macros are about what they accumulate.
        let is_accumulated = |arg: &IdedExpr| matches!(&arg.expr, Expr::Ident(name) if name.starts_with('@'));
        let in_text = match name {
            macros::SORT_BY_KEYS => Some("sortBy"),
            name => (!call.args.iter().any(is_accumulated)).then_some(name),
        };
        let place = in_text.zip(macros::id_in_text(expression));
        let place = place.map(|(name, id)| (name, self.number(name, id)));
        args.extend(call.args[before..].iter().map(|arg| self.infer(arg)));
        if !library::is_declared(name) {
            self.report(Invalid::UndeclaredFunction(name.to_owned()));
        } else if let Some((in_text, number)) = place
            && let Some(why) = overloads::check(name, receiver.as_ref(), &args)
        {
            let name = in_text.to_owned();
            self.report(Invalid::Call { name, number, why });
            return Type::Unknown;
        }
        if let (operators::OPT_SELECT, [operand, _]) = (name, &args[..])
            && let Some(Expr::Literal(LiteralValue::String(field))) =
                call.args.get(1).map(|field| &field.expr)
        {
            return self.field(operand, field.inner(), false).optional();
        }
        if let (operators::CONDITIONAL, [_, left, right]) = (name, &args[..])
            && let ty @ Type::Optional(_) = common(left.clone(), right.clone())
        {
            // A missing value has the type of the other one.
            let mut types = self.types.borrow_mut();
            types.extend(call.args[1..].iter().map(|arg| (arg.id, ty.clone())));
        }
        of_call(name, receiver, args)
    }

    /// Returns how many calls of a function come before the one with this id. A macro may repeat a call.
    fn number(&self, name: &'a str, id: u64) -> usize {
        let mut calls = self.calls.borrow_mut();
        let of_function = calls.entry(name).or_default();
        let next = of_function.len();
        *of_function.entry(id).or_insert(next)
    }

    fn report(&self, invalid: Invalid) {
        self.invalid.borrow_mut().push(invalid);
    }

    fn ident(&self, name: &str) -> Type {
        if let Some((_, bound)) = self.bound.iter().rfind(|(known, _)| *known == name) {
            return bound.clone();
        }
        let declared = self.declared;
        match declared.subject {
            Subject::Device => {
                return match name {
                    "device" => Type::Object("kubernetes.DRADevice"),
                    name => self.type_name(name),
                };
            }
            Subject::Rule(rule) => {
                return match name {
                    "oldSelf" if rule.has_optional_old => rule.of_self.clone().optional(),
                    "self" | "oldSelf" => rule.of_self.clone(),
                    name => self.type_name(name),
                };
            }
            Subject::Request => {}
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
            let why = match operand {
                Type::List(_) | Type::Simple(_) => {
                    let ty = overloads::described(operand);
                    format!("type '{ty}' does not support field selection")
                }
                _ => format!("undefined field '{field}'"),
            };
            let name = field.to_owned();
            self.report(Invalid::Field { name, is_tested, why });
            Type::Unknown
        })
    }

    /// Returns the type of a field; None if there is no such field.
    fn find_field(&self, operand: &Type, field: &str) -> Option<Type> {
        match operand {
            Type::Dyn | Type::Any => Some(Type::Dyn),
            Type::Constructed(name) => patches::field(name, field),
            Type::Map(_, value) => Some((**value).clone()),
            Type::Object(VARIABLES) => self
                .declared
                .variables
                .and_then(|known| known.get(field))
                .cloned(),
            Type::Object(object) => fields::field(object, field),
            Type::Schema(schema) => schema_types::field(schema, field),
            Type::Optional(value) => self.find_field(value, field).map(Type::optional),
            Type::List(_) | Type::Simple("bool" | "bytes" | "double" | "int" | "string" | "uint") => None,
            _ => Some(Type::Unknown),
        }
    }

    fn comprehension(&self, comprehension: &'a ComprehensionExpr) -> Type {
        let range = self.infer(&comprehension.iter_range);
        if let (Expr::Select(select), Type::Any | Type::Simple(_)) = (&comprehension.iter_range.expr, &range)
        {
            let ty = overloads::described(&range);
            let why = format!(
                "expression of type '{ty}' cannot be range of a comprehension (must be list, map, or dynamic)"
            );
            let (name, is_tested) = (select.field.clone(), select.test);
            self.report(Invalid::Field { name, is_tested, why });
        }
        let is_list = matches!(range, Type::List(_));
        let (key, value) = match range {
            Type::Dyn => (Type::Dyn, Type::Dyn),
            Type::List(item) => (INT, *item),
            Type::Map(key, value) => (*key, *value),
            _ => (Type::Unknown, Type::Unknown),
        };
        let items = match &comprehension.iter_var2 {
            Some(second) => vec![(&*comprehension.iter_var, key), (&**second, value)],
            None => vec![(&*comprehension.iter_var, if is_list { value } else { key })],
        };
        let with = |accumulated: Type| {
            let mut bound = self.bound.clone();
            bound.push((&comprehension.accu_var, accumulated));
            bound.extend(items.iter().cloned());
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
    if let (operators::CONDITIONAL, [_, left, right]) = (name, &args[..])
        && (*left == Type::Any || *right == Type::Any)
    {
        return Type::Any;
    }
    let as_dyn = |ty: Type| if ty == Type::Any { Type::Dyn } else { ty };
    let mut args = args.into_iter().map(as_dyn);
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
                (
                    left @ (Type::List(_) | Type::Map(..) | Type::Optional(_)),
                    right @ (Type::List(_) | Type::Map(..) | Type::Optional(_)),
                ) => common(left, right),
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
        operators::NEGATE | macros::SORT_BY_KEYS => next(),
        operators::INDEX => next().entry(),
        operators::OPT_INDEX => next().entry().optional(),
        macros::MAP_INSERT => match (next(), next(), args.next()) {
            (known @ Type::Map(..), key, Some(value)) => {
                common(known, Type::Map(Box::new(key), Box::new(value)))
            }
            (known @ Type::Map(..), entries @ Type::Map(..), None) => common(known, entries),
            _ => Type::Unknown,
        },
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
        ("first" | "last", list @ (Type::List(_) | Type::Dyn)) => list.entry().optional(),
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
        (Type::Map(key, value), Type::Map(other_key, other_value)) => Type::Map(
            Box::new(common(*key, *other_key)),
            Box::new(common(*value, *other_value)),
        ),
        (Type::Optional(left), Type::Optional(right)) => Type::Optional(Box::new(common(*left, *right))),
        (Type::Unknown, _) | (_, Type::Unknown) => Type::Unknown,
        _ => Type::Dyn,
    }
}

#[cfg(test)]
#[path = "types_tests.rs"]
mod tests;
