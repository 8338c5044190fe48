//! Why a reconcile failed.

use std::{error::Error, fmt};

use crate::{
    ApiResource, NamespacedName,
    cache::{DecodeError, LookupError},
    client::ClientError,
};

/// Why a reconcile failed. Any standard error becomes one with `?`.
///
/// Displays the error and its sources, separated by `: `. It is no `std::error::Error` itself: that lets `?` take all of them.
pub struct ReconcileError {
    source: Box<dyn Error + Send + Sync>,
    terminal: bool,
}

impl ReconcileError {
    /// An error that is only a message.
    pub fn new(message: impl fmt::Display) -> Self {
        Self::boxed(message.to_string().into())
    }

    /// An error whose type is hidden already.
    pub fn boxed(source: Box<dyn Error + Send + Sync>) -> Self {
        Self {
            source,
            terminal: false,
        }
    }

    /// Says that trying again is of no use: the key is left alone until something changes. The failure is logged and counted.
    pub fn terminal(mut self) -> Self {
        self.terminal = true;
        self
    }

    /// See [`terminal`](Self::terminal).
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// The error as an `E`, when it or one of its sources is one.
    pub fn find<E: Error + 'static>(&self) -> Option<&E> {
        self.chain().find_map(|error| error.downcast_ref())
    }

    /// Whether it says that the cached object of that kind and name does not decode.
    pub(super) fn is_decode_of(&self, kind: &ApiResource, key: &NamespacedName) -> bool {
        let decode = match self.find() {
            // It stands in for the decode error: its source is that one's source.
            Some(LookupError::Decode(decode)) => Some(decode),
            _ => self.find::<DecodeError>(),
        };
        decode.is_some_and(|decode| decode.kind == kind.kind && decode.name == *key)
    }

    /// Whether it says that an object changed since it was read.
    pub(super) fn is_conflict(&self) -> bool {
        self.find().is_some_and(ClientError::is_conflict)
    }

    /// The error and its sources, outermost first.
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
        let mut said = String::new();
        for error in self.chain() {
            let text = error.to_string();
            // Many errors end with their source's text: say it once.
            if said.is_empty() {
                said = text;
            } else if !said.ends_with(&text) {
                said = format!("{said}: {text}");
            }
        }
        f.write_str(&said)
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
    fn prints_each_source_once() {
        assert_eq!(fails().unwrap_err().to_string(), "top: middle: bottom");
    }

    #[test]
    fn finds_an_error_among_the_sources() {
        let error = fails().unwrap_err();
        assert!(error.find::<Middle>().is_some());
        assert!(error.find::<fmt::Error>().is_none());
    }

    #[test]
    fn is_retried_unless_terminal() {
        let error = ReconcileError::new("no such size");
        assert!(!error.is_terminal());
        let error = error.terminal();
        assert!(error.is_terminal());
        assert_eq!(format!("{error:?}"), "no such size (terminal)");
    }
}
