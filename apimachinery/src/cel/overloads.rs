//! The types of arguments: which calls of operators and functions are invalid, with cel-go's message.
//!
//! A call is invalid only if the types that are known exclude each overload. Of the functions, those of strings are checked that have one
//! overload, the receivers of those of lists, `check` of an authorizer, and alternatives to optional values.

use super::macros;
use super::types::Type;
use kube_cel::cel::common::ast::operators;

/// Functions with a receiver that have one overload: the type of the receiver, and those of the arguments.
const METHODS: &[(&str, &str, &[&str])] = &[
    ("charAt", "string", &["int"]),
    ("check", "kubernetes.authorization.ResourceCheck", &["string"]),
    ("contains", "string", &["string"]),
    ("endsWith", "string", &["string"]),
    ("lowerAscii", "string", &[]),
    ("matches", "string", &["string"]),
    ("startsWith", "string", &["string"]),
    ("trim", "string", &[]),
    ("upperAscii", "string", &[]),
];
/// Functions whose receiver must be a list.
const LIST_METHODS: [&str; 11] = [
    "distinct", "first", "flatten", "isSorted", "last", "max", "min", "reverse", "slice", "sort", "sum",
];
const NUMBERS: [&str; 3] = ["int", "uint", "double"];
/// The types whose values can be compared.
const ORDERED: [&str; 8] = [
    "bool", "int", "uint", "double", "string", "bytes", DURATION, TIMESTAMP,
];
/// The types without a size.
pub(super) const SIZELESS: [&str; 7] = ["bool", "int", "uint", "double", "null_type", DURATION, TIMESTAMP];
const DURATION: &str = "google.protobuf.Duration";
const TIMESTAMP: &str = "google.protobuf.Timestamp";

/// Returns why a call is invalid.
pub(super) fn check(name: &str, receiver: Option<&Type>, args: &[Type]) -> Option<String> {
    if let (macros::SORT_BY_KEYS, None, [list, keys @ ..]) = (name, receiver, args) {
        // cel-go expands `sortBy` to a method.
        return check(name, Some(list), keys);
    }
    if matches!(name, operators::LOGICAL_AND | operators::LOGICAL_OR) {
        let other = args.iter().find(|ty| !is(ty, &["bool"]))?;
        return Some(format!("expected type 'bool' but found '{}'", described(other)));
    }
    let is_valid = match receiver {
        _ if name == "size" => {
            let sized = receiver.or(args.first());
            let is_sizeless = |ty: &Type| {
                is(ty, &SIZELESS) || matches!(ty, Type::Optional(_) | Type::Object(_) | Type::Schema(_))
            };
            sized.is_none_or(|ty| is_any(ty) || !is_sizeless(ty))
        }
        Some(receiver) => is_valid_method(name, receiver, args),
        None => is_valid_operator(name, args),
    };
    if is_valid {
        return None;
    }
    let types: Vec<_> = args.iter().map(described).collect();
    let receiver = receiver.map_or_else(String::new, |receiver| format!("{}.", described(receiver)));
    let applied = format!("{receiver}({})", types.join(", "));
    Some(format!(
        "found no matching overload for '{name}' applied to '{applied}'"
    ))
}

fn is_valid_method(name: &str, receiver: &Type, args: &[Type]) -> bool {
    match (name, receiver, args) {
        ("or", Type::Optional(_), [other]) => return is_same(receiver, other),
        ("orValue", Type::Optional(value), [other]) => return is_same(value, other),
        (macros::SORT_BY_KEYS, _, [Type::List(key)]) => return is(key, &ORDERED),
        (name, receiver, _) if LIST_METHODS.contains(&name) => {
            return is_any(receiver) || matches!(receiver, Type::List(_));
        }
        _ => {}
    }
    METHODS.iter().all(|(method, of, parameters)| {
        let fits = |(ty, parameter): (&Type, &&str)| is(ty, &[parameter]);
        *method != name
            || is(receiver, &[of]) && args.len() == parameters.len() && args.iter().zip(*parameters).all(fits)
    })
}

