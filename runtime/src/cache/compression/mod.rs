//! Objects that were not touched for a while, kept small.
//!
//! Read [`payload`] (the bytes of one object, raw or compressed in place) with [`fresh`] → [`dictionary`] (what objects of a kind have in common) and
//! [`difference`] with [`families`] and [`shortcuts`] (what replicas have in common) → [`settling`] (which objects are compressed, when, and how).

mod dictionary;
mod difference;
mod families;
mod fresh;
mod payload;
mod settling;
mod shortcuts;

#[cfg(fuzzing)]
pub(super) use difference::{difference, restore};
pub(super) use fresh::Fresh;
pub(super) use payload::Payload;
pub(super) use settling::Settling;
