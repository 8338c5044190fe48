//! The types of values in expressions.

use serde_json::Value;
use std::fmt;
use std::sync::Arc;

pub(super) const DURATION: &str = "google.protobuf.Duration";
pub(super) const TIMESTAMP: &str = "google.protobuf.Timestamp";

/// The type of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// Known when the expression is evaluated, as for kube-apiserver.
    Dyn,
    /// As [`Type::Dyn`], for kube-apiserver under another name: an attribute of a device.
    Any,
    /// The type of what is invalid: nothing more is reported about it.
    Error,
    /// A type that the rest of the expression decides, such as that of the items of an empty list; a parameter of an overload.
    Variable(usize),
    /// A type without parameters and fields, by its name.
    Simple(&'static str),
    /// An object with fields: the path of its fields in [`super::fields`].
    Object(&'static str),
    /// An object that a mutation constructs, by the name of its type.
    Constructed(Arc<str>),
    /// An object with the fields of a schema.
    Schema(Arc<SchemaObject>),
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    /// A value that may be missing.
    Optional(Box<Type>),
    /// The type of a type.
    Meta(Box<Type>),
}

/// An object with the fields of a schema. Those of two places in a schema are of different types.
#[derive(Debug)]
pub(crate) struct SchemaObject {
    /// The path of its schema below that of the rule.
    pub(super) path: String,
    pub(super) schema: Value,
}

impl PartialEq for SchemaObject {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn | Self::Variable(_) => formatter.write_str("dyn"),
            Self::Any => formatter.write_str("google.protobuf.Any"),
            Self::Error => formatter.write_str("*error*"),
            Self::Simple(name) | Self::Object(name) => formatter.write_str(name),
            Self::Constructed(name) => formatter.write_str(name),
            Self::Schema(object) => formatter.write_str(&object.path),
            Self::List(item) => write!(formatter, "list({item})"),
            Self::Map(key, value) => write!(formatter, "map({key}, {value})"),
            Self::Optional(value) => write!(formatter, "optional_type({value})"),
            Self::Meta(ty) => write!(formatter, "type({ty})"),
        }
    }
}

impl Type {
    pub(super) fn list(item: Self) -> Self {
        Self::List(Box::new(item))
    }

    pub(super) fn map(key: Self, value: Self) -> Self {
        Self::Map(Box::new(key), Box::new(value))
    }

    /// Returns the type as cel-go prints it in errors.
    pub(super) fn described(&self) -> String {
        match self {
            Self::Any => "any".to_owned(),
            Self::Error => "!error!".to_owned(),
            Self::Variable(number) => format!("_var{number}"),
            Self::Simple("null_type") => "null".to_owned(),
            Self::Simple(TIMESTAMP) => "timestamp".to_owned(),
            Self::Simple(DURATION) => "duration".to_owned(),
            Self::List(item) => format!("list({})", item.described()),
            Self::Map(key, value) => format!("map({}, {})", key.described(), value.described()),
            Self::Optional(value) => format!("optional_type({})", value.described()),
            Self::Meta(ty) => format!("type({})", ty.described()),
            other => other.to_string(),
        }
    }

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
            Self::Simple("bool" | "int" | "uint" | "double" | DURATION | TIMESTAMP) => true,
            Self::Optional(value) => value.is_scalar(),
            _ => false,
        }
    }

    /// True if only the evaluation shows the type.
    pub(super) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn | Self::Any)
    }

    /// True for the types of messages, of which null is a value, too.
    pub(super) fn is_nullable(&self) -> bool {
        match self {
            Self::Simple(name) => *name == "null_type" || name.contains('.'),
            other => matches!(
                other,
                Self::Any | Self::Constructed(_) | Self::Object(_) | Self::Optional(_) | Self::Schema(_)
            ),
        }
    }

    /// Returns the type with what the function returns for the numbers of variables in place of these.
    pub(super) fn replace_variables(&self, replacement: &dyn Fn(usize) -> Self) -> Self {
        let boxed = |ty: &Self| Box::new(ty.replace_variables(replacement));
        match self {
            Self::Variable(number) => replacement(*number),
            Self::List(item) => Self::List(boxed(item)),
            Self::Map(key, value) => Self::Map(boxed(key), boxed(value)),
            Self::Optional(value) => Self::Optional(boxed(value)),
            Self::Meta(ty) => Self::Meta(boxed(ty)),
            other => other.clone(),
        }
    }

    /// Returns the types that this one is made of.
    pub(super) fn parameters(&self) -> Vec<&Self> {
        match self {
            Self::List(ty) | Self::Optional(ty) | Self::Meta(ty) => vec![ty],
            Self::Map(key, value) => vec![key, value],
            _ => vec![],
        }
    }
}
