//! The order of the entries of a field set in `managedFields`, as structured-merge-diff writes them: by path element, not by text.

use serde_json::Value;
use std::cmp::Ordering;

/// Compares two keys of a field set: `.`, `f:NAME`, `k:{…}` and `v:…`, in this order; keys and values of list items by their values.
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    let of_item = |key: &str| {
        let (kind, json) = key.split_at_checked(2)?;
        matches!(kind, "k:" | "v:").then(|| (kind.to_owned(), serde_json::from_str::<Value>(json).ok()))
    };
    match (of_item(a), of_item(b)) {
        (Some((kind_a, Some(a))), Some((kind_b, Some(b)))) => {
            kind_a.cmp(&kind_b).then_with(|| compare_values(&a, &b))
        }
        _ => a.cmp(b),
    }
}

fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default());
            a.total_cmp(&b)
        }
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Object(a), Value::Object(b)) => {
            let fields = a.iter().zip(b);
            let mut different = fields
                .map(|((name_a, a), (name_b, b))| name_a.cmp(name_b).then_with(|| compare_values(a, b)));
            let first = different.find(|order| order.is_ne());
            first.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        _ => a.to_string().cmp(&b.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_ordered_by_their_values() {
        let ordered = [
            ".",
            "f:a",
            "f:b",
            r#"k:{"containerPort":80,"protocol":"TCP"}"#,
            r#"k:{"containerPort":443,"protocol":"TCP"}"#,
            r#"k:{"containerPort":443,"protocol":"UDP"}"#,
            r#"k:{"name":"A"}"#,
            r#"k:{"name":"A b"}"#,
            r#"v:"a""#,
            r#"v:"a b""#,
        ];
        let mut keys = ordered;
        keys.reverse();
        keys.sort_by(|a, b| compare(a, b));
        assert_eq!(keys, ordered);
    }
}
