//! Objects that were not touched for a while, kept small.
//!
//! Read [`payload`] (the bytes of one object, raw or compressed in place) with [`fresh`] → [`dictionary`] (what objects of a kind have in common) and
//! [`difference`] with [`families`] and [`shortcuts`] (what replicas have in common) → [`settling`] (which objects are compressed, when, and how).

mod compressor;
mod delta_encoding;
mod delta_group;
mod dictionary;
mod encoder;
mod group_cache;
mod payload;

pub(super) use compressor::Compressor;
#[cfg(fuzzing)]
pub(super) use delta_encoding::{difference, restore};
pub(super) use encoder::Encoder;
pub(super) use payload::Payload;
