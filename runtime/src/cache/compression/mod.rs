//! The payload codec: keeps the JSON of stored objects small.
//!
//! [`policy`] says in which form an object is kept and when that changes. [`codec`] carries it out: it encodes each object that arrives, and
//! re-encodes stored ones later. It uses [`delta_group`] with [`group_cache`] and [`delta_encoding`] (replicas as differences to one of
//! them), [`compressor`] with [`dictionary`] (everything else, when it is no longer recent) and [`raw_blocks`] (memory for recent
//! objects). [`payload`] is the JSON of one object in any of these forms, and decodes it.

mod codec;
mod compressor;
mod delta_encoding;
mod delta_group;
mod dictionary;
mod group_cache;
mod payload;
mod policy;
mod raw_blocks;

pub(super) use codec::PayloadCodec;
#[cfg(any(test, fuzzing))]
pub(super) use delta_encoding::{difference, restore};
pub(super) use payload::Payload;
