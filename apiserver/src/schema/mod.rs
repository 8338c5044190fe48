//! The schemas of custom resources.

mod shape;

pub use shape::type_of;
