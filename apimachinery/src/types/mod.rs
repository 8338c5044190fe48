//! Schemas of Kubernetes objects: fields, their types, list types (set, map, atomic) and merge strategies.
//!
//! The package `kubewright-api-types` has the built-in kinds; a custom resource's types come from its schema ([`crate::schema`]). Patches,
//! server-side apply and the check for unknown fields all read these types, so a kind works in all of them once its type exists.

mod check;
mod decode_messages;
mod explicit_empty;
mod json;
mod json_size;
mod normalize;
mod quantity_arithmetic;
mod scalars;
mod strict_errors;
mod unstructured;

pub use kubewright_api_types::*;

pub use check::{DecodeError, check, conversion_error, is_within_custom_decoder};
pub use explicit_empty::ExplicitEmptyFields;
pub(crate) use json::MAX_DEPTH;
pub use json::{Decoded, decode, decode_stored, decode_typed, floats_to_integers, json_kind};
pub use json_size::json_length;
pub(crate) use json_size::nesting_depth;
pub use normalize::{normalize, normalize_stored, zero_value};
pub use quantity_arithmetic::{
    add_quantities, compare_quantities, round_up_quantity, scale_quantity, subtract_quantities,
};
pub(crate) use scalars::last_digit_power;
pub use strict_errors::sort_strict_errors;
pub(crate) use unstructured::{convert, float_to_integer, is_in_integer_range};

/// Whether a text is valid base64 with padding.
pub fn is_base64(text: &str) -> bool {
    scalars::base64_error(text).is_none()
}

/// Whether a text is an RFC 3339 date.
pub fn is_date(text: &str) -> bool {
    text.len() == 10 && is_time(&format!("{text}T00:00:00Z"))
}

/// Whether a text is an RFC 3339 time.
pub fn is_time(text: &str) -> bool {
    scalars::time_error(text, false).is_none()
}

#[cfg(test)]
mod schema_or_tests;
#[cfg(test)]
mod tests;
