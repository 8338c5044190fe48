//! Decodes the nodes of a document to JSON, with the rules and limits of Go's library.

use super::scalar::ScalarValue;
use super::tree::{Content, MAX_DEPTH, NodeId, Tree};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// The share of aliases is limited from so many decoded nodes on, and so many of them in aliases.
const MIN_DECODED: u32 = 1000;
const MIN_ALIASED: u32 = 100;
/// The numbers of decoded nodes between which the limit falls, and the limits at both.
const ALIAS_RATIO_RANGE: (f64, f64) = (400_000.0, 4_000_000.0);
const MAX_ALIAS_RATIOS: (f64, f64) = (0.99, 0.10);
/// The maximum size of all texts in aliases, more than any object may have. Go has no such limit: its copies of a text share memory.
const MAX_ALIASED_BYTES: usize = 8 << 20;
const EXCESSIVE_ALIASING: &str = "yaml: document contains excessive aliasing";

/// Decodes nodes.
pub(super) struct Decoder<'t> {
    tree: &'t Tree,
    /// Errors of repeated keys. Those inside a value come before that of its key.
    pub(super) strict_errors: Vec<String>,
    /// The aliases that are being expanded.
    aliases: HashSet<NodeId>,
    depth: usize,
    decoded: u32,
    aliased: u32,
    aliased_bytes: usize,
}

/// A mapping that is being decoded, and the keys that it has.
#[derive(Default)]
struct Mapping {
    fields: Map<String, Value>,
    seen: HashSet<(&'static str, String)>,
}

impl<'t> Decoder<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self {
            tree,
            strict_errors: Vec::new(),
            aliases: HashSet::new(),
            depth: 0,
            decoded: 0,
            aliased: 0,
            aliased_bytes: 0,
        }
    }

    /// Decodes a node. Of repeated keys, the last one wins.
    pub(super) fn value(&mut self, id: NodeId) -> Result<Value, String> {
        self.enter(id, |decoder| match &decoder.tree.node(id).content {
            Content::Scalar(scalar) => ScalarValue::of(scalar)?.into_json(),
            Content::Sequence(items) => items.iter().map(|item| decoder.value(*item)).collect(),
            Content::Mapping(_) => {
                let mut mapping = Mapping::default();
                decoder.add_fields(id, &mut mapping)?;
                Ok(mapping.fields.into())
            }
            Content::Alias { name, target } => decoder.expand(id, name, |decoder| decoder.value(*target)),
        })
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
            if key
                .identity()
                .is_some_and(|identity| !mapping.seen.insert(identity))
            {
                let line = self.tree.node(field[1]).line;
                let error = format!("line {line}: key {} already set in map", key.shown());
                self.count_text(&error);
                self.strict_errors.push(error);
            }
            mapping.fields.insert(key.into_key(&value)?, value);
        }
        Ok(())
    }

    fn key(&mut self, id: NodeId) -> Result<ScalarValue, String> {
        self.enter(id, |decoder| match &decoder.tree.node(id).content {
            Content::Scalar(scalar) => ScalarValue::of(scalar),
            Content::Alias { name, target } => decoder.expand(id, name, |decoder| decoder.key(*target)),
            Content::Sequence(_) | Content::Mapping(_) => {
                Err(format!("yaml: invalid map key: {}", decoder.value(id)?))
            }
        })
    }

    /// Adds the fields of the mapping, or the mappings, that a merge key has as its value. Of several, the first ones win.
    fn merge(&mut self, id: NodeId, mapping: &mut Mapping) -> Result<(), String> {
        match &self.tree.node(id).content {
            Content::Sequence(items) => items
                .iter()
                .rev()
                .try_for_each(|item| self.merge_one(*item, mapping)),
            _ => self.merge_one(id, mapping),
        }
    }

    fn merge_one(&mut self, id: NodeId, mapping: &mut Mapping) -> Result<(), String> {
        self.enter(id, |decoder| match &decoder.tree.node(id).content {
            Content::Alias { name, target } => {
                decoder.expand(id, name, |decoder| decoder.add_fields(*target, mapping))
            }
            _ => decoder.add_fields(id, mapping),
        })
    }

    fn is_merge(&self, id: NodeId) -> bool {
        matches!(&self.tree.node(id).content, Content::Scalar(scalar)
            if scalar.text == "<<" && scalar.tag.map_or(scalar.is_plain, |tag| tag == "merge"))
    }

    /// Decodes the target of an alias.
    fn expand<T>(
        &mut self,
        alias: NodeId,
        name: &str,
        decode: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        if !self.aliases.insert(alias) {
            return Err(format!("yaml: anchor '{name}' value contains itself"));
        }
        let decoded = decode(self);
        self.aliases.remove(&alias);
        decoded
    }

    /// Decodes a node. Refuses one that is nested too deeply, and a document that consists of aliases for the most part.
    fn enter<T>(
        &mut self,
        id: NodeId,
        decode: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        self.count(id)?;
        if self.depth > MAX_DEPTH {
            return Err(format!("yaml: exceeded max depth of {MAX_DEPTH}"));
        }
        self.depth += 1;
        let decoded = decode(self);
        self.depth -= 1;
        decoded
    }

    fn count_text(&mut self, text: &str) {
        if !self.aliases.is_empty() {
            self.aliased_bytes += text.len();
        }
    }

    fn count(&mut self, id: NodeId) -> Result<(), String> {
        self.decoded += 1;
        self.aliased += u32::from(!self.aliases.is_empty());
        if let Content::Scalar(scalar) = &self.tree.node(id).content {
            self.count_text(&scalar.text);
        }
        let (decoded, aliased) = (f64::from(self.decoded), f64::from(self.aliased));
        let (from, to) = ALIAS_RATIO_RANGE;
        let progress = ((decoded - from) / (to - from)).clamp(0.0, 1.0);
        let max_ratio = MAX_ALIAS_RATIOS.0 + (MAX_ALIAS_RATIOS.1 - MAX_ALIAS_RATIOS.0) * progress;
        let has_many = self.aliased > MIN_ALIASED && self.decoded > MIN_DECODED;
        if has_many && aliased / decoded > max_ratio || self.aliased_bytes > MAX_ALIASED_BYTES {
            return Err(EXCESSIVE_ALIASING.to_owned());
        }
        Ok(())
    }
}
