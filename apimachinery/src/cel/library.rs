//! The functions of expressions: which ones kube-cel has, and the types of their results.

use super::types::Type;
use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr};
use std::borrow::Cow;

/// The functions that expressions can call, by the types of their results: those of kube-cel that kube-apiserver has, too, and those of
/// [`super::authorizer`].
#[rustfmt::skip]
const FUNCTIONS: &[(&str, &[&str])] = &[
    ("bool", &[
        "allowed", "bool", "contains", "containsCIDR", "containsIP", "endsWith", "errored", "hasValue", "ip.isCanonical", "isCIDR",
        "isGlobalUnicast", "isGreaterThan", "isIP", "isInteger", "isLessThan", "isLinkLocalMulticast", "isLinkLocalUnicast", "isLoopback",
        "isQuantity", "isSemver", "isSorted", "isURL", "isUnspecified", "matches", "sets.contains", "sets.equivalent", "sets.intersects",
        "startsWith",
    ]),
    ("string", &[
        "charAt", "error", "find", "format", "getEscapedPath", "getHost", "getHostname", "getPort", "getScheme", "join", "jsonpatch.escapeKey", "lowerAscii",
        "reason", "replace", "string", "strings.quote", "substring", "trim", "upperAscii",
    ]),
    ("int", &[
        "asInteger", "compareTo", "family", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours",
        "getMilliseconds", "getMinutes", "getMonth", "getSeconds", "indexOf", "int", "lastIndexOf", "major", "minor", "patch",
        "prefixLength", "sign", "size",
    ]),
    ("uint", &["uint"]),
    ("double", &["asApproximateFloat", "double"]),
    ("bytes", &["base64.decode", "bytes"]),
    ("google.protobuf.Duration", &["duration"]),
    ("google.protobuf.Timestamp", &["timestamp"]),
    ("kubernetes.Quantity", &["add", "quantity", "sub"]),
    ("kubernetes.Semver", &["semver"]),
    ("kubernetes.URL", &["url"]),
    ("kubernetes.authorization.Decision", &["check"]),
    ("net.CIDR", &["cidr", "masked"]),
    ("net.IP", &["ip"]),
    // The types of these depend on those of their arguments, or do not matter.
    ("", &[
        "base64.encode", "distinct", "fieldSelector", "findAll", "first", "flatten", "format.named", "getQuery", "group", "labelSelector",
        "last", "lists.range", "max", "min", "name", "namespace", "optional.none", "optional.of", "optional.ofNonZeroValue", "or", "orValue",
        "path", "resource",
        "reverse", "serviceAccount", "slice", "sort", "split", "subresource", "sum", "type", "validate", "value",
    ]),
];

pub(super) fn is_operator(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// True for the functions that expressions can call, and for operators.
pub(super) fn is_known(name: &str) -> bool {
    is_operator(name)
        || FUNCTIONS.iter().any(|(_, names)| names.contains(&name))
        // The formats of strings.
        || name.starts_with("format.")
}

/// Returns the function that a call names, and its receiver. The prefix of a name such as `sets.contains` is not a receiver.
pub(super) fn qualified(call: &CallExpr) -> (Cow<'_, str>, Option<&IdedExpr>) {
    if let Some(Expr::Ident(prefix)) = call.target.as_ref().map(|target| &target.expr) {
        let qualified = format!("{prefix}.{}", call.func_name);
        if is_known(&qualified) {
            return (Cow::Owned(qualified), None);
        }
    }
    (Cow::Borrowed(&call.func_name), call.target.as_deref())
}

/// Macros that were not expanded, some only with as many arguments, and `dyn`.
const MISSING: &[&str] = &[
    "all",
    "dyn",
    "exists",
    "existsOne",
    "exists_one",
    "filter",
    "map",
    "optFlatMap",
    "optMap",
    "sortBy",
    "transformList",
    "transformMap",
    "transformMapEntry",
];

/// True for the functions of kube-apiserver.
pub(super) fn is_declared(name: &str) -> bool {
    is_known(name) || MISSING.contains(&name)
}

/// True for macros of kube-apiserver that kube-cel lacks: they bind names.
pub(super) fn is_missing_macro(name: &str, arguments: usize) -> bool {
    arguments > 1 && MISSING.contains(&name)
}

/// The type that a function returns; None if it is not known.
pub(super) fn result_type(name: &str) -> Option<Type> {
    let texts = || Type::List(Box::new(Type::Simple("string")));
    let format = Type::Simple("kubernetes.NamedFormat");
    match name {
        "split" | "findAll" => return Some(texts()),
        "lists.range" => return Some(Type::List(Box::new(Type::Simple("int")))),
        "getQuery" => return Some(Type::Map(Box::new(Type::Simple("string")), Box::new(texts()))),
        "validate" => return Some(Type::Optional(Box::new(texts()))),
        "format.named" => return Some(Type::Optional(Box::new(format))),
        name if name.starts_with("format.") => return Some(format),
        _ => {}
    }
    let mut typed = FUNCTIONS.iter().filter(|(ty, _)| !ty.is_empty());
    let (ty, _) = typed.find(|(_, names)| names.contains(&name))?;
    Some(Type::Simple(ty))
}

#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().flat_map(|(_, names)| names.iter().copied())
}
