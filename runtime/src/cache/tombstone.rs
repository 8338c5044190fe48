//! Deleted objects and tombstones: client-go's DeletedFinalStateUnknown.

use super::Object;

/// A deleted object; with `final_state_known` false it is a tombstone (client-go's DeletedFinalStateUnknown).
///
/// It may have been recreated since. `object` may be a version that the handler has not seen: one that was written while no watch was
/// open, or the state at deletion, which no update delivers.
#[derive(Debug, Clone)]
pub struct Deleted<K> {
    /// The last known state.
    pub object: Object<K>,
    /// Whether `object` is the state at deletion. False for a tombstone: the watch missed the deletion, and a relist found it.
    pub final_state_known: bool,
}
