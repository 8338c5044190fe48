//! What one look at the cache decided.

use std::time::Duration;

use serde_json::Value;

use crate::action::Action;
use crate::kind::Kind;
use crate::object;

/// The actions of one reconcile, and the delay after which to reconcile again without an update.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) actions: Vec<Action>,
    pub(crate) wait: Option<Duration>,
}

impl Plan {
    pub(crate) fn push(&mut self, action: Action) {
        self.actions.push(action);
    }

    pub(crate) fn requeue_after(&mut self, wait: Duration) {
        self.wait = Some(self.wait.map_or(wait, |known| known.min(wait)));
    }

    /// Updates a status, unless the object already has it. Unset fields count as zero.
    pub(crate) fn update_status(&mut self, kind: Kind, object: &Value, status: Value) {
        if !object::contains_fields(&object["status"], &status) {
            self.push(Action::UpdateStatus(kind, object::with_status(object, status)));
        }
    }
}
