//! Kubernetes Events about objects, as `kubectl describe` and `kubectl events` show them.
//!
//! A [`Recorder`] takes events without blocking. An [`EventWriter`] sends them in the background; it aggregates, counts and limits them as
//! client-go's event correlator does. Read `reference` (the object of an event), `recorder`, `correlator` (`aggregator`, `series`, `spam`),
//! `api` (requests), `shard`, `writer`.

mod aggregator;
mod api;
mod correlator;
mod recorder;
mod reference;
mod series;
mod shard;
mod spam;
#[cfg(test)]
mod tests;
pub(crate) mod writer;

pub use api::EventsApi;
pub(crate) use recorder::Recorded;
pub use recorder::{EventType, Recorder};
pub use reference::{ObjectRef, Regarding};
pub(crate) use writer::EventWriter;
