//! Authentication, impersonation and authorization.

mod authenticator;
mod authorizer;
mod bootstrap;
mod client_certificate;
mod curve;
mod der;
mod impersonation;
mod rbac;
mod rbac_escalation;
mod service_account_tokens;
mod token_claims;
mod token_keys;
mod token_use;
mod user;

pub use authenticator::Authenticator;
pub(crate) use authenticator::parse_token_file;
pub use authorizer::{AuthorizationMode, Authorizer, ResourceAttributes};
pub(crate) use bootstrap::bootstrap;
pub(crate) use client_certificate::{may_identify, may_issue, user_from_certificate};
pub(crate) use impersonation::{ImpersonationModeCache, impersonate};
pub(crate) use rbac::rules;
pub(crate) use rbac_escalation::{EscalationError, check_escalation};
pub use service_account_tokens::{AuthenticatedToken, IssuedToken, ServiceAccountTokens};
pub(crate) use service_account_tokens::{BINDABLE_KINDS, TokenOptions};
pub(crate) use token_claims::NODE_NAME_EXTRA;
pub(crate) use token_keys::{PrivateKey, PublicKey};
pub(crate) use token_use::{LAST_USED_LABEL, TokenUse};
pub use user::User;
