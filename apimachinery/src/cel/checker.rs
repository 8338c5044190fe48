//! The names and types of expressions about admission requests and of rules, checked as cel-go does: which names are not declared, which
//! arguments are of a wrong type, and of which type the result is.

use super::declarations::Declarations;
use super::macros;
use super::positions::{self, Positions};
use super::signatures::Overload;
use super::unification::{Substitution, most_general};
pub(crate) use super::value_type::Type;
use super::value_type::{DURATION, TIMESTAMP};
use super::{fields, patches, schema_types};
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, SelectExpr,
    StructExpr, operators,
};
use std::collections::HashMap;

/// The type of the object with the composed variables.
pub(super) const VARIABLES: &str = "kubernetes.variables";
pub(super) const BOOL: Type = Type::Simple("bool");
const INT: Type = Type::Simple("int");
pub(super) const STRING: Type = Type::Simple("string");

/// The types of the parts of an expression, by their ids.
pub(super) type Types = HashMap<u64, Type>;

/// What is invalid in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Invalid {
    /// Where it is: a byte of the text.
    pub(super) at: usize,
    pub(super) why: String,
}

/// Returns the type of an expression, the types of its parts, and what is invalid in it.
pub(super) fn check(
    expression: &IdedExpr,
    positions: &Positions,
    declared: &Declarations<'_>,
) -> (Type, Types, Vec<Invalid>) {
    let mut checker = Checker {
        declared,
        positions,
        bound: vec![],
        macros: vec![],
        types: Types::new(),
        substitution: Substitution::default(),
        invalid: vec![],
    };
    let ty = checker.infer(expression);
    let final_type = |ty: &Type| without_variables(&checker.substitution.apply(ty));
    let types = checker
        .types
        .iter()
        .map(|(id, ty)| (*id, final_type(ty)))
        .collect();
    (final_type(&ty), types, checker.invalid)
}

/// Returns the type of the name of a type; None for other names.
pub(super) fn type_named(name: &str) -> Option<Type> {
    const NAMES: [&str; 13] = [
        "bool",
        "bytes",
        "double",
        DURATION,
        "int",
        "net.CIDR",
        "net.IP",
        "null_type",
        "optional_type",
        "string",
        TIMESTAMP,
        "type",
        "uint",
    ];
    let ty = match name {
        "google.protobuf.Any" => Type::Any,
        "google.protobuf.Value" => Type::Dyn,
        "google.protobuf.Struct" => Type::map(STRING, Type::Dyn),
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        name => Type::Simple(NAMES.iter().find(|known| **known == name)?),
    };
    Some(Type::Meta(Box::new(ty)))
}

struct Checker<'a> {
    declared: &'a Declarations<'a>,
    positions: &'a Positions,
    /// What comprehensions bind, the innermost last.
    bound: Vec<(&'a str, Type)>,
    /// The ids of the comprehensions around a part.
    macros: Vec<u64>,
    types: Types,
    substitution: Substitution,
    invalid: Vec<Invalid>,
}

impl<'a> Checker<'a> {
    fn infer(&mut self, expression: &'a IdedExpr) -> Type {
        let ty = self.infer_kind(expression);
        self.types.insert(expression.id, ty.clone());
        ty
    }

    fn infer_kind(&mut self, expression: &'a IdedExpr) -> Type {
        let id = expression.id;
        match &expression.expr {
            Expr::Literal(literal) => of_literal(literal),
            Expr::Ident(name) => self.ident(id, name),
            Expr::Select(select) => self.select(id, select),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Call(call) => self.call(id, call),
            Expr::Comprehension(comprehension) => self.comprehension(id, comprehension),
            Expr::Struct(object) => self.object(id, object),
            Expr::Unspecified => Type::Dyn,
        }
    }

    /// Reports what is invalid in a part. A part that a macro made stands where the macro does.
    fn report(&mut self, id: u64, why: String) -> Type {
        let mut parts = [id].into_iter().chain(self.macros.iter().rev().copied());
        let at = parts.find_map(|id| positions::place(self.positions, id));
        let at = at.unwrap_or_default();
        self.invalid.push(Invalid { at, why });
        Type::Error
    }

