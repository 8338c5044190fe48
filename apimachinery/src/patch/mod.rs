//! JSON patch, merge patch and strategic merge patch (apply is in [`crate::apply`]).
//!
//! Each takes the stored object in the request's API version and the request body, and returns the object for decoding, defaulting,
//! validation and storage, or the error of the real server. Names, versions and preconditions are checked by the caller.

mod error;
mod json;
mod merge;
mod pointer;
mod strategic;

pub use error::PatchError;
pub use json::json_patch;
pub use merge::merge_patch;
pub use strategic::strategic_merge_patch;

use crate::field::FieldError;
use crate::go_format;
use crate::types::decode;
use serde_json::Value;

/// The result of a patch.
#[derive(Debug, Clone, PartialEq)]
pub struct Patched {
    /// The patched object. It is not validated: a patch can set unknown fields and values of the wrong type.
    pub object: Value,
    /// Strict decoding errors of the patch document, such as `duplicate field "spec.a"` or `json patch unknown field "[0].x"`: warnings
    /// under `fieldValidation=Warn`, errors under `Strict`, and never collected under `Ignore`.
    pub strict_errors: Vec<String>,
}

impl Patched {
    /// Builds the result of a document with these duplicate fields.
    fn new(object: Value, duplicates: &[String], decoding: Decoding) -> Self {
        let reported = duplicates.iter().filter(|_| decoding == Decoding::Strict);
        let strict_errors = reported.map(|path| format!("duplicate field \"{path}\""));
        Self {
            object,
            strict_errors: strict_errors.collect(),
        }
    }
}

/// The error for a patched object that cannot be decoded. Like the real server, it quotes the object, or the body of a strategic merge
/// patch.
pub fn undecodable(outcome: &Value, strategic_body: Option<&[u8]>, why: &str) -> PatchError {
    let shown = match strategic_body.and_then(|body| decode(body).ok()) {
        Some(patch) => go_format::show(&patch.value),
        None => outcome.to_string(),
    };
    PatchError::Invalid(FieldError::invalid("patch", shown, why))
}

/// How strictly to decode a patch, from `fieldValidation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoding {
    /// `Ignore`: do not collect strict decoding errors.
    Lenient,
    /// `Warn` (the default) and `Strict`: collect them.
    Strict,
}

#[cfg(test)]
mod tests;