fn is_valid_operator(name: &str, args: &[Type]) -> bool {
    match (name, args) {
        (operators::LOGICAL_NOT, [value]) => is(value, &["bool"]),
        (operators::NEGATE, [value]) => is(value, &["int", "double"]),
        (operators::EQUALS | operators::NOT_EQUALS, [left, right]) => is_same(left, right),
        (
            operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS,
            [left, right],
        ) => {
            let are_numbers = is(left, &NUMBERS) && is(right, &NUMBERS);
            is(left, &ORDERED) && is(right, &ORDERED) && (are_numbers || is_same(left, right))
        }
        (operators::ADD, [left, right]) => {
            let of_time = [DURATION, TIMESTAMP];
            let is_sum = is_one_of_both(left, right, &["int", "uint", "double", "string", "bytes"]);
            let is_time = is(left, &of_time)
                && is(right, &of_time)
                && !(is_only(left, TIMESTAMP) && is_only(right, TIMESTAMP));
            is_sum || is_time || are_lists(left, right)
        }
        (operators::SUBSTRACT, [left, right]) => {
            let is_time = is(left, &[TIMESTAMP]) && is(right, &[DURATION, TIMESTAMP]);
            is_one_of_both(left, right, &NUMBERS)
                || is_time
                || is(left, &[DURATION]) && is(right, &[DURATION])
        }
        (operators::MULTIPLY | operators::DIVIDE, [left, right]) => is_one_of_both(left, right, &NUMBERS),
        (operators::MODULO, [left, right]) => is_one_of_both(left, right, &["int", "uint"]),
        (operators::IN, [item, collection]) => match collection {
            Type::List(of) | Type::Map(of, _) => is_same(item, of),
            other => is_any(other),
        },
        (operators::INDEX, [collection, index]) => is_valid_index(collection, index),
        (operators::CONDITIONAL, [condition, left, right]) => {
            is(condition, &["bool"]) && is_same(left, right)
        }
        _ => true,
    }
}

fn is_valid_index(collection: &Type, index: &Type) -> bool {
    match collection {
        Type::List(_) => is(index, &["int"]),
        Type::Map(key, _) => is_same(key, index),
        Type::Optional(collection) => is_valid_index(collection, index),
        other => is_any(other),
    }
}

/// True if the type may be any.
fn is_any(ty: &Type) -> bool {
    matches!(ty, Type::Dyn | Type::Any | Type::Empty | Type::Unknown)
}

/// True if the type may be one of these.
fn is(ty: &Type, names: &[&str]) -> bool {
    is_any(ty) || matches!(ty, Type::Simple(name) if names.contains(name))
}

fn is_only(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Simple(found) if *found == name)
}

/// True if both may be of the same of these types.
fn is_one_of_both(left: &Type, right: &Type, names: &[&str]) -> bool {
    is(left, names) && is(right, names) && is_same(left, right)
}

fn are_lists(left: &Type, right: &Type) -> bool {
    match (left, right) {
        (Type::List(left), Type::List(right)) => is_same(left, right),
        (Type::List(_), other) | (other, Type::List(_)) => is_any(other),
        (left, right) => is_any(left) && is_any(right),
    }
}

/// True if the types may be the same. Null is a value of messages, too.
fn is_same(left: &Type, right: &Type) -> bool {
    match (left, right) {
        (left, right) if is_any(left) || is_any(right) || left == right => true,
        // Objects of rules have types without names here.
        (Type::Schema(_), Type::Schema(_) | Type::Map(..)) | (Type::Map(..), Type::Schema(_)) => true,
        (Type::List(left), Type::List(right)) | (Type::Optional(left), Type::Optional(right)) => {
            is_same(left, right)
        }
        (Type::Map(key, value), Type::Map(other_key, other_value)) => {
            is_same(key, other_key) && is_same(value, other_value)
        }
        (Type::Simple("null_type"), other) | (other, Type::Simple("null_type")) => match other {
            Type::Simple(name) => name.contains('.'),
            other => matches!(other, Type::Object(_) | Type::Schema(_) | Type::Optional(_)),
        },
        _ => false,
    }
}

/// Returns a type as cel-go prints it in errors.
pub(super) fn described(ty: &Type) -> String {
    match ty {
        Type::Any => "any".to_owned(),
        Type::Simple("null_type") => "null".to_owned(),
        Type::Simple(TIMESTAMP) => "timestamp".to_owned(),
        Type::Simple(DURATION) => "duration".to_owned(),
        Type::List(item) => format!("list({})", described(item)),
        Type::Map(key, value) => format!("map({}, {})", described(key), described(value)),
        other => other.to_string(),
    }
}
