//! Watches: the changes of a resource as they come, for one client at its own pace.
//!
//! A watcher reads from the history of its resource; one that is slower than the history is long is told that its version is gone. So
//! a client that stops reading costs nothing.

mod event;
mod watcher;

pub(crate) use watcher::Watcher;
