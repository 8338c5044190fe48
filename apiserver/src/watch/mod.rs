//! Watches: the changes of a resource as they come, for one client at its own pace.
//!
//! A watcher reads from the history of its resource; one that is slower than the history is long is told that its version is gone. So
//! a client that stops reading costs nothing. Watches that see the same read a common feed, in which every event is written once.

mod event;
mod feed;
mod watcher;

pub(crate) use feed::Feeds;
pub(crate) use watcher::Watcher;
