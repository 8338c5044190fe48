//! What is known of an object's shape: its fields and their types, which lists are sets or maps, what is merged and what replaced.
//!
//! [`builtin`] has the built-in kinds, generated from the published OpenAPI (`cargo xtask api-types` writes `builtin.txt`); those of a
//! custom resource come from its schema ([`crate::schema`]). Patches, apply and the check for unknown fields read nothing else, so a
//! kind is known to all of them once its type is.

mod check;
mod difference;
mod empties;
mod internal;
mod json;
mod normal;
mod parse;
mod restore;
mod scalars;
mod texts;

pub use check::{Fault, check, inconvertible};
pub use empties::Empties;
pub use internal::{difference, internal};
pub use json::{Decoded, decode, decode_typed, shorten_numbers};
pub(crate) use json::{MAX_DEPTH, depth, json_kind, length, reread};
pub use normal::{normalize, settle, zero};
pub(crate) use restore::restore;
pub use texts::text;

use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// The type of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// A value without parts.
    Scalar(Scalar),
    /// An array.
    List(Box<List>),
    /// An object.
    Map(Box<Map>),
    /// A type of the built-in table.
    Named(Named),
    /// Anything; the fields of an object have owners of their own.
    Any,
    /// Anything, owned as one value.
    Opaque,
}

/// A value without parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// `true` or `false`.
    Boolean,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// Any number.
    Double,
    /// A string.
    String,
    /// Bytes, as a string in base64.
    Bytes,
    /// A time to the second, as a string of RFC 3339; null stands for none.
    DateTime,
    /// A time to the microsecond.
    MicroTime,
    /// A quantity: a string, or a number.
    Quantity,
    /// A whole number or a string.
    IntOrString,
    /// Anything without parts.
    Untyped,
}

impl Scalar {
    /// Whether its Go type has a decoder of its own, behind which nothing is read any more when it refuses a value.
    fn reads_itself(self) -> bool {
        matches!(
            self,
            Self::DateTime | Self::MicroTime | Self::Quantity | Self::IntOrString
        )
    }
}

/// An array's type.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// The type of each item.
    pub items: Type,
    /// How items are told apart.
    pub kind: ListKind,
}

/// How the items of a list are told apart by server-side apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListKind {
    /// Not at all: the list is one value.
    Atomic,
    /// By their value.
    Set,
    /// By these fields.
    Map(Vec<Box<str>>),
}

/// An object's type.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    /// The fields that are known by name.
    pub fields: BTreeMap<Box<str>, Field>,
    /// The type of every other field; without one they are unknown fields.
    pub values: Option<Type>,
    /// Server-side apply sees the object as one value.
    pub atomic: bool,
}

/// A field of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// What it holds.
    pub ty: Type,
    /// What stands for it when it is absent. The real server writes it into most objects that it answers with.
    pub default: Option<Value>,
    /// The OpenAPI says that it must be there. The real server's decoder does not ask for it; validation may.
    pub required: bool,
    /// How a strategic merge patch treats it.
    pub patch: PatchStrategy,
    /// How the real server writes it when it is empty.
    pub empty: Empty,
    /// What Go calls its type, where that does not follow from the type.
    pub go: Option<Box<str>>,
    /// The structs of Go that the field stands in without their being seen in JSON; messages name them.
    pub within: Option<Box<str>>,
}

/// How the real server writes a field that is empty, which Go decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Empty {
    /// Go can tell a zero from a field that is absent.
    pub pointer: bool,
    /// An empty string, list or map, a zero and false are left out; objects and times are not.
    pub omitempty: bool,
    /// The same, and objects and times in which all is empty are left out, too.
    pub omitzero: bool,
}

/// How a strategic merge patch treats a field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PatchStrategy {
    /// A list is merged; else replaced.
    pub merge: bool,
    /// An object is replaced; else merged.
    pub replace: bool,
    /// Fields that a client did not name are dropped, which it asks for with a directive.
    pub retain_keys: bool,
    /// The field that tells the items of a merged list of objects apart.
    pub merge_key: Option<Box<str>>,
}

/// A reference to a type of the built-in table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its name, such as `core.v1.PodSpec`.
    pub name: Box<str>,
    /// Whether the object is one value here, when that differs from what its type says.
    pub atomic: Option<bool>,
}

impl Type {
    /// The built-in type of this name.
    pub fn named(name: &str) -> Self {
        Self::Named(Named {
            name: name.into(),
            atomic: None,
        })
    }

    /// A map from strings to values of a type.
    pub fn map_of(values: Self) -> Self {
        Self::Map(Box::new(Map {
            values: Some(values),
            ..Map::default()
        }))
    }

    /// The type that a reference stands for, and else itself. A reference that leads nowhere is [`Type::Any`].
    pub fn resolve(&self) -> &Self {
        let mut ty = self;
        while let Self::Named(named) = ty {
            ty = definition(&named.name).unwrap_or(&Self::Any);
        }
        ty
    }

    /// The type as an object's, if it is one, and whether the object is one value at this place.
    pub fn as_map(&self) -> Option<(&Map, bool)> {
        let Self::Map(map) = self.resolve() else {
            return None;
        };
        let atomic = match self {
            Self::Named(named) => named.atomic,
            _ => None,
        };
        Some((map, atomic.unwrap_or(map.atomic)))
    }

    /// The type as a list's, if it is one.
    pub fn as_list(&self) -> Option<&List> {
        match self.resolve() {
            Self::List(list) => Some(list),
            _ => None,
        }
    }
}

impl Map {
    /// The type of a field: a named one's, else that of all others.
    pub fn type_of(&self, name: &str) -> Option<&Type> {
        self.fields
            .get(name)
            .map(|field| &field.ty)
            .or(self.values.as_ref())
    }
}

struct Table {
    types: HashMap<Box<str>, Type>,
    kinds: HashMap<(Box<str>, Box<str>), Type>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| parse::table(include_str!("builtin.txt")));

/// The type of a built-in kind, such as `apps/v1` and `Deployment`, or `v1` and `Pod`.
pub fn builtin(api_version: &str, kind: &str) -> Option<&'static Type> {
    TABLE.kinds.get(&(api_version.into(), kind.into()))
}

/// The built-in type of a name, such as `core.v1.PodSpec`.
pub fn definition(name: &str) -> Option<&'static Type> {
    TABLE.types.get(name)
}

/// The built-in kinds: API version and kind, in no order.
pub fn builtin_kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.kinds.keys().map(|(version, kind)| (&**version, &**kind))
}

/// Whether a text is bytes in base64, with padding.
pub fn is_base64(text: &str) -> bool {
    scalars::base64_error(text).is_none()
}

/// Whether a text is a time of RFC 3339.
pub fn is_time(text: &str) -> bool {
    scalars::time_error(text, false).is_none()
}

/// The sum of two quantities, written as the first of them that is more than nothing.
pub fn sum(one: &str, other: &str) -> Option<String> {
    scalars::sum(one, other)
}

/// Whether a text is a quantity, such as `100m` or `1Gi`.
pub fn is_quantity(text: &str) -> bool {
    scalars::quantity_error(text).is_none()
}

#[cfg(test)]
mod tests;
