//! Own events: how a controller handles the events of its own writes.

/// How the events of a key's own writes are handled; see [`ControllerBuilder::own_events`](super::super::ControllerBuilder::own_events).
///
/// An own event is an addition or update with exactly the uid and resource version that the API server answered to a write of the same
/// key's reconcile, delivered by a watch without a gap. Every other event enqueues, whatever is chosen here: foreign changes, objects of a
/// list, resyncs, all deletions, writes with a lost answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OwnEvents {
    /// A reconcile that changed something is followed by exactly one extra call, however many events its writes cause. The default.
    ///
    /// Own events do not enqueue the key one by one. The extra call has low priority and starts once the cache shows the writes. A
    /// reconcile that changed nothing is not followed by a call, which ends the sequence. So a reconciler may take one step at a time:
    /// write, return, and continue in the next call.
    ///
    /// A write changed something if the answer's uid or resource version differs from what the cache showed when the request was sent;
    /// for an object that no informer covers, from this controller's last answer for it. Answers without a resource version (reviews,
    /// tokens, evictions) and deletions of collections do not count. A deletion counts if the cached object was not already being
    /// deleted.
    ///
    /// The extra call follows [`AwaitChange`](super::super::Action::AwaitChange),
    /// [`RequeueAfter`](super::super::Action::RequeueAfter) (its deadline stays) and a terminal error; other errors, panics, timeouts
    /// and [`Requeue`](super::super::Action::Requeue) bring their own call. A call for another reason in the meantime replaces it. If the
    /// wait for the cache is given up, or [`write_wait`](super::super::ControllerBuilder::write_wait) is zero, the write's event enqueues
    /// like a foreign one.
    ///
    /// A reconciler that changes something in each call, a timestamp in a status for example, would be called without end: after 20
    /// extra calls in a row without a foreign change, the next one waits 1 s, then twice as long each time, up to 5 minutes. A warning,
    /// once an hour, names the key, the object and the verb; `kubewright_controller_follow_ups_total` and
    /// `kubewright_controller_follow_ups_delayed_total` count.
    #[default]
    ReconcileOnce,
    /// Own events do not enqueue, and no extra call is made.
    ///
    /// For reconcilers that do everything in one call, and go on with what a write returned: it saves the extra call. A reconcile that
    /// returns after a write, to continue at its event, is not called again. If the API server's object had a foreign change that the cache
    /// did not show when the write was sent, a write that changes nothing answers with that version, and its event is ignored.
    Ignore,
    /// Own events enqueue the key, as in client-go and controller-runtime.
    Enqueue,
}
