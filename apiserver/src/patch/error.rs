//! Why a patch cannot be applied.

use crate::field::FieldError;

/// A refused patch, with the status that the real server answers with.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PatchError {
    /// 400: the body is no patch of this kind.
    #[error("{0}")]
    BadRequest(String),
    /// 413: too many operations.
    #[error("{0}")]
    TooLarge(String),
    /// 422: the patch does not fit the object. The real server says no more than that; what is wrong stands in the field, for a log.
    #[error("the server rejected our request due to an error in our request")]
    Unprocessable(String),
    /// 422: the outcome is no object of the kind. The field is that of the cause in the details.
    #[error(" \"\" is invalid: {0}")]
    Invalid(FieldError),
    /// 500, with an empty reason: what the real server's merge stumbles over and does not map to a status.
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

    /// The cause in the details of the status, if there is one.
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
