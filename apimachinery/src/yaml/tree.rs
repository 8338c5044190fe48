//! The nodes of a document, as the parser finds them.

use granit_parser::{Event, Parser, ScalarStyle, Span, Tag};
use std::collections::HashMap;

/// Maximum nesting depth of a document, with that of its aliases: the parser reads at most 255 levels.
pub(super) const MAX_DEPTH: usize = 250;
/// Maximum number of nodes, which take more memory than their text.
const MAX_NODES: usize = 500_000;
/// The namespace of the tags that are written `!!int`.
const TAG_NAMESPACE: &str = "tag:yaml.org,2002:";
/// The tags that say how a scalar is read.
const TAGS: [&str; 6] = ["binary", "bool", "float", "int", "merge", "null"];

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
    /// One of [`TAGS`]; all others count as `str`.
    pub(super) tag: Option<&'static str>,
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
        let mut tree = Self::default();
        let (mut open, mut anchors) = (Vec::new(), HashMap::new());
        while let Some(event) = parser.next_event() {
            let (event, span) =
                event.map_err(|error| format!("yaml: line {}: {}", error.marker().line(), error.info()))?;
            let anchor = event.anchor_id();
            let block = Block::of(&event, &span, text);
            let content = match event {
                Event::Scalar(value, style, _, tag) => {
                    let mut value = value.into_owned();
                    // The parser ends the last line of a block in any case.
                    if block.is_some_and(|block| block.is_unfinished) {
                        value.pop();
                    }
                    Content::Scalar(Scalar {
                        text: value,
                        tag: tag.as_deref().map(tag_name),
                        is_plain: style == ScalarStyle::Plain,
                    })
                }
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
            let line = match span.tag_start() {
                Some(tag) => tag.line(),
                None => span
                    .start
                    .line()
                    .saturating_sub(block.map_or(0, |block| block.lines_above)),
            };
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

/// The position of a block scalar, which the parser reports only in part.
#[derive(Clone, Copy)]
struct Block {
    /// The lines between the `|` or `>` and the text, which the parser takes for the start of the block, unless it is empty.
    lines_above: usize,
    /// The text ends without a line break.
    is_unfinished: bool,
}

impl Block {
    fn of(event: &Event<'_>, span: &Span, text: &str) -> Option<Self> {
        let (value, ScalarStyle::Literal | ScalarStyle::Folded) = event.scalar()? else {
            return None;
        };
        let (before, block) = text.split_at_checked(span.start.byte_offset()?)?;
        let is_at_indicator = value.bytes().all(|byte| byte == b'\n') && block.starts_with(['|', '>']);
        let is_last = span.end.byte_offset() == Some(text.len()) && !text.ends_with(['\n', '\r']);
        let last_line = text.rsplit(['\n', '\r']).next().unwrap_or_default();
        let has_text = if is_at_indicator {
            count_breaks(block) == 1
        } else {
            last_line.len() > span.start.col()
        };
        Some(Self {
            lines_above: if is_at_indicator {
                0
            } else {
                count_breaks(&before[before.trim_end().len()..])
            },
            is_unfinished: is_last && has_text && value.ends_with('\n'),
        })
    }
}

fn count_breaks(text: &str) -> usize {
    text.matches(['\n', '\r']).count() - text.matches("\r\n").count()
}

/// Returns the name of a tag.
fn tag_name(tag: &Tag) -> &'static str {
    let name = tag.suffix_in_namespace(TAG_NAMESPACE);
    let known = TAGS.into_iter().find(|known| name.as_deref() == Some(known));
    known.unwrap_or("str")
}
