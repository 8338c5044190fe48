//! The built-in kinds: their defaults, and what they refuse.
//!
//! A request's object is checked and pruned ([`crate::types::check`]), made normal ([`crate::types::normalize`]), defaulted
//! ([`default`]) and then, with what the server itself sets, validated ([`validate`]).

mod defaults;
mod limits;
mod pod_resources;
mod validate;

pub use defaults::default;
pub(crate) use limits::{fill_limits, limit_faults};
pub(crate) use validate::{SYSTEM_PRIORITIES, amount, is_balanced, is_checked, is_external, padded};
pub use validate::{
    is_label, is_label_key, is_label_value, is_subdomain, service_addresses, validate, validate_metadata,
};

#[cfg(test)]
mod tests;
