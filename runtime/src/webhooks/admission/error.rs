//! [`AdmissionError`]: why a webhook does not admit a write, or cannot decide.

use std::{error::Error, fmt};

use super::Validation;

/// Why a webhook does not admit a write, or cannot decide about it. `?` converts every standard error.
///
/// [`forbidden`](Self::forbidden), and a [`Validation`] with errors, deny the write. Every other error is a failure of the webhook: it is
/// logged, and the failure policy decides about the write.
pub struct AdmissionError(pub(super) ErrorKind);

pub(super) enum ErrorKind {
    Invalid(Validation),
    Forbidden(String),
    Failed(Box<dyn Error + Send + Sync>),
}

impl AdmissionError {
    /// Denies the write with a message, for reasons that no field has. The writer reads `admission webhook "…" denied the request: MESSAGE`,
    /// with code 403.
    pub fn forbidden(message: impl fmt::Display) -> Self {
        Self(ErrorKind::Forbidden(message.to_string()))
    }

    /// Returns a failure with a message: the webhook cannot decide.
    pub fn new(message: impl fmt::Display) -> Self {
        Self(ErrorKind::Failed(message.to_string().into()))
    }
}

/// Denies the write, with the errors of the validation: for a [`Defaulter`](super::Defaulter).
impl From<Validation> for AdmissionError {
    fn from(validation: Validation) -> Self {
        Self(ErrorKind::Invalid(validation))
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for AdmissionError {
    fn from(error: E) -> Self {
        Self(ErrorKind::Failed(Box::new(error)))
    }
}

impl fmt::Display for AdmissionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ErrorKind::Invalid(validation) => write!(f, "invalid: {}", validation.message()),
            ErrorKind::Forbidden(message) => write!(f, "forbidden: {message}"),
            ErrorKind::Failed(error) => {
                let mut text = error.to_string();
                for error in std::iter::successors(error.source(), |&error| error.source()) {
                    let source = error.to_string();
                    // Many errors end with the text of their source: print it once.
                    if !text.ends_with(&source) {
                        text = format!("{text}: {source}");
                    }
                }
                f.write_str(&text)
            }
        }
    }
}

impl fmt::Debug for AdmissionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
