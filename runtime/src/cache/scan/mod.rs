//! The scan: one pass over the bytes that the API server sends, which cuts objects out and extracts their metadata.
//!
//! Nothing is parsed into a tree, and no call recurses with the input's depth. Read [`object`] (what is made of one object) → [`watch`] (a line
//! of a watch) → [`list`] (the body of a list, cut into items as it arrives); [`lines`] and [`depth`] serve them.

mod depth;
mod lines;
mod list;
mod object;
mod owners;
mod watch;

pub(super) use lines::Lines;
pub(super) use list::ListCutter;
pub(super) use object::{ScanError, Scanner};
pub(super) use watch::WatchEvent;
