//! The scan: one pass over the bytes that the API server sends, which cuts objects out and extracts their metadata.
//!
//! Nothing is parsed into a tree. Read [`blocks`] and [`cursor`] (how JSON is skipped) → [`object`] and [`metadata`] (what is made of one
//! object; [`prune`] leaves out what a projection does not want) → [`watch`] (a line of a watch, from [`lines`]) → [`list`] (the body of a
//! list, cut into items as it arrives). [`refused`] names what cannot be used.

mod blocks;
mod cursor;
#[cfg(test)]
mod fuzz;
mod line_decoder;
mod list_splitter;
mod metadata;
mod object;
#[cfg(any(test, fuzzing))]
pub(crate) mod oracle;
mod prune;
mod scan_failure;
mod watch;

pub(super) use cursor::{Cursor, unquoted};
pub(super) use line_decoder::Lines;
pub(super) use list_splitter::ListSplitter;
pub(super) use object::{Listed, ScanError, Scanner, text};
pub(super) use scan_failure::ScanFailure;
pub(super) use watch::WatchEvent;
