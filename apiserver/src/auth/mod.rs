//! Who asks, and whether they may.

mod authenticator;
mod authorizer;
mod bootstrap;
mod certificates;
mod escalation;
mod impersonation;
mod rbac;
mod reviews;
mod tokens;
mod user;

pub use authenticator::Authenticator;
pub(crate) use authenticator::read_tokens;
pub use authorizer::{Access, Authorizer, Mode};
pub(crate) use bootstrap::bootstrap;
pub(crate) use certificates::user as certificate_user;
pub(crate) use escalation::{Ungranted, may_grant};
pub(crate) use impersonation::{Impersonators, impersonate};
pub(crate) use reviews::review;
pub use tokens::ServiceAccountTokens;
pub(crate) use tokens::{BOUND, ISSUER};
pub use user::User;
