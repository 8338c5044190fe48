//! Label selectors and field selectors.

mod fields;
mod labels;

pub use fields::FieldSelector;
pub use labels::LabelSelector;
