//! Events: what an operator tells people about an object, as `kubectl describe` and `kubectl events` show it.
//!
//! A [`Recorder`] takes events and never waits; an [`EventWriter`] sends them in the background, repeats as a series. Read reference (what
//! an event is about), recorder, series, writer.

mod recorder;
mod reference;
mod series;
mod writer;

pub use recorder::{EventType, Recorded, Recorder};
pub use reference::{ObjectRef, Regarding};
pub use writer::EventWriter;
