//! The consistency store: reading own writes, own events and extra calls, on a paused clock and against a scripted API
//! server.

mod added_sources;
mod events;
mod follow_ups;
mod model;
mod reads;
mod state_machine;
mod world;

use crate::cache::tests::support;
