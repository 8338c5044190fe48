//! What cel-go checks of constants in an expression whose types are right: literals that functions cannot read, items of different types,
//! formats, and conversions that fail.

use super::checker::{Invalid, Type, Types};
use super::library;
use super::library::string_format::{self, Form, Mismatch};
use super::macros::parts;
use super::messages::translate;
use super::positions::{self, Positions};
use super::value_type::{DURATION, TIMESTAMP};
use crate::go_regexp;
use kube_cel::KubeCelExt as _;
use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue};
use kube_cel::cel::{Context, Value};

/// The functions that convert their argument to another type.
const CONVERSIONS: [&str; 8] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "int",
    "string",
    "timestamp",
    "uint",
];
/// The functions with a regular expression.
const SEARCHES: [&str; 3] = ["find", "findAll", "matches"];

thread_local! {
    static CONTEXT: Context<'static> = {
        let mut context = Context::default().with_all();
        library::register(&mut context);
        context
    };
}

/// Returns what is invalid.
pub(super) fn check(expression: &IdedExpr, types: &Types, positions: &Positions) -> Vec<Invalid> {
    let mut check = Check {
        types,
        positions,
        invalid: vec![],
    };
    check.visit(expression, false);
    check.invalid
}

/// Evaluates the conversions of constants, and compiles constant regular expressions.
///
/// # Errors
///
/// Returns the message of the first one that fails.
pub(super) fn fold(expression: &IdedExpr) -> Result<(), String> {
    constant(expression).map(|_| ())
}

struct Check<'a> {
    types: &'a Types,
    positions: &'a Positions,
    invalid: Vec<Invalid>,
}

impl Check<'_> {
    fn report(&mut self, id: u64, why: String) {
        let at = positions::place(self.positions, id).unwrap_or_default();
        self.invalid.push(Invalid { at, why });
    }

    fn ty(&self, id: u64) -> &Type {
        self.types.get(&id).unwrap_or(&Type::Dyn)
    }

    fn visit(&mut self, expression: &IdedExpr, is_in_format: bool) {
        let mut is_format = false;
        match &expression.expr {
            Expr::Call(call) => {
                is_format = call.func_name == "format";
                self.call(expression.id, call);
            }
            Expr::List(list) if !is_in_format => self.list(list),
            Expr::Map(map) if !is_in_format => {
                let entries = map.entries.iter().filter_map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) => Some((&entry.key, (&entry.value, entry.optional))),
                    EntryExpr::StructField(_) => None,
                });
                let (keys, values): (Vec<_>, Vec<_>) = entries.unzip();
                self.items(keys.into_iter().map(|key| (key, false)), false);
                self.items(values.into_iter(), false);
            }
            _ => {}
        }
        for part in parts(&expression.expr) {
            self.visit(part, is_in_format || is_format);
        }
    }

    fn list(&mut self, list: &ListExpr) {
        let items = list.elements.iter().enumerate();
        self.items(
            items.map(|(index, item)| (item, list.optional_indices.contains(&index))),
            true,
        );
    }

    /// Items with a type other than that of the first one.
    fn items<'e>(&mut self, items: impl Iterator<Item = (&'e IdedExpr, bool)>, ends_at_first: bool) {
        let mut first: Option<Type> = None;
        for (item, is_optional) in items {
            let ty = match self.ty(item.id) {
                Type::Optional(value) if is_optional => (**value).clone(),
                other => other.clone(),
            };
            let Some(first) = &first else {
                first = Some(ty);
                continue;
            };
            if *first != ty {
                let why = format!(
                    "expected type '{}' but found '{}'",
                    first.described(),
                    ty.described()
                );
                self.report(item.id, why);
                if ends_at_first {
                    return;
                }
            }
        }
    }

    fn call(&mut self, id: u64, call: &CallExpr) {
        let name = call.func_name.as_str();
        if let Some(argument) = call.args.first()
            && let Expr::Literal(literal) = &argument.expr
        {
            let is_invalid = match name {
                "duration" | "timestamp" => converted(name, of_literal(literal)).is_err(),
                "matches" => text(literal).is_some_and(|pattern| go_regexp::compile(pattern).is_err()),
                _ => false,
            };
            if is_invalid {
                self.report(argument.id, format!("invalid {name} argument"));
            }
        }
        if let ("format", Some(Expr::Literal(format)), [arguments]) = (
            name,
            call.target.as_ref().map(|target| &target.expr),
            &call.args[..],
        ) && let (Some(format), Expr::List(arguments)) = (text(format), &arguments.expr)
        {
            self.format(id, format, &arguments.elements);
        }
    }

    fn format(&mut self, id: u64, format: &str, arguments: &[IdedExpr]) {
        let mut count = 0;
        let checked = string_format::replace(format, arguments.len(), |clause| {
            count += 1;
            self.check_argument(clause.form, &arguments[clause.argument])
        });
        match checked {
            Err((part, why)) => self.report(part.unwrap_or(id), why),
            Ok(_) if arguments.len() > count => {
                let given = arguments.len();
                self.report(
                    id,
                    format!("too many arguments supplied to string.format (expected {count}, got {given})"),
                );
            }
            Ok(_) => {}
        }
    }

    fn check_argument(&self, form: Form, argument: &IdedExpr) -> Result<String, Mismatch> {
        let ty = self.ty(argument.id);
        let fits = match (form, ty) {
            (_, Type::Dyn) | (Form::Text, Type::List(_) | Type::Map(..) | Type::Meta(_)) => true,
            (_, Type::Simple(name)) => fits(form, name),
            _ => false,
        };
        if !fits {
            return Err((Some(argument.id), form.mismatch(type_name(ty))));
        }
        if form == Form::Text && matches!(argument.expr, Expr::List(_) | Expr::Map(_)) {
            for part in parts(&argument.expr) {
                self.check_argument(form, part)?;
            }
        }
        Ok(String::new())
    }
}

