//! Reconcile error: any error, retried with backoff unless it is terminal.

use std::{error::Error, fmt};

use crate::{
    ApiResource, NamespacedName,
    cache::{DecodeError, LookupError},
    client::ClientError,
};

/// The error of a failed reconcile. `?` converts every standard error.
///
/// Displays the error and its sources, separated by `: `. It does not implement `std::error::Error` itself, which makes the conversion of all
/// errors possible.
pub struct ReconcileError {
    source: Box<dyn Error + Send + Sync>,
    terminal: bool,
}

impl ReconcileError {
    /// Returns an error with a message.
    pub fn new(message: impl fmt::Display) -> Self {
        Self::boxed(message.to_string().into())
    }

    /// Returns an error from a boxed one.
    pub fn boxed(source: Box<dyn Error + Send + Sync>) -> Self {
        Self {
            source,
            terminal: false,
        }
    }

    /// Makes the error terminal: the key is not retried until a change enqueues it. The failure is logged and counted.
    pub fn terminal(mut self) -> Self {
        self.terminal = true;
        self
    }

    /// Whether the error is [`terminal`](Self::terminal).
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Returns the error, or the first of its sources, that is an `E`.
    pub fn find<E: Error + 'static>(&self) -> Option<&E> {
        self.chain().find_map(|error| error.downcast_ref())
    }

    /// Whether the cached object of this kind and key does not decode.
    pub(super) fn is_decode_of(&self, kind: &ApiResource, key: &NamespacedName) -> bool {
        let decode = match self.find() {
            // It replaces the decode error: its source is the decode error's source.
            Some(LookupError::Decode(decode)) => Some(decode),
            _ => self.find::<DecodeError>(),
        };
        decode.is_some_and(|decode| decode.kind == kind.kind && decode.name == *key)
    }

    /// Whether the API server answered a write with a conflict.
    pub(super) fn is_conflict(&self) -> bool {
        self.find().is_some_and(ClientError::is_conflict)
    }

    /// Returns the error and its sources, outermost first.
    pub fn chain(&self) -> impl Iterator<Item = &(dyn Error + 'static)> {
        let outermost: &(dyn Error + 'static) = &*self.source;
        std::iter::successors(Some(outermost), |&error| error.source())
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for ReconcileError {
    fn from(error: E) -> Self {
        Self::boxed(Box::new(error))
    }
}

impl fmt::Display for ReconcileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut message = String::new();
        for error in self.chain() {
            let text = error.to_string();
            // Many errors end with the text of their source: print it once.
            if message.is_empty() {
                message = text;
            } else if !message.ends_with(&text) {
                message = format!("{message}: {text}");
            }
        }
        f.write_str(&message)
    }
}

impl fmt::Debug for ReconcileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terminal = if self.terminal { " (terminal)" } else { "" };
        write!(f, "{self}{terminal}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("bottom")]
    struct Bottom;

    #[derive(Debug, thiserror::Error)]
    #[error("middle")]
    struct Middle(#[source] Bottom);

    #[derive(Debug, thiserror::Error)]
    #[error("top: {0}")]
    struct Top(#[source] Middle);

    fn fails() -> Result<(), ReconcileError> {
        Err(Top(Middle(Bottom)))?;
        Ok(())
    }

    #[test]
    fn display_prints_each_source_once() {
        assert_eq!(fails().unwrap_err().to_string(), "top: middle: bottom");
    }

    #[test]
    fn find_searches_the_sources() {
        let error = fails().unwrap_err();
        assert!(error.find::<Middle>().is_some());
        assert!(error.find::<fmt::Error>().is_none());
    }

    #[test]
    fn error_is_retried_unless_terminal() {
        let error = ReconcileError::new("no such size");
        assert!(!error.is_terminal());
        let error = error.terminal();
        assert!(error.is_terminal());
        assert_eq!(format!("{error:?}"), "no such size (terminal)");
    }
}
