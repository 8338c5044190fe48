//! The keys that a mapping has more than once.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use std::collections::HashSet;
use std::fmt;

/// Go's errors about the repeated keys below a node, such as `line 2: key "a" already set in map`: those of a value before its own key's. The
/// line is that where the repeated value starts; Go's is that of the `|` before a block.
#[derive(Default)]
pub(super) struct RepeatedKeys(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for RepeatedKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = RepeatedKeys;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a node")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RepeatedKeys, A::Error> {
        let mut keys = HashSet::new();
        let mut errors = vec![];
        while let Some((key, value)) = map.next_entry::<String, Spanned<RepeatedKeys>>()? {
            let line = value.referenced.line();
            errors.extend(value.value.0);
            if let Some(key) = keys.replace(key) {
                errors.push(format!("line {line}: key {key:?} already set in map"));
            }
        }
        Ok(RepeatedKeys(errors))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<RepeatedKeys, A::Error> {
        let mut errors = vec![];
        while let Some(item) = items.next_element::<RepeatedKeys>()? {
            errors.extend(item.0);
        }
        Ok(RepeatedKeys(errors))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<RepeatedKeys, D::Error> {
        RepeatedKeys::deserialize(deserializer)
    }

    // Scalars have no keys.
    fn visit_bool<E>(self, _: bool) -> Result<RepeatedKeys, E> {
        Ok(RepeatedKeys::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<RepeatedKeys, E> {
        Ok(RepeatedKeys::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<RepeatedKeys, E> {
        Ok(RepeatedKeys::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<RepeatedKeys, E> {
        Ok(RepeatedKeys::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<RepeatedKeys, E> {
        Ok(RepeatedKeys::default())
    }

    fn visit_unit<E>(self) -> Result<RepeatedKeys, E> {
        Ok(RepeatedKeys::default())
    }

    fn visit_none<E>(self) -> Result<RepeatedKeys, E> {
        Ok(RepeatedKeys::default())
    }
}
