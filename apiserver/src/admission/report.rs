//! The warnings and audit annotations of admission plugins.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// The warnings and the audit annotations of the plugins, webhooks and policies that saw a request.
#[derive(Debug, Default)]
pub(crate) struct AdmissionReport {
    warnings: Mutex<Vec<String>>,
    annotations: Mutex<BTreeMap<String, String>>,
}

impl AdmissionReport {
    /// Adds a warning for the client.
    pub(crate) fn warn(&self, warning: &str) {
        self.warnings.lock().push(warning.to_owned());
    }

    /// Removes and returns the warnings since the last call.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.warnings.lock())
    }

    /// Adds an audit annotation. The first value of a key stays, as in kube-apiserver.
    pub(crate) fn annotate(&self, key: impl Into<String>, value: impl Into<String>) {
        self.annotations.lock().entry(key.into()).or_insert(value.into());
    }

    /// Removes and returns the audit annotations.
    pub(crate) fn take_annotations(&self) -> BTreeMap<String, String> {
        std::mem::take(&mut self.annotations.lock())
    }
}
