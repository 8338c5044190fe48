//! The protobuf messages of Kubernetes with their fields: `messages.txt`, which `cargo xtask api-protobuf` writes.

use std::collections::HashMap;
use std::sync::LazyLock;

/// A field of a message.
#[derive(Debug)]
pub(super) struct MessageField {
    pub(super) name: &'static str,
    pub(super) cardinality: Cardinality,
    /// The type of its values: a scalar or a message.
    pub(super) ty: &'static str,
}

/// Whether a field is singular, repeated or a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cardinality {
    Singular,
    List,
    Map,
}

type MessageTable = HashMap<&'static str, HashMap<u64, MessageField>>;

static MESSAGES: LazyLock<MessageTable> = LazyLock::new(|| {
    let mut messages: MessageTable = HashMap::new();
    let mut name = "";
    for line in include_str!("messages.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let Some(field) = line.strip_prefix(' ') else {
            name = line;
            messages.insert(name, HashMap::new());
            continue;
        };
        let mut words = field.split(' ');
        let (Some(number), Some(field), Some(ty)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let (cardinality, ty) = match (ty.strip_prefix("[]"), ty.strip_prefix("{}")) {
            (Some(items), _) => (Cardinality::List, items),
            (_, Some(values)) => (Cardinality::Map, values),
            _ => (Cardinality::Singular, ty),
        };
        if let (Ok(number), Some(fields)) = (number.parse(), messages.get_mut(name)) {
            fields.insert(
                number,
                MessageField {
                    name: field,
                    cardinality,
                    ty,
                },
            );
        }
    }
    messages
});

/// Returns the fields of a message by field number; `None` if the message is unknown.
pub(super) fn fields(message: &str) -> Option<&'static HashMap<u64, MessageField>> {
    MESSAGES.get(message)
}
