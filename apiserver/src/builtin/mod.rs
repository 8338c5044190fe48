//! The built-in kinds: their defaults, and what they refuse.
//!
//! A request's object is checked and pruned ([`crate::types::check`]), made normal ([`crate::types::normalize`]), defaulted
//! ([`default`]) and then, with what the server itself sets, validated ([`validate`]).

mod defaults;

pub use defaults::default;

#[cfg(test)]
mod tests;
