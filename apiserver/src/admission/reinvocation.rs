//! Which webhooks or policies run again. After a change of the object by one of them, all mutating plugins run a second time, and with them
//! those that were called before the change and ask for it (`reinvocationPolicy: IfNeeded`).

use serde_json::Value;
use std::collections::BTreeSet;

/// The calls of a plugin's webhooks or policies in one write.
#[derive(Debug, Default)]
pub(super) struct Reinvocation<K> {
    /// Those that were called since the last change and may be called again.
    previously_invoked: BTreeSet<K>,
    /// Those to call in the second round.
    to_reinvoke: BTreeSet<K>,
    is_second_round: bool,
    /// The object after the first round.
    output: Option<Value>,
    was_changed: bool,
}

impl<K: Ord> Reinvocation<K> {
    /// True if one of them changed the object.
    pub(super) fn was_changed(&self) -> bool {
        self.was_changed
    }

    pub(super) fn is_second_round(&self) -> bool {
        self.is_second_round
    }

    /// Begins a round with the object. In the second one, other plugins may have changed it.
    pub(super) fn begin(&mut self, object: &Value) {
        self.is_second_round = self.output.is_some();
        if self.output.as_ref().is_some_and(|output| output != object) {
            self.to_reinvoke.append(&mut self.previously_invoked);
        }
    }

    /// Ends a round with the object.
    pub(super) fn end(&mut self, object: &Value) {
        self.output = Some(object.clone());
    }

    /// True if this one is called in this round.
    pub(super) fn is_due(&self, key: &K) -> bool {
        !self.is_second_round || self.to_reinvoke.contains(key)
    }

    /// Records a change of the object.
    pub(super) fn require_reinvocation(&mut self) {
        self.was_changed = true;
        self.to_reinvoke.append(&mut self.previously_invoked);
    }

    /// Records a call that asks to be repeated after later changes.
    pub(super) fn invoked(&mut self, key: K) {
        self.previously_invoked.insert(key);
    }
}
