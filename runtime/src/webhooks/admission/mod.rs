//! Admission reviews: the request, what answers it, and the answer as bytes. Nothing here knows HTTP.
//!
//! Reading order: `request`, `validator` with its result `validation`, `defaulter`, `error`, then `review`, which decodes a review, calls
//! one of the two and encodes the answer; `refusal` has the statuses of denials. `sent_version` converts reviews in other versions. `patch` computes the
//! JSON patch of a defaulter.

mod defaulter;
mod error;
mod patch;
mod refusal;
mod request;
mod review;
mod sent_version;
mod validation;
mod validator;

pub use defaulter::Defaulter;
pub use error::AdmissionError;
pub use request::{AdmissionRequest, Operation};
pub(crate) use review::{AdmissionHandler, AdmissionOutcome, ReviewFailure};
pub use validation::Validation;
pub use validator::Validator;
