//! Watches: streams of the changes of a resource.
//!
//! A watcher reads from the history of its resource at its own pace. If it falls behind the history it gets 410 Gone, so a client that
//! stops reading costs no memory. Identical watches share a feed, in which every event is serialized once.

mod converted;
mod event;
mod feed;
mod watcher;

pub(crate) use feed::SharedFeeds;
pub(crate) use watcher::Watcher;
