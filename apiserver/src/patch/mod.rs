//! The patches that are no apply: JSON patch, merge patch and strategic merge patch. Each takes the stored object in the version of the
//! request and the body, and answers with the object that is to be decoded, defaulted, validated and stored, or with the real server's
//! error. Nothing else is looked at: names, versions and preconditions are the caller's.

mod error;
mod go;
mod json;
mod merge;
mod pointer;
mod strategic;

pub use error::PatchError;
pub use json::json_patch;
pub use merge::merge_patch;
pub use strategic::strategic_merge_patch;

use crate::field::FieldError;
use crate::types::decode;
use serde_json::Value;

/// An object after a patch.
#[derive(Debug, Clone, PartialEq)]
pub struct Patched {
    /// The object. It may hold anything: the patch can name fields that the kind does not have, and values of other types.
    pub object: Value,
    /// What a strict decoder holds against the patch itself: `duplicate field "spec.a"`, `json patch unknown field "[0].x"`. They are
    /// warnings under `fieldValidation=Warn`, and errors under `Strict`; none were looked for under `Ignore`.
    pub strict_errors: Vec<String>,
}

/// The error for an outcome that cannot be decoded, and why. The real server shows the outcome, but of a strategic merge patch the body.
pub fn undecodable(outcome: &Value, strategic_body: Option<&[u8]>, why: &str) -> PatchError {
    let shown = match strategic_body.and_then(|body| decode(body).ok()) {
        Some(patch) => go::show(&patch.value),
        None => outcome.to_string(),
    };
    PatchError::Invalid(FieldError::invalid("patch", shown, why))
}

/// What `fieldValidation` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoding {
    /// `Ignore`.
    Lenient,
    /// `Warn`, which is the default, and `Strict`.
    Strict,
}

#[cfg(test)]
mod tests;
