//! The field manager: the name under which the API server records the fields that an operator's writes own.

use std::sync::Arc;

use super::Connection;

impl Connection {
    /// Returns the same connection with another field manager, which the API server notes as the owner of the fields that typed clients
    /// write. The manager sets the operator's name.
    pub fn with_field_manager(mut self, name: impl Into<Arc<str>>) -> Self {
        self.field_manager = name.into();
        self
    }

    /// Returns the field manager; "kubewright" by default.
    pub fn field_manager(&self) -> &str {
        &self.field_manager
    }
}
