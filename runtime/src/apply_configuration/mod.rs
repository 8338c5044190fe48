//! Typed intents of server-side apply, for the types that `#[derive(ApplyConfiguration)]` generates.
//!
//! [`ObjectApply`] (`object`) is the intent for a whole object; `owned_fields` finds the fields that a field manager owns in a live object.

mod object;
mod owned_fields;

pub use object::ObjectApply;
