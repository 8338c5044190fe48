//! Events: what an operator tells people about an object.

/// Writes events of `events.k8s.io/v1` in the background.
#[derive(Clone)]
pub struct Recorder {}
