//! Documents with the lines of their values.

use std::{collections::BTreeMap, fmt, panic::resume_unwind, thread};

use serde::{
    Deserialize,
    de::{Deserializer, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use super::YamlError;

/// A document of a YAML text.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The content.
    pub value: Value,
    /// The line of each value, by its path.
    lines: BTreeMap<String, u64>,
}

impl Document {
    /// Returns the line of the value at a path such as `spec.ports[0].name`, or of the nearest value around it that exists.
    pub fn line(&self, path: &str) -> u64 {
        let mut path = path;
        loop {
            if let Some(line) = self.lines.get(path) {
                return *line;
            }
            path = path.rfind(['.', '[']).map_or("", |end| &path[..end]);
            if path.is_empty() {
                return self.lines.get("").copied().unwrap_or(1);
            }
        }
    }
}

/// Nested lists and maps of a document. Schemas of other projects are deeper than the parser's default of 64; each of their levels is two here.
pub(super) const MAX_DEPTH: usize = 250;

/// Stack of the parser, which recurses. A level takes up to 32 KiB in a debug build; threads have 2 MiB.
const STACK_BYTES: usize = 32 << 20;

/// Parses all documents of a text; empty ones are left out.
pub fn documents(text: &str) -> Result<Vec<Document>, YamlError> {
    thread::scope(|scope| {
        let parser = thread::Builder::new().stack_size(STACK_BYTES);
        match parser.spawn_scoped(scope, || parse(text)) {
            Ok(parser) => parser.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // The system has no more threads.
            Err(_) => parse(text),
        }
    })
}

fn parse(text: &str) -> Result<Vec<Document>, YamlError> {
    let options = serde_saphyr::options! { budget: serde_saphyr::budget! { max_depth: MAX_DEPTH } };
    let parsed: Vec<Spanned<Node>> =
        serde_saphyr::from_multiple_with_options(text, options).map_err(Box::new)?;
    let documents = parsed.into_iter().map(|root| {
        let mut lines = BTreeMap::new();
        let value = collect(root, "", &mut lines);
        Document { value, lines }
    });
    Ok(documents.filter(|document| !document.value.is_null()).collect())
}

/// Converts a node to its value, and records the lines of all values in it. The line of a value in a map is that of its key.
fn collect(node: Spanned<Node>, path: &str, lines: &mut BTreeMap<String, u64>) -> Value {
    lines.entry(path.to_owned()).or_insert(node.referenced.line());
    match node.value {
        Node::Scalar(value) => value,
        Node::List(items) => items
            .into_iter()
            .enumerate()
            .map(|(index, item)| collect(item, &format!("{path}[{index}]"), lines))
            .collect(),
        Node::Map(entries) => {
            let mut map = Map::new();
            for (key, item) in entries {
                let below = if path.is_empty() {
                    key.value.clone()
                } else {
                    format!("{path}.{}", key.value)
                };
                lines.insert(below.clone(), key.referenced.line());
                map.insert(key.value, collect(item, &below, lines));
            }
            Value::Object(map)
        }
    }
}

enum Node {
    Scalar(Value),
    List(Vec<Spanned<Node>>),
    Map(Vec<(Spanned<String>, Spanned<Node>)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Node::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str = "# A comment.\n\nkind: Foo\nspec:\n  size: 1\n  ports:\n    - name: a\n      number: 80\n    - name: b\n---\n# empty\n---\n\
                        a: {b: [1, yes, 2.5, ~, \"1\"]}\n";

    #[test]
    fn values_have_their_lines() {
        let documents = documents(TEXT).unwrap();
        let [first, second] = &documents[..] else {
            panic!("{documents:?}")
        };
        for (path, line) in [
            ("kind", 3),
            ("spec", 4),
            ("spec.size", 5),
            ("spec.ports", 6),
            ("spec.ports[0].number", 8),
            ("spec.ports[1].name", 9),
            ("spec.ports[1].number", 9),
            ("spec.missing", 4),
            ("metadata.name", 3),
        ] {
            assert_eq!(first.line(path), line, "{path}");
        }
        assert_eq!(second.line("a.b[2]"), 13);
        assert_eq!(second.value, json!({"a": {"b": [1, true, 2.5, null, "1"]}}));
    }
}
