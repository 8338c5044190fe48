//! When a request is sent again: after a conflict by the caller (`on_conflict`), after a refusal that passes by the client itself
//! (`resend`), and how long the API server asks to wait (`retry_after`).

mod on_conflict;
pub(super) mod resend;
pub(super) mod retry_after;

pub use on_conflict::retry_on_conflict;
