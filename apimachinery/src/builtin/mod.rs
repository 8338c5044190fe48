//! Defaults and validation of the built-in kinds.
//!
//! A request's object is checked and pruned ([`crate::types::check`]), normalized ([`crate::types::normalize`]), defaulted
//! ([`apply_defaults`]) and, once the server has set its own fields, validated ([`validate`]).

mod defaults;
mod pod_resources;
mod qos;
mod validate;

pub use defaults::apply_defaults;
pub use pod_resources::{ResourceList, aggregate_container_resources, resource_list};
pub use qos::qos_class;
pub use validate::{
    SYSTEM_PRIORITIES, is_externally_accessible, is_load_balancer, needs_health_check, parse_ipv4_sloppy,
    quantity_value, storage_class, validate, validate_conversion, validate_field_manager,
    validate_managed_fields, validate_metadata, validate_service_addresses,
};

#[cfg(test)]
mod tests;
