//! The functions that expressions can call: their overloads, as cel-go and kube-apiserver declare them.

use super::checker::Type;
use super::value_type::{DURATION, TIMESTAMP};
use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

/// An overload of a function.
#[derive(Debug)]
pub(super) struct Overload {
    /// Whether the first argument stands before the name.
    pub(super) has_receiver: bool,
    /// The types of the receiver and of the arguments.
    pub(super) arguments: Vec<Type>,
    pub(super) result: Type,
    /// How many variables these types have. They are numbered.
    pub(super) variables: usize,
}

/// The overloads of each function, in the order in which cel-go tries them.
static FUNCTIONS: LazyLock<HashMap<&str, Vec<Overload>>> = LazyLock::new(|| {
    let mut functions: HashMap<&str, Vec<Overload>> = HashMap::new();
    for line in include_str!("signatures.txt").lines() {
        if let Some((name, signature)) = line.split_once(' ').filter(|_| !line.starts_with('#'))
            && let Some(overload) = parse_overload(signature)
        {
            functions.entry(name).or_default().push(overload);
        }
    }
    functions
});

/// Returns the overloads of a function; None if there is no such function.
pub(super) fn overloads(name: &str) -> Option<&'static [Overload]> {
    FUNCTIONS.get(name).map(Vec::as_slice)
}

/// Returns the function that a call names, and its receiver. The prefix of a name such as `sets.contains` is not a receiver.
pub(super) fn qualified(call: &CallExpr) -> (Cow<'_, str>, Option<&IdedExpr>) {
    if let Some(Expr::Ident(prefix)) = call.target.as_ref().map(|target| &target.expr) {
        let qualified = format!("{prefix}.{}", call.func_name);
        if overloads(&qualified).is_some() {
            return (Cow::Owned(qualified), None);
        }
    }
    (Cow::Borrowed(&call.func_name), call.target.as_deref())
}

pub(super) fn is_operator(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Parses `receiver.(arguments) -> result`.
fn parse_overload(signature: &'static str) -> Option<Overload> {
    let (parameters, result) = signature.split_once(" -> ")?;
    let (receiver, parameters) = match parameters.split_once(".(") {
        Some((receiver, parameters)) => (Some(receiver), parameters),
        None => (None, parameters.strip_prefix('(')?),
    };
    let mut names = vec![];
    let mut arguments: Vec<Type> = receiver
        .map(|receiver| parse(receiver, &mut names))
        .into_iter()
        .collect();
    let parameters = split(parameters.strip_suffix(')')?);
    arguments.extend(
        parameters
            .into_iter()
            .map(|parameter| parse(parameter, &mut names)),
    );
    Some(Overload {
        has_receiver: receiver.is_some(),
        arguments,
        result: parse(result, &mut names),
        variables: names.len(),
    })
}

/// Parses a type. A capital letter is a variable.
fn parse(text: &'static str, names: &mut Vec<&'static str>) -> Type {
    if let Some((outer, inner)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let mut inner = split(inner).into_iter().map(|ty| parse(ty, names));
        let mut next = || inner.next().unwrap_or(Type::Dyn);
        let first = next();
        return match outer {
            "list" => Type::list(first),
            "map" => Type::map(first, next()),
            "type" => Type::Meta(Box::new(first)),
            _ => Type::Optional(Box::new(first)),
        };
    }
    match text {
        "dyn" => Type::Dyn,
        "duration" => Type::Simple(DURATION),
        "timestamp" => Type::Simple(TIMESTAMP),
        name if name.len() == 1 => {
            let known = names.iter().position(|known| *known == name);
            Type::Variable(known.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            }))
        }
        name => Type::Simple(name),
    }
}

/// Splits at commas that stand in no parentheses.
fn split(text: &'static str) -> Vec<&'static str> {
    let (mut parts, mut start, mut depth) = (vec![], 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.keys().copied()
}
