//! How large an object may be: as large as etcd keeps it for the real server.

use crate::status::ApiError;
use serde_json::Value;
use std::io::{Result, Write};

/// The most that etcd takes in a request, by default.
const MOST: usize = 3 << 19;
/// The most that the real server sends to etcd.
const MOST_SENT: usize = 2 << 20;
/// A byte of text is at most so many of JSON.
const ESCAPED: usize = 6;

/// Refuses an object that is about to be kept, and too large.
pub(super) fn check_size(object: &Value) -> std::result::Result<(), ApiError> {
    // Most are small, and to see that costs less than to write them.
    if weight(object) * ESCAPED <= MOST {
        return Ok(());
    }
    let mut written = Count(0);
    // Counting cannot fail.
    let _ = serde_json::to_writer(&mut written, object);
    let size = written.0;
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

struct Count(usize);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
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
