//! What a reconcile wrote: the next one finds it in the cache, and its event wakes nobody. On a paused clock, against a scripted API
//! server.

#[path = "../../../../tests/support/mod.rs"]
#[allow(dead_code, reason = "shared by several test programs")]
mod support;

mod events;
mod model;
mod reads;
mod world;
