//! Object metadata: accessors, validation, and the rules for create and update.

mod accessors;
mod lifecycle;
pub mod names;
mod normalize;
mod time;

pub use accessors::*;
pub use lifecycle::{
    clear_self_link, fill_system_fields, generate_name, new_uid, validate_metadata_create,
    validate_metadata_update, wipe_system_fields,
};
pub use normalize::normalize_metadata;
pub use time::{now, now_micros};
