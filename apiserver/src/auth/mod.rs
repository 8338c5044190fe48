//! Authentication, impersonation and authorization.

mod authenticator;
mod authorizer;
mod bootstrap;
mod client_certificate;
mod impersonation;
mod rbac;
mod rbac_escalation;
mod service_account_tokens;
mod signing_key;
mod user;

pub use authenticator::Authenticator;
pub(crate) use authenticator::parse_token_file;
pub use authorizer::{AuthorizationMode, Authorizer, ResourceAttributes};
pub(crate) use bootstrap::bootstrap;
pub(crate) use client_certificate::{may_identify, may_issue, user_from_certificate};
pub(crate) use impersonation::{ImpersonationModeCache, impersonate};
pub(crate) use rbac::rules;
pub(crate) use rbac_escalation::{EscalationError, check_escalation};
pub(crate) use service_account_tokens::{BINDABLE_KINDS, ISSUER, NODE_NAME_EXTRA};
pub use service_account_tokens::{IssuedToken, ServiceAccountTokens};
pub(crate) use signing_key::ALGORITHM;
pub use user::User;
