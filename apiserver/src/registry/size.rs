//! How large an object may be: as large as etcd keeps it for the real server.

use crate::status::ApiError;
use crate::types;
use serde_json::Value;

/// The most that etcd takes in a request, by default.
const MOST: usize = 3 << 19;
/// The most that the real server sends to etcd.
const MOST_SENT: usize = 2 << 20;
/// A byte of text is at most so many of JSON.
const ESCAPED: usize = 6;

/// Refuses an object that is about to be kept, and too large.
pub(super) fn check_size(object: &Value) -> Result<(), ApiError> {
    // Most are small, and to see that costs less than to write them.
    if weight(object) * ESCAPED <= MOST {
        return Ok(());
    }
    let size = types::json_length(object);
    if size <= MOST {
        return Ok(());
    }
    let why = if size <= MOST_SENT {
        "etcdserver: request is too large".to_owned()
    } else {
        format!(
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max ({size} vs. {MOST_SENT})"
        )
    };
    Err(ApiError::new(500, "", why))
}

/// At least the length of the JSON, were nothing to be escaped in it.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 3,
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 3,
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| name.len() + 4 + weight(value));
            fields.sum::<usize>() + 3
        }
        // As long as the longest number.
        _ => 25,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_limit_is_that_of_the_json() {
        for (text, bytes) in [("x", 1), ("\"", 2), ("\u{1}", 6)] {
            let object = |times: usize| json!({ "a": text.repeat(times) });
            // {"a":""}
            let most = (MOST - 8) / bytes;
            assert!(check_size(&object(most)).is_ok(), "{text:?}");
            assert_eq!(
                check_size(&object(most + 1)).map_err(|error| error.code),
                Err(500),
                "{text:?}"
            );
        }
    }
}
