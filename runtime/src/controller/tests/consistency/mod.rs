//! What a reconcile wrote: the next one finds it in the cache, and its event wakes nobody. On a paused clock, against a scripted API
//! server.

mod events;
mod model;
mod reads;
mod world;

use crate::cache::tests::support;
