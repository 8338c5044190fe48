//! The nodes of a document, as the parser finds them.

use granit_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use std::borrow::Cow;
use std::collections::HashMap;

/// Maximum nesting depth of a document, with that of its aliases: the parser reads at most 255 levels.
pub(super) const MAX_DEPTH: usize = 250;
/// Maximum number of nodes, which take more memory than their text.
const MAX_NODES: usize = 500_000;
/// The namespace of the tags that are written `!!int`.
const TAG_NAMESPACE: &str = "tag:yaml.org,2002:";

/// The position of a node in its tree.
pub(super) type NodeId = usize;

/// A node and where it starts.
pub(super) struct Node {
    /// The line, from 1.
    pub(super) line: usize,
    pub(super) content: Content,
}

pub(super) enum Content {
    Scalar(Scalar),
    Sequence(Vec<NodeId>),
    /// Keys and values in turn.
    Mapping(Vec<NodeId>),
    /// A reference to an earlier node.
    Alias {
        name: String,
        target: NodeId,
    },
}

/// A scalar: its text, its tag, and its style.
pub(super) struct Scalar {
    pub(super) text: String,
    /// The tag without its namespace. A tag of another namespace, or `!`, counts as `str`.
    pub(super) tag: Option<String>,
    /// Neither quoted nor a block.
    pub(super) is_plain: bool,
}

/// The nodes of a document. The first one is the root.
#[derive(Default)]
pub(super) struct Tree(Vec<Node>);

impl Tree {
    /// Reads the first document; an empty one has no nodes.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let options = granit_parser::options! { emit_unresolved_aliases: true, emit_anchor_events: true, emit_comments: false };
        let mut parser = Parser::new_from_str_with_options(text, options);
        let is_unfinished = !text.ends_with(['\n', '\r']);
        let mut tree = Self::default();
        let (mut open, mut anchors) = (Vec::new(), HashMap::new());
        while let Some(event) = parser.next_event() {
            let (event, span) =
                event.map_err(|error| format!("yaml: line {}: {}", error.marker().line(), error.info()))?;
            let anchor = event.anchor_id();
            let style = event.scalar().map(|(_, style)| style);
            let is_block = matches!(style, Some(ScalarStyle::Literal | ScalarStyle::Folded));
            let content = match event {
                Event::Scalar(value, _, _, tag) => Content::Scalar(Scalar {
                    text: match value.strip_suffix('\n') {
                        // The parser ends the last line of a block in any case.
                        Some(line)
                            if is_block && is_unfinished && span.end.byte_offset() == Some(text.len()) =>
                        {
                            line.to_owned()
                        }
                        _ => value.into_owned(),
                    },
                    tag: tag.as_deref().map(tag_name),
                    is_plain: style == Some(ScalarStyle::Plain),
                }),
                Event::SequenceStart(..) => Content::Sequence(Vec::new()),
                Event::MappingStart(..) => Content::Mapping(Vec::new()),
                Event::Alias(anchor) => Content::Alias {
                    name: span
                        .slice(text)
                        .unwrap_or_default()
                        .trim_start_matches('*')
                        .to_owned(),
                    // The parser names only anchors that it has sent.
                    target: anchors.get(&anchor).copied().unwrap_or_default(),
                },
                Event::UnresolvedAlias(name) => {
                    return Err(format!("yaml: unknown anchor '{name}' referenced"));
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    open.pop();
                    continue;
                }
                // A node starts with its anchor.
                Event::Anchor(anchor, _) => {
                    if let Some(node) = anchors.get(&anchor).and_then(|id: &NodeId| tree.0.get_mut(*id)) {
                        node.line = node.line.min(span.start.line());
                    }
                    continue;
                }
                Event::DocumentEnd => break,
                _ => continue,
            };
            let id = tree.0.len();
            if let Some(parent) = open.last() {
                tree.add_child(*parent, id);
            }
            if let Some(anchor) = anchor {
                anchors.insert(anchor, id);
            }
            if matches!(content, Content::Sequence(_) | Content::Mapping(_)) {
                open.push(id);
            }
            let start = span.tag_start().unwrap_or(span.start);
            let line = start.line() - if is_block { breaks_before(text, &start) } else { 0 };
            if open.len() > MAX_DEPTH {
                return Err(format!("yaml: line {line}: exceeded max depth of {MAX_DEPTH}"));
            }
            if id == MAX_NODES {
                return Err(format!("yaml: line {line}: more than {MAX_NODES} values"));
            }
            tree.0.push(Node { line, content });
        }
        Ok(tree)
    }

    pub(super) fn root(&self) -> Option<NodeId> {
        (!self.0.is_empty()).then_some(0)
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.0[id]
    }

    fn add_child(&mut self, parent: NodeId, child: NodeId) {
        if let Content::Sequence(children) | Content::Mapping(children) = &mut self.0[parent].content {
            children.push(child);
        }
    }
}

/// Counts the line breaks between the `|` or `>` of a block and its text, which the parser takes for its start.
fn breaks_before(text: &str, start: &Marker) -> usize {
    let before = text
        .get(..start.byte_offset().unwrap_or_default())
        .unwrap_or_default();
    let blank = &before[before.trim_end().len()..];
    let breaks = blank.matches(['\n', '\r']).count() - blank.matches("\r\n").count();
    breaks.min(start.line())
}

/// Returns the name of a tag.
fn tag_name(tag: &Tag) -> String {
    let name = tag.suffix_in_namespace(TAG_NAMESPACE);
    name.map_or_else(|| "str".to_owned(), Cow::into_owned)
}
