//! The protobuf messages of Kubernetes with their fields: `messages.txt`, which `cargo xtask api-protobuf` writes.

use std::collections::HashMap;
use std::sync::LazyLock;

/// A message.
#[derive(Debug, Default)]
pub(super) struct Message {
    /// Whether objects of this type are sent: they have a kind and an API version.
    pub(super) is_kind: bool,
    /// Whether its JSON is the list of its only field, `items`.
    pub(super) is_list: bool,
    /// The fields in the order of their numbers.
    pub(super) fields: Vec<MessageField>,
}

/// A field of a message.
#[derive(Debug)]
pub(super) struct MessageField {
    pub(super) number: u64,
    /// The name in JSON.
    pub(super) name: &'static str,
    pub(super) cardinality: Cardinality,
    /// The type of its values: a scalar or a message.
    pub(super) ty: &'static str,
    /// Whether Go distinguishes absent from zero. Otherwise the field is always encoded.
    pub(super) is_pointer: bool,
}

impl MessageField {
    /// Whether the fields of its message are in JSON fields of the outer object.
    pub(super) fn is_inline(&self) -> bool {
        self.name == "-"
    }
}

/// Whether a field is singular, repeated or a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cardinality {
    Singular,
    List,
    Map,
}

static MESSAGES: LazyLock<HashMap<&'static str, Message>> = LazyLock::new(|| {
    let mut messages: HashMap<&str, Message> = HashMap::new();
    let mut name = "";
    for line in include_str!("messages.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        if let Some(field) = line.strip_prefix(' ') {
            let field = parse_field(field);
            if let (Some(field), Some(message)) = (field, messages.get_mut(name)) {
                message.fields.push(field);
            }
            continue;
        }
        let (message, mark) = line.split_once(' ').unwrap_or((line, ""));
        name = message;
        let message = Message {
            is_kind: mark == "kind",
            is_list: mark == "list",
            fields: vec![],
        };
        messages.insert(name, message);
    }
    messages
});

fn parse_field(line: &'static str) -> Option<MessageField> {
    let mut words = line.split(' ');
    let (number, name, ty) = (words.next()?, words.next()?, words.next()?);
    let (cardinality, ty) = match (ty.strip_prefix("[]"), ty.strip_prefix("{}")) {
        (Some(items), _) => (Cardinality::List, items),
        (_, Some(values)) => (Cardinality::Map, values),
        _ => (Cardinality::Singular, ty),
    };
    Some(MessageField {
        number: number.parse().ok()?,
        name,
        cardinality,
        ty: ty.trim_start_matches('*'),
        is_pointer: ty.starts_with('*'),
    })
}

/// Returns a message by its name; `None` if it is unknown.
pub(super) fn message(name: &str) -> Option<&'static Message> {
    MESSAGES.get(name)
}

/// Returns the name of the message of a kind. The kinds of the group `meta` belong to every version.
pub(super) fn kind(version: &str, kind: &str) -> Option<&'static str> {
    let (group, version) = version.split_once('/').unwrap_or(("core", version));
    let package = group.split('.').next().unwrap_or_default();
    let names = [format!("{package}.{version}.{kind}"), format!("meta.v1.{kind}")];
    let mut found = names
        .iter()
        .filter_map(|name| MESSAGES.get_key_value(name.as_str()));
    found.find(|(_, message)| message.is_kind).map(|(name, _)| *name)
}

/// Returns the names of all kinds.
#[cfg(test)]
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    let kinds = MESSAGES.iter().filter(|(_, message)| message.is_kind);
    kinds.map(|(name, _)| *name)
}
