//! The nodes of a document, as the parser finds them.

use granit_parser::{Event, Parser, ScalarStyle, Tag};
use std::collections::HashMap;

/// Maximum nesting depth of a document: the parser reads at most 255 levels.
const MAX_DEPTH: usize = 250;
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

/// The text of a scalar, and what says how it is read.
pub(super) struct Scalar {
    pub(super) text: String,
    /// The tag without its namespace; a tag of another namespace counts as `str`.
    pub(super) tag: Option<String>,
    /// Neither quoted nor a block.
    pub(super) is_plain: bool,
}

/// The nodes of a document. The first one is the root.
#[derive(Default)]
pub(super) struct Tree(Vec<Node>);

impl Tree {
    /// Reads the first document; an empty one has no nodes. Errors are those of Go, such as `yaml: line 1: mapping values are not allowed in
    /// this context`.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let options = granit_parser::options! { emit_unresolved_aliases: true, emit_comments: false };
        let mut parser = Parser::new_from_str_with_options(text, options);
        let lines: Vec<&str> = text.lines().collect();
        let mut tree = Self::default();
        let (mut open, mut anchors) = (Vec::new(), HashMap::new());
        while let Some(event) = parser.next_event() {
            let (event, span) =
                event.map_err(|error| format!("yaml: line {}: {}", error.marker().line(), error.info()))?;
            let anchor = event.anchor_id();
            let style = event.scalar().map(|(_, style)| style);
            let content = match event {
                Event::Scalar(text, _, _, tag) => Content::Scalar(Scalar {
                    text: text.into_owned(),
                    tag: tag.as_deref().and_then(tag_name),
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
            let line = match style {
                Some(ScalarStyle::Literal | ScalarStyle::Folded) => indicator_line(&lines, span.start.line()),
                _ => span.start.line(),
            };
            if open.len() > MAX_DEPTH {
                return Err(format!("yaml: line {line}: exceeded max depth of {MAX_DEPTH}"));
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

/// Returns the line of the `|` or `>` of a block whose text starts on this line.
fn indicator_line(lines: &[&str], first: usize) -> usize {
    let above = &lines[..lines.len().min(first.saturating_sub(1))];
    let indicator = above.iter().rposition(|line| !line.trim().is_empty());
    indicator.map_or(first, |at| at + 1)
}

/// Returns the name of a tag. None for `!`, which says nothing.
fn tag_name(tag: &Tag) -> Option<String> {
    if tag.handle() == "!" && tag.suffix().is_empty() {
        return None;
    }
    let name = tag.suffix_in_namespace(TAG_NAMESPACE);
    Some(name.map_or_else(|| "str".to_owned(), std::borrow::Cow::into_owned))
}
