//! The types of values in expressions.

use super::overloads::SIZELESS;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// The type of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// Known when the expression is evaluated, as for kube-apiserver.
    Dyn,
    /// As [`Type::Dyn`], for kube-apiserver under another name: an attribute of a device.
    Any,
    /// A type without parameters, by its name.
    Simple(&'static str),
    /// An object with fields: the path of its fields in [`super::fields`].
    Object(&'static str),
    /// An object that a mutation constructs, by the name of its type.
    Constructed(Arc<str>),
    /// An object with the fields of a schema.
    Schema(Arc<Value>),
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    /// A value that may be missing.
    Optional(Box<Type>),
    /// The type of the items of an empty list.
    Empty,
    /// Not known here: any type may be right.
    Unknown,
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn | Self::Empty | Self::Unknown => formatter.write_str("dyn"),
            Self::Any => formatter.write_str("google.protobuf.Any"),
            Self::Simple(name) | Self::Object(name) => formatter.write_str(name),
            Self::Constructed(name) => formatter.write_str(name),
            Self::Schema(_) => formatter.write_str("object"),
            Self::List(item) => write!(formatter, "list({item})"),
            Self::Map(key, value) => write!(formatter, "map({key}, {value})"),
            Self::Optional(value) => write!(formatter, "optional_type({value})"),
        }
    }
}

impl Type {
    /// True for types whose values have fields or keys.
    pub(super) fn has_fields(&self) -> bool {
        matches!(
            self,
            Self::Constructed(_) | Self::Map(..) | Self::Object(_) | Self::Schema(_)
        )
    }

    /// True for types whose values all have the same size.
    pub(super) fn is_scalar(&self) -> bool {
        match self {
            Self::Simple(name) => SIZELESS.contains(name) && *name != "null_type",
            Self::Optional(value) => value.is_scalar(),
            _ => false,
        }
    }

    /// The type of the items of a list, and of the values of a map.
    pub(super) fn entry(self) -> Self {
        match self {
            Self::Dyn | Self::Any => Self::Dyn,
            Self::List(item) => *item,
            Self::Map(_, value) => *value,
            Self::Optional(entries) => entries.entry().optional(),
            _ => Self::Unknown,
        }
    }

    /// Whether a value of this type may be given where the other one is expected, as far as it is known here.
    pub(super) fn is_assignable_to(&self, expected: &Self) -> bool {
        let is_open = |ty: &Self| matches!(ty, Self::Dyn | Self::Any | Self::Unknown | Self::Empty);
        is_open(self) || is_open(expected) || self == expected
    }

    /// The type of a value that may be missing; an optional type stays as it is.
    pub(super) fn optional(self) -> Self {
        match self {
            Self::Optional(_) => self,
            other => Self::Optional(Box::new(other)),
        }
    }
}
