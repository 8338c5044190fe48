//! Errors of patch requests.

use crate::field::FieldError;

/// A rejected patch, with the status that the real server returns.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PatchError {
    /// 400: the body is not a patch of this type.
    #[error("{0}")]
    BadRequest(String),
    /// 413: too many operations.
    #[error("{0}")]
    TooLarge(String),
    /// 422: the patch cannot be applied to the object. As on the real server, the message has no details; the field has them, for the log.
    #[error("the server rejected our request due to an error in our request")]
    Unprocessable(String),
    /// 422: the patched object cannot be decoded as its kind. The field error is the cause in the status details.
    #[error(" \"\" is invalid: {0}")]
    Invalid(FieldError),
    /// 500, with an empty reason: errors of the real server's merge that it does not map to a status.
    #[error("{0}")]
    Internal(String),
}

impl PatchError {
    /// The status code.
    pub fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::TooLarge(_) => 413,
            Self::Unprocessable(_) | Self::Invalid(_) => 422,
            Self::Internal(_) => 500,
        }
    }

    /// The cause in the status details, if any.
    pub fn cause(&self) -> Option<&FieldError> {
        match self {
            Self::Invalid(error) => Some(error),
            _ => None,
        }
    }

    /// The status reason.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "BadRequest",
            Self::TooLarge(_) => "RequestEntityTooLarge",
            Self::Unprocessable(_) | Self::Invalid(_) => "Invalid",
            Self::Internal(_) => "",
        }
    }
}
