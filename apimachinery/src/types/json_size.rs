//! The depth and the length of JSON values.

use serde_json::Value;
use std::io;

/// Returns the nesting depth of objects and lists.
pub(crate) fn nesting_depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nesting_depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(nesting_depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Returns the length of a value's JSON in bytes.
pub fn json_length(value: &Value) -> usize {
    let mut written = ByteCounter(0);
    // Counting cannot fail.
    let _ = serde_json::to_writer(&mut written, value);
    written.0
}

struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
