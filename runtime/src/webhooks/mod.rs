//! Webhooks: admission, conversion, and what serves them.
//!
//! - [`certificates`]: the certificate of the webhook server, and the CA bundles with which the API server verifies it.

pub(crate) mod certificates;
