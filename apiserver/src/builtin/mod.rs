//! Defaults and validation of the built-in kinds.
//!
//! A request's object is checked and pruned ([`crate::types::check`]), normalized ([`crate::types::normalize`]), defaulted
//! ([`apply_defaults`]) and, once the server has set its own fields, validated ([`validate`]).

mod defaults;
mod limits;
mod pod_resources;
mod validate;

pub use defaults::apply_defaults;
pub(crate) use limits::{default_container_resources, limit_range_errors};
pub(crate) use validate::{
    SYSTEM_PRIORITIES, is_externally_accessible, is_load_balancer, needs_health_check, parse_ipv4_sloppy,
    quantity_value,
};
pub use validate::{
    is_label, is_label_key, is_label_value, is_subdomain, validate, validate_metadata,
    validate_service_addresses,
};

#[cfg(test)]
mod tests;
