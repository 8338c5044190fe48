//! Objects that ended.

use kubewright::cache::{Change, Metadata};

/// Returns the metadata of an object that does not exist any more: it was deleted, or replaced by another of the same name.
pub(crate) fn ended<'c>(change: &Change<'c>) -> Option<&'c Metadata> {
    match *change {
        Change::Deleted { old, .. } => Some(old),
        Change::Updated { old, new } if old.uid() != new.uid() => Some(old),
        _ => None,
    }
}
