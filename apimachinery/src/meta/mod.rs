//! Object metadata and conditions: accessors, generated values, names and times.

mod accessors;
mod conditions;
mod generated;
pub mod names;
mod normalize;
mod time;

pub use accessors::*;
pub use conditions::{has_condition, set_condition};
pub use generated::{generate_name, new_uid};
pub use normalize::normalize_metadata;
pub use time::now;
