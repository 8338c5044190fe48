//! The scanner: one pass over the bytes that the API server sends, which cuts out objects and extracts their metadata.
//!
//! Nothing is parsed into a tree, and nothing is stored. Read [`blocks`] and [`cursor`] (how JSON is skipped) → [`object`] and [`metadata`]
//! (one object; [`prune`] leaves out what a projection does not want) → [`watch_event`] (a line of a watch) → [`list_splitter`] (the body of a
//! list, cut into items as it arrives). [`scan_failure`] names the object that cannot be used.

mod blocks;
mod cursor;
#[cfg(test)]
mod fuzz;
mod list_splitter;
mod metadata;
mod object;
#[cfg(any(test, fuzzing))]
pub(crate) mod oracle;
mod prune;
mod scan_failure;
mod watch_event;

pub(super) use cursor::{Cursor, unquoted};
pub(super) use list_splitter::ListSplitter;
pub(super) use object::{ScanError, ScannedObject, Scanner, text};
pub(super) use scan_failure::ScanFailure;
pub(super) use watch_event::ScannedEvent;
