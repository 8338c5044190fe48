//! Events: what an operator tells people about an object, as `kubectl describe` and `kubectl events` show it.
//!
//! A [`Recorder`] takes events and never waits; an [`EventWriter`] sends them in the background, combined, counted and limited as client-go
//! does. Read reference (what an event is about), recorder, correlator (similar, series, spam), api (what is sent),
//! lane, writer.

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
mod writer;

pub use api::EventsApi;
pub use recorder::{EventType, Recorded, Recorder};
pub use reference::{ObjectRef, Regarding};
pub use writer::EventWriter;
