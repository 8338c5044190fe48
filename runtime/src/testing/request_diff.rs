//! [`assert_requests`]: compares requests and reports the fields that differ.

use std::fmt::Write;

use serde_json::Value;

use super::Request;

/// Asserts that the `sent` requests equal the `expected` ones, in order.
///
/// A null field equals an absent one.
///
/// # Panics
/// If they differ. The message lists both and the fields that differ.
#[track_caller]
pub fn assert_requests(sent: &[Request], expected: &[Request]) {
    if let Some(message) = compare(sent, expected) {
        panic!("{message}");
    }
}

fn compare(sent: &[Request], expected: &[Request]) -> Option<String> {
    let mut message = String::new();
    for (index, (sent, expected)) in sent.iter().zip(expected).enumerate() {
        let number = index + 1;
        if sent.to_string() != expected.to_string() {
            let _ = writeln!(message, "request {number}: expected {expected}, sent {sent}");
            continue;
        }
        let mut fields = Vec::new();
        diff("", &expected.body, &sent.body, &mut fields);
        if !fields.is_empty() {
            let _ = writeln!(message, "request {number}: {sent}");
            for field in fields {
                let _ = writeln!(message, "  {field}");
            }
        }
    }
    if message.is_empty() && sent.len() == expected.len() {
        return None;
    }
    for (title, requests) in [("expected", expected), ("sent", sent)] {
        let _ = writeln!(message, "{title} {} requests:", requests.len());
        for request in requests {
            let _ = writeln!(message, "  {request}");
        }
    }
    for extra in sent.iter().skip(expected.len()) {
        let _ = writeln!(message, "not expected: {extra}\n{:#}", extra.body);
    }
    Some(message)
}

fn diff(path: &str, expected: &Value, sent: &Value, fields: &mut Vec<String>) {
    match (expected, sent) {
        (Value::Object(expected_fields), Value::Object(sent_fields)) => {
            let only_sent = sent_fields
                .keys()
                .filter(|key| !expected_fields.contains_key(*key));
            for key in expected_fields.keys().chain(only_sent) {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                diff(&path, &expected[key], &sent[key], fields);
            }
        }
        (Value::Array(expected_items), Value::Array(sent_items)) => {
            for index in 0..expected_items.len().max(sent_items.len()) {
                diff(
                    &format!("{path}[{index}]"),
                    &expected[index],
                    &sent[index],
                    fields,
                );
            }
        }
        _ if expected != sent => {
            let format_value = |value: &Value| {
                if value.is_null() {
                    "nothing".to_owned()
                } else {
                    value.to_string()
                }
            };
            fields.push(format!(
                "{path}: expected {}, sent {}",
                format_value(expected),
                format_value(sent)
            ));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    fn map(data: &Value) -> Request {
        Request::apply::<ConfigMap>(&json!({"metadata": {"name": "a", "namespace": "shop"}, "data": data}))
    }

    #[test]
    fn equal_requests_have_no_diff() {
        assert_eq!(
            compare(&[map(&json!({"x": "1"}))], &[map(&json!({"x": "1"}))]),
            None
        );
        assert_eq!(compare(&[map(&json!(null))], &[map(&json!(null))]), None);
    }

    #[test]
    fn diff_names_different_fields_and_unexpected_requests() {
        let sent = [map(&json!({"x": "1", "list": [1, 2]})), map(&json!({}))];
        let expected = [map(&json!({"x": "2", "y": true, "list": [1]}))];
        let message = compare(&sent, &expected).unwrap();
        assert_eq!(
            message.lines().take(9).collect::<Vec<_>>(),
            [
                "request 1: apply configmaps shop/a",
                "  data.list[1]: expected nothing, sent 2",
                "  data.x: expected \"2\", sent \"1\"",
                "  data.y: expected true, sent nothing",
                "expected 1 requests:",
                "  apply configmaps shop/a",
                "sent 2 requests:",
                "  apply configmaps shop/a",
                "  apply configmaps shop/a",
            ]
        );
        assert!(
            message.contains("not expected: apply configmaps shop/a\n{"),
            "{message}"
        );
    }
}