    fn report_undeclared(&mut self, id: u64, name: &str) -> Type {
        self.report(id, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn report_mismatch(&mut self, id: u64, expected: &Type, found: &Type) -> Type {
        let (expected, found) = (expected.described(), found.described());
        self.report(id, format!("expected type '{expected}' but found '{found}'"))
    }

    fn ident(&mut self, id: u64, name: &str) -> Type {
        if let Some((_, bound)) = self.bound.iter().rfind(|(known, _)| *known == name) {
            return bound.clone();
        }
        let variable = self.declared.variable(name);
        match variable.or_else(|| type_named(name)) {
            Some(ty) => ty,
            None => self.report_undeclared(id, name),
        }
    }

    fn select(&mut self, id: u64, select: &'a SelectExpr) -> Type {
        if !select.test
            && let Some(name) = qualified_name(&select.operand, &select.field)
            && let Some(ty) = self.declared.variable(&name).or_else(|| type_named(&name))
        {
            return ty;
        }
        let ty = self.field(id, &select.operand, &select.field, false);
        if select.test { BOOL } else { ty }
    }

    fn field(&mut self, id: u64, operand: &'a IdedExpr, field: &str, is_optional: bool) -> Type {
        let operand = self.infer(operand);
        let operand = self.substitution.apply(&operand);
        let (of, was_optional) = match &operand {
            Type::Optional(value) => (&**value, true),
            other => (other, false),
        };
        let undefined = || format!("undefined field '{field}'");
        let found = match of {
            Type::Map(_, value) => Ok((**value).clone()),
            Type::Constructed(name) => patches::field(name, field).ok_or_else(undefined),
            Type::Object(VARIABLES) => {
                let variables = self.declared.variables;
                variables
                    .and_then(|known| known.get(field))
                    .cloned()
                    .ok_or_else(undefined)
            }
            Type::Object(object) => fields::field(object, field).ok_or_else(undefined),
            Type::Schema(object) => schema_types::field(object, field).ok_or_else(undefined),
            Type::Simple(name) if name.starts_with("kubernetes.") => Err(undefined()),
            Type::Variable(_) => {
                self.substitution.assign(&Type::Dyn, of);
                Ok(Type::Dyn)
            }
            Type::Dyn | Type::Any | Type::Error => Ok(Type::Dyn),
            _ => {
                let why = format!("type '{}' does not support field selection", of.described());
                self.report(id, why);
                Ok(Type::Dyn)
            }
        };
        let ty = found.unwrap_or_else(|why| self.report(id, why));
        if was_optional || is_optional {
            Type::Optional(Box::new(ty))
        } else {
            ty
        }
    }

    fn call(&mut self, id: u64, call: &'a CallExpr) -> Type {
        let name = call.func_name.as_str();
        if let (operators::OPT_SELECT, [operand, field]) = (name, &call.args[..])
            && let Expr::Literal(LiteralValue::String(field)) = &field.expr
        {
            return self.field(id, operand, field.inner(), true);
        }
        let mut types: Vec<Type> = call.args.iter().map(|arg| self.infer(arg)).collect();
        let Some(target) = &call.target else {
            return match self.declared.overloads(name) {
                Some(overloads) => self.resolve(id, call, name, overloads, false, &types),
                None => self.report_undeclared(id, name),
            };
        };
        if let Some(qualified) = qualified_name(target, name)
            && let Some(overloads) = self.declared.overloads(&qualified)
        {
            return self.resolve(id, call, &qualified, overloads, false, &types);
        }
        types.insert(0, self.infer(target));
        match self.declared.overloads(name) {
            Some(overloads) => self.resolve(id, call, name, overloads, true, &types),
            None => self.report_undeclared(id, name),
        }
    }

    /// Returns the type of the result of a call: that of the overload for these arguments; unknown if several ones fit.
    fn resolve(
        &mut self,
        id: u64,
        call: &'a CallExpr,
        name: &str,
        overloads: &[Overload],
        has_receiver: bool,
        types: &[Type],
    ) -> Type {
        if matches!(name, operators::LOGICAL_AND | operators::LOGICAL_OR) {
            let mut result = BOOL;
            for (arg, ty) in call.args.iter().zip(types) {
                if !self.substitution.assign(ty, &BOOL) {
                    result = self.report_mismatch(arg.id, &BOOL, ty);
                }
            }
            return result;
        }
        // cel-go expands `sortBy` to a method.
        let has_receiver = has_receiver || name == macros::SORT_BY_KEYS;
        let mut result: Option<Type> = None;
        for overload in overloads {
            if overload.has_receiver != has_receiver || overload.arguments.len() != types.len() {
                continue;
            }
            let variables: Vec<Type> = (0..overload.variables)
                .map(|_| self.substitution.new_variable())
                .collect();
            let expected: Vec<Type> = overload
                .arguments
                .iter()
                .map(|ty| with_variables(ty, &variables))
                .collect();
            let pairs: Vec<(&Type, &Type)> = types.iter().zip(&expected).collect();
            if !self.substitution.assign_all(&pairs) {
                continue;
            }
            let of_overload = self
                .substitution
                .apply(&with_variables(&overload.result, &variables));
            result = Some(match result {
                Some(other) if !other.is_dyn() && other != of_overload => Type::Dyn,
                Some(other) => other,
                None => of_overload,
            });
        }
        result.unwrap_or_else(|| {
            let described = |ty: &Type| without_variables(&self.substitution.apply(ty)).described();
            let mut types: Vec<String> = types.iter().map(described).collect();
            let receiver = if has_receiver {
                format!("{}.", types.remove(0))
            } else {
                String::new()
            };
            let applied = format!("{receiver}({})", types.join(", "));
            self.report(
                id,
                format!("found no matching overload for '{name}' applied to '{applied}'"),
            )
        })
    }

    fn list(&mut self, list: &'a ListExpr) -> Type {
        let mut joined = None;
        for (index, item) in list.elements.iter().enumerate() {
            let ty = self.infer(item);
            let ty = self.unwrapped(item, ty, list.optional_indices.contains(&index));
            joined = Some(self.join(joined, ty));
        }
        Type::list(joined.unwrap_or_else(|| self.substitution.new_variable()))
    }

    fn map(&mut self, map: &'a MapExpr) -> Type {
        let (mut keys, mut values) = (None, None);
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                continue;
            };
            let key = self.infer(&entry.key);
            keys = Some(self.join(keys, key));
            let value = self.infer(&entry.value);
            let value = self.unwrapped(&entry.value, value, entry.optional);
            values = Some(self.join(values, value));
        }
        let mut new_variable = || self.substitution.new_variable();
        let key = keys.unwrap_or_else(&mut new_variable);
        Type::map(key, values.unwrap_or_else(new_variable))
    }

