//! Size limit of stored objects, as in etcd.

use crate::status::ApiError;
use crate::types;
use serde_json::Value;

/// The default size limit of a request in etcd (`--max-request-bytes`).
const ETCD_MAX_REQUEST_BYTES: usize = 3 << 19;
/// The size limit of a message that kube-apiserver sends to etcd.
const GRPC_MAX_SEND_BYTES: usize = 2 << 20;
/// The largest JSON encoding of one byte of a string: `\u0001`.
const MAX_ESCAPED_BYTES: usize = 6;

/// Refuses an object that is too large for etcd.
pub(super) fn check_size(object: &Value) -> Result<(), ApiError> {
    // Most objects are small; the estimate is cheaper than serializing them.
    if unescaped_length_bound(object) * MAX_ESCAPED_BYTES <= ETCD_MAX_REQUEST_BYTES {
        return Ok(());
    }
    let size = types::json_length(object);
    if size <= ETCD_MAX_REQUEST_BYTES {
        return Ok(());
    }
    let why = if size <= GRPC_MAX_SEND_BYTES {
        "etcdserver: request is too large".to_owned()
    } else {
        format!(
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max ({size} vs. {GRPC_MAX_SEND_BYTES})"
        )
    };
    Err(ApiError::new(500, "", why))
}

/// An upper bound of the length of the JSON if nothing is escaped.
fn unescaped_length_bound(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 3,
        Value::Array(items) => items.iter().map(unescaped_length_bound).sum::<usize>() + 3,
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| name.len() + 4 + unescaped_length_bound(value));
            fields.sum::<usize>() + 3
        }
        // The length of the longest number.
        _ => 25,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn size_limit_counts_bytes_of_the_json() {
        for (text, bytes) in [("x", 1), ("\"", 2), ("\u{1}", 6)] {
            let object = |times: usize| json!({ "a": text.repeat(times) });
            // {"a":""}
            let max = (ETCD_MAX_REQUEST_BYTES - 8) / bytes;
            assert!(check_size(&object(max)).is_ok(), "{text:?}");
            assert_eq!(
                check_size(&object(max + 1)).map_err(|error| error.code),
                Err(500),
                "{text:?}"
            );
        }
    }
}