fn fits(form: Form, ty: &str) -> bool {
    match form {
        Form::Text => !ty.contains('.') || [DURATION, TIMESTAMP].contains(&ty),
        Form::Decimal | Form::Octal => matches!(ty, "int" | "uint"),
        // Infinity and NaN may be texts.
        Form::Fixed | Form::Scientific => matches!(ty, "double" | "string"),
        Form::Binary => matches!(ty, "int" | "uint" | "bool"),
        Form::Hex { .. } => matches!(ty, "int" | "uint" | "string" | "bytes"),
    }
}

/// The name of a type without its parameters.
fn type_name(ty: &Type) -> &str {
    match ty {
        Type::Simple(name) | Type::Object(name) => name,
        Type::Schema(object) => &object.path,
        Type::Constructed(name) => name,
        Type::List(_) => "list",
        Type::Map(..) => "map",
        Type::Optional(_) => "optional_type",
        Type::Meta(_) => "type",
        Type::Any => "google.protobuf.Any",
        Type::Dyn | Type::Error | Type::Variable(_) => "dyn",
    }
}

/// Returns the value of a constant; None if the expression is none.
fn constant(expression: &IdedExpr) -> Result<Option<Value>, String> {
    if let Expr::Literal(literal) = &expression.expr {
        return Ok(Some(of_literal(literal)));
    }
    let parts = parts(&expression.expr);
    let values = parts.into_iter().map(constant).collect::<Result<Vec<_>, _>>()?;
    let Expr::Call(call) = &expression.expr else {
        return Ok(None);
    };
    match (call.func_name.as_str(), &values[..]) {
        (name, [Some(value)]) if CONVERSIONS.contains(&name) => converted(name, value.clone()).map(Some),
        ("dyn", [Some(value)]) => Ok(Some(value.clone())),
        (name, [_, Some(Value::String(pattern)), ..]) if SEARCHES.contains(&name) => {
            let compiled = go_regexp::compile(pattern).map(|_| None);
            compiled.map_err(|why| format!("error parsing regexp: {why}"))
        }
        _ => Ok(None),
    }
}

fn converted(name: &str, value: Value) -> Result<Value, String> {
    let converted = CONTEXT.with(|context| library::call_function(context, name, value));
    converted.map_err(|error| translate(&error.to_string()))
}

fn of_literal(literal: &LiteralValue) -> Value {
    match literal {
        LiteralValue::Boolean(truth) => Value::Bool(*truth.inner()),
        LiteralValue::Bytes(bytes) => Value::Bytes(bytes.inner().to_vec().into()),
        LiteralValue::Double(number) => Value::Float(*number.inner()),
        LiteralValue::Int(number) => Value::Int(*number.inner()),
        LiteralValue::Null => Value::Null,
        LiteralValue::String(text) => Value::String(text.inner().to_owned().into()),
        LiteralValue::UInt(number) => Value::UInt(*number.inner()),
    }
}

fn text(literal: &LiteralValue) -> Option<&str> {
    match literal {
        LiteralValue::String(text) => Some(text.inner()),
        _ => None,
    }
}
