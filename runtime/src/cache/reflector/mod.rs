//! The reflector: lists and watches the objects of one kind, and applies their changes to a [`ReflectorStore`].
//!
//! Read [`store`] (the target) and [`reflector`] (the loop), then [`streaming`] (a list that arrives as a watch, which then continues)
//! and [`paged_list`] (lists in pages, for servers without streaming lists); both collect the objects in [`temporary_store`]. Then [`watch`], [`relist`] (when the
//! reflector lists again) and [`bookmark`] (how far the watch has come). The check in [`consistency`] is off by default.
//!
//! The rules are client-go's, and so are the requested resource versions:
//! - the first list: `0`, any version; a relist: not older than the last version that was seen;
//! - a streaming list: not older than that too, or the newest if no version was seen yet;
//! - the newest, without a wait, when the server no longer has that version or does not have it yet;
//! - a watch continues from the last version; after 410 Gone the reflector relists at that version.

mod bookmark;
mod consistency;
mod options;
mod paged_list;
#[expect(
    clippy::module_inception,
    reason = "the folder's main type has the folder's name, as in client-go"
)]
mod reflector;
mod relist;
mod store;
mod streaming;
mod temporary_store;
mod watch;

pub(super) use options::ErrorHandler;
pub use options::ReflectorOptions;
pub(super) use reflector::Reflector;
pub(super) use store::ReflectorStore;
