//! The table of built-in types: look-ups by kind and by name, and the types that references name.

use std::sync::LazyLock;

use crate::parse::{BuiltinTypes, parse_table};
use crate::types::{List, Map, Type};

static BUILTIN_TYPES: LazyLock<BuiltinTypes> = LazyLock::new(|| parse_table(include_str!("builtin.txt")));

/// Returns the type of a built-in kind, such as `apps/v1` and `Deployment`, or `v1` and `Pod`.
pub fn builtin(api_version: &str, kind: &str) -> Option<&'static Type> {
    BUILTIN_TYPES.kinds.get(&(api_version.into(), kind.into()))
}

/// Returns the built-in type of a name, such as `core.v1.PodSpec`.
pub fn definition(name: &str) -> Option<&'static Type> {
    BUILTIN_TYPES.types.get(name)
}

/// Lists the built-in types of objects with their names, in no particular order.
pub fn object_types() -> impl Iterator<Item = (&'static str, &'static Map)> {
    BUILTIN_TYPES.types.iter().filter_map(|(name, ty)| match ty {
        Type::Map(map) => Some((&**name, &**map)),
        _ => None,
    })
}

/// Lists the built-in kinds as (API version, kind), in no particular order.
pub fn builtin_kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILTIN_TYPES
        .kinds
        .keys()
        .map(|(version, kind)| (&**version, &**kind))
}

/// Lists the kinds of a built-in type as (group, version, kind).
pub fn kinds_of_type(name: &str) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let kinds = BUILTIN_TYPES.kinds.iter();
    let of_type = kinds.filter(move |(_, ty)| matches!(ty, Type::Named(named) if *named.name == *name));
    of_type.map(|((api_version, kind), _)| {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", &**api_version));
        (group, version, &**kind)
    })
}

impl Type {
    /// Resolves a reference to the type that it names; other types resolve to themselves. An unknown name resolves to [`Type::Any`].
    pub fn resolve(&self) -> &Self {
        let mut ty = self;
        while let Self::Named(named) = ty {
            ty = definition(&named.name).unwrap_or(&Self::Any);
        }
        ty
    }

    /// Returns the object type and whether it is atomic here, or `None` if this is not an object type.
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

    /// Returns the list type, or `None` if this is not a list type.
    pub fn as_list(&self) -> Option<&List> {
        match self.resolve() {
            Self::List(list) => Some(list),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