    /// The type of an item that may be missing: that of its value.
    fn unwrapped(&mut self, item: &IdedExpr, ty: Type, is_optional: bool) -> Type {
        match ty {
            Type::Optional(value) if is_optional => *value,
            other => {
                if is_optional && !other.is_dyn() {
                    let expected = Type::Optional(Box::new(other.clone()));
                    self.report_mismatch(item.id, &expected, &other);
                }
                other
            }
        }
    }

    /// The type of the items of a list that has one more.
    fn join(&mut self, before: Option<Type>, ty: Type) -> Type {
        match before {
            None => ty,
            Some(before) if self.substitution.assign(&before, &ty) => most_general(&before, &ty).clone(),
            // `constants` reports it.
            Some(_) => Type::Dyn,
        }
    }

    fn object(&mut self, id: u64, object: &'a StructExpr) -> Type {
        let name = object.type_name.as_str();
        let is_declared = self.declared.has_patch_types && patches::is_patch_type(name);
        let result = if is_declared {
            Type::Constructed(name.into())
        } else {
            self.report_undeclared(id, name)
        };
        for entry in &object.entries {
            let EntryExpr::StructField(field) = &entry.expr else {
                continue;
            };
            let ty = self.infer(&field.value);
            let ty = self.unwrapped(&field.value, ty, field.optional);
            let expected = patches::field(name, &field.field).filter(|_| is_declared);
            let is_right = match &expected {
                Some(expected) => self.substitution.assign(expected, &ty),
                None => !is_declared,
            };
            if !is_right {
                let expected = expected.map_or_else(String::new, |expected| expected.described());
                let (field, ty) = (&field.field, ty.described());
                let why =
                    format!("expected type of field '{field}' is '{expected}' but provided type is '{ty}'");
                self.report(entry.id, why);
            }
        }
        result
    }

    fn comprehension(&mut self, id: u64, comprehension: &'a ComprehensionExpr) -> Type {
        let range = self.infer(&comprehension.iter_range);
        self.macros.push(id);
        let accumulated = self.infer(&comprehension.accu_init);
        let range = self.substitution.apply(&range);
        let (key, value) = match &range {
            Type::List(item) => (INT, (**item).clone()),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Dyn | Type::Error | Type::Variable(_) => {
                self.substitution.assign(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let why = format!(
                    "expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)",
                    other.described()
                );
                self.report(comprehension.iter_range.id, why);
                (Type::Error, Type::Error)
            }
        };
        let depth = self.bound.len();
        self.bound.push((&comprehension.accu_var, accumulated.clone()));
        match &comprehension.iter_var2 {
            Some(second) => self
                .bound
                .extend([(&*comprehension.iter_var, key), (&**second, value)]),
            None if matches!(range, Type::List(_)) => self.bound.push((&comprehension.iter_var, value)),
            None => self.bound.push((&comprehension.iter_var, key)),
        }
        let (condition, step) = (&comprehension.loop_cond, &comprehension.loop_step);
        for (part, expected) in [(condition, BOOL), (step, accumulated)] {
            let ty = self.infer(part);
            if !self.substitution.assign(&expected, &ty) {
                self.report_mismatch(part.id, &expected, &ty);
            }
        }
        self.bound.truncate(depth + 1);
        let result = self.infer(&comprehension.result);
        self.bound.truncate(depth);
        self.macros.pop();
        self.substitution.apply(&result)
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

/// Returns the name that names and selections form, such as `net.IP`.
pub(super) fn qualified_name(operand: &IdedExpr, field: &str) -> Option<String> {
    match &operand.expr {
        Expr::Ident(name) => Some(format!("{name}.{field}")),
        Expr::Select(select) if !select.test => {
            let prefix = qualified_name(&select.operand, &select.field)?;
            Some(format!("{prefix}.{field}"))
        }
        _ => None,
    }
}

/// Returns the type of an overload with variables in place of the numbered ones.
fn with_variables(ty: &Type, variables: &[Type]) -> Type {
    ty.replace_variables(&|number| variables.get(number).cloned().unwrap_or(Type::Dyn))
}

/// What nothing decides is known when the expression is evaluated.
fn without_variables(ty: &Type) -> Type {
    ty.replace_variables(&|_| Type::Dyn)
}

#[cfg(test)]
#[path = "checker_tests.rs"]
mod tests;
