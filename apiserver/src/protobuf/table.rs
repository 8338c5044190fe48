//! The fields of each message.

use std::collections::HashMap;
use std::sync::LazyLock;

/// A field.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    /// A scalar's name, or a message's.
    pub(super) ty: &'static str,
}

/// How often a field comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    One,
    List,
    Map,
}

type Messages = HashMap<&'static str, HashMap<u64, Field>>;

static TABLE: LazyLock<Messages> = LazyLock::new(|| {
    let mut messages: Messages = HashMap::new();
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
        let (shape, ty) = match (ty.strip_prefix("[]"), ty.strip_prefix("{}")) {
            (Some(items), _) => (Shape::List, items),
            (_, Some(values)) => (Shape::Map, values),
            _ => (Shape::One, ty),
        };
        if let (Ok(number), Some(fields)) = (number.parse(), messages.get_mut(name)) {
            fields.insert(
                number,
                Field {
                    name: field,
                    shape,
                    ty,
                },
            );
        }
    }
    messages
});

/// The fields of a message by their numbers; None for a message that is not known.
pub(super) fn fields(message: &str) -> Option<&'static HashMap<u64, Field>> {
    TABLE.get(message)
}
