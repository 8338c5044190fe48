//! Why a patch cannot be applied.

/// A refused patch, with the status that the real server answers with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
            Self::Unprocessable(_) => 422,
            Self::Internal(_) => 500,
        }
    }

    /// The status reason.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "BadRequest",
            Self::TooLarge(_) => "RequestEntityTooLarge",
            Self::Unprocessable(_) => "Invalid",
            Self::Internal(_) => "",
        }
    }
}
