//! Random values of a schema: for tests of conversions, and for the fields that a partial object lacks when it is converted.
//!
//! [`random`] makes values of all types, [`text`] those of strings.

mod random;
mod text;

pub use random::Random;
