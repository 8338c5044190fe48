//! Decodes the nodes of a document to JSON, with the errors of Go's library.

use super::scalar::ScalarValue;
use super::tree::{Content, NodeId, Tree};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// From so many nodes on, and so many of them in aliases, the share of those in aliases is limited.
const MIN_DECODED: u32 = 1000;
const MIN_ALIASED: u32 = 100;
/// The numbers of nodes between which the limit falls, and the limits at both.
const LIMIT_FALLS: (f64, f64) = (400_000.0, 4_000_000.0);
const LIMITS: (f64, f64) = (0.99, 0.10);

/// Decodes nodes.
pub(super) struct Decoder<'t> {
    tree: &'t Tree,
    /// The errors of repeated keys: those of a value before its own key.
    pub(super) strict_errors: Vec<String>,
    /// The aliases that lead to the present node.
    aliases: HashSet<NodeId>,
    decoded: u32,
    aliased: u32,
}

/// A mapping that is being decoded, and the keys that it has.
#[derive(Default)]
struct Mapping {
    fields: Map<String, Value>,
    seen: HashSet<String>,
}

impl<'t> Decoder<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self {
            tree,
            strict_errors: Vec::new(),
            aliases: HashSet::new(),
            decoded: 0,
            aliased: 0,
        }
    }

    /// Decodes a node. Of repeated keys, the last one wins.
    pub(super) fn value(&mut self, id: NodeId) -> Result<Value, String> {
        self.count()?;
        match &self.tree.node(id).content {
            Content::Scalar(scalar) => ScalarValue::of(scalar)?.into_json(),
            Content::Sequence(items) => items.iter().map(|item| self.value(*item)).collect(),
            Content::Mapping(_) => {
                let mut mapping = Mapping::default();
                self.add_fields(id, &mut mapping)?;
                Ok(mapping.fields.into())
            }
            Content::Alias { .. } => self.follow(id, Self::value),
        }
    }

    /// Adds the fields of a mapping's node to a mapping.
    fn add_fields(&mut self, id: NodeId, mapping: &mut Mapping) -> Result<(), String> {
        let Content::Mapping(children) = &self.tree.node(id).content else {
            return Err("yaml: map merge requires map or sequence of maps as the value".to_owned());
        };
        for field in children.chunks_exact(2) {
            if self.is_merge(field[0]) {
                self.merge(field[1], mapping)?;
                continue;
            }
            let key = self.key(field[0])?;
            let value = self.value(field[1])?;
            let shown = key.shown();
            if mapping.seen.contains(&shown) {
                let line = self.tree.node(field[1]).line;
                self.strict_errors
                    .push(format!("line {line}: key {shown} already set in map"));
            }
            mapping.seen.insert(shown);
            mapping.fields.insert(key.into_key(&value)?, value);
        }
        Ok(())
    }

    fn key(&mut self, id: NodeId) -> Result<ScalarValue, String> {
        self.count()?;
        match &self.tree.node(id).content {
            Content::Scalar(scalar) => ScalarValue::of(scalar),
            Content::Alias { .. } => self.follow(id, Self::key),
            Content::Sequence(_) | Content::Mapping(_) => {
                Err(format!("yaml: invalid map key: {}", self.value(id)?))
            }
        }
    }

    /// Adds the fields of the mappings that a merge key has as its value. Of several, the first ones win.
    fn merge(&mut self, id: NodeId, mapping: &mut Mapping) -> Result<(), String> {
        self.count()?;
        match &self.tree.node(id).content {
            Content::Sequence(items) => items.iter().rev().try_for_each(|item| self.merge(*item, mapping)),
            Content::Alias { .. } => self.follow(id, |decoder, target| decoder.add_fields(target, mapping)),
            _ => self.add_fields(id, mapping),
        }
    }

    fn is_merge(&self, id: NodeId) -> bool {
        matches!(&self.tree.node(id).content, Content::Scalar(scalar)
            if scalar.text == "<<" && scalar.tag.as_deref().map_or(scalar.is_plain, |tag| tag == "merge"))
    }

    /// Decodes the target of an alias.
    fn follow<T>(
        &mut self,
        alias: NodeId,
        decode: impl FnOnce(&mut Self, NodeId) -> Result<T, String>,
    ) -> Result<T, String> {
        let Content::Alias { name, target } = &self.tree.node(alias).content else {
            return decode(self, alias);
        };
        if !self.aliases.insert(alias) {
            return Err(format!("yaml: anchor '{name}' value contains itself"));
        }
        let decoded = decode(self, *target);
        self.aliases.remove(&alias);
        decoded
    }

    /// Counts a node, and refuses a document that consists of aliases for the most part.
    fn count(&mut self) -> Result<(), String> {
        self.decoded += 1;
        self.aliased += u32::from(!self.aliases.is_empty());
        let (decoded, aliased) = (f64::from(self.decoded), f64::from(self.aliased));
        let progress = ((decoded - LIMIT_FALLS.0) / (LIMIT_FALLS.1 - LIMIT_FALLS.0)).clamp(0.0, 1.0);
        let limit = LIMITS.0 + (LIMITS.1 - LIMITS.0) * progress;
        if self.aliased > MIN_ALIASED && self.decoded > MIN_DECODED && aliased / decoded > limit {
            return Err("yaml: document contains excessive aliasing".to_owned());
        }
        Ok(())
    }
}
