//! The columns of built-in kinds: `columns.txt`, which `cargo xtask api-texts` writes; the head of that file describes its format.

use crate::types;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The column definitions by kind.
static COLUMNS: LazyLock<HashMap<&str, Vec<Value>>> = LazyLock::new(|| {
    let mut columns: HashMap<&str, Vec<Value>> = HashMap::new();
    let mut kind = "";
    for line in include_str!("columns.txt").lines() {
        if let Some(name) = line.strip_prefix("kind ") {
            kind = name;
        } else if let Some(column) = line.strip_prefix("  ").and_then(parse_column) {
            columns.entry(kind).or_default().push(column);
        }
    }
    columns
});

/// Returns the column definitions of a built-in kind; `None` if it has no columns of its own.
pub(super) fn columns(kind: &str) -> Option<&'static [Value]> {
    COLUMNS.get(kind).map(Vec::as_slice)
}

fn parse_column(line: &str) -> Option<Value> {
    let mut parts = line.splitn(5, '|');
    let (name, ty, format) = (parts.next()?, parts.next()?, parts.next()?);
    let (priority, description_text) = (parts.next()?.parse::<u8>().ok()?, parts.next()?);
    let description_text = match description_text
        .strip_prefix('@')
        .and_then(|reference| reference.rsplit_once('.'))
    {
        Some((ty, field)) => {
            without_enumeration(types::description(ty, field).unwrap_or_default()).to_owned()
        }
        // A literal of Go's source.
        None => description_text.replace("\\n", "\n").replace("\\\"", "\""),
    };
    Some(
        json!({ "name": name, "type": ty, "format": format, "description": description_text, "priority": priority }),
    )
}

/// Returns a description without the list of an enumeration's values, which only OpenAPI documents have.
fn without_enumeration(description: &str) -> &str {
    let text = description.split("\n\nPossible enum values:").next();
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Catalog;
    use crate::render::tables::cells;

    #[test]
    fn each_column_has_a_cell_and_a_description() {
        let mut count = 0;
        for kind in Catalog::built_in().unwrap().stored() {
            let empty = json!({ "kind": kind.kind, "metadata": { "name": "x" } });
            let cells = cells::cells(&kind.kind, &empty);
            let columns = columns(&kind.kind);
            // kube-apiserver prints the age of this kind without a column for it.
            let without_column = usize::from(kind.kind == "IPAddress");
            assert_eq!(
                cells.map(|cells| cells.len() - without_column),
                columns.map(<[Value]>::len),
                "{}",
                kind.kind
            );
            for column in columns.unwrap_or_default() {
                // kube-apiserver looks for the text of this column in another type.
                let is_lost = kind.kind == "RuntimeClass" && column["name"] == "Handler";
                assert_eq!(column["description"] == "", is_lost, "{} {column}", kind.kind);
                count += 1;
            }
        }
        assert!(count > 150);
    }
}
