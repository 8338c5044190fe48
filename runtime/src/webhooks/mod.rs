//! Admission webhooks: the API server asks the operator before it stores an object.
//!
//! A [`Validator`] accepts or denies; a [`Defaulter`] changes the object first. Both are registered on
//! [`Setup`](crate::controller::Setup), with options on the returned [`WebhookBuilder`]:
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kubewright::{
//!     controller::Setup,
//!     webhooks::{AdmissionError, AdmissionRequest, Defaulter, Validation, Validator},
//! };
//!
//! struct Limits;
//!
//! impl Defaulter<ConfigMap> for Limits {
//!     async fn set_defaults(&self, map: &mut ConfigMap, _request: &AdmissionRequest) -> Result<(), AdmissionError> {
//!         map.data.get_or_insert_default().entry("limit".to_owned()).or_insert_with(|| "10".to_owned());
//!         Ok(())
//!     }
//! }
//!
//! impl Validator<ConfigMap> for Limits {
//!     async fn create(&self, map: &ConfigMap, _request: &AdmissionRequest) -> Result<Validation, AdmissionError> {
//!         let mut validation = Validation::new();
//!         let limit = map.data.as_ref().and_then(|data| data.get("limit")).map_or("", String::as_str);
//!         if limit.parse::<u32>().is_err() {
//!             validation.invalid("data.limit", limit, "must be a whole number");
//!         }
//!         Ok(validation)
//!     }
//! }
//!
//! fn register(setup: &mut Setup) {
//!     setup.defaulter::<ConfigMap>(Limits);
//!     setup.validator::<ConfigMap>(Limits).fail_closed();
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use kubewright::testing::Harness;
//! use serde_json::json;
//!
//! let test = Harness::new(register);
//! let map = json!({
//!     "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}, "data": {"limit": "ten"},
//! });
//! let denied = test.admit(AdmissionRequest::create(&map)).await.unwrap_err();
//! assert_eq!(denied.message, "ConfigMap \"a\" is invalid: data.limit: Invalid value: \"ten\": must be a whole number");
//! # }
//! ```
//!
//! Every replica serves reviews, before leader election. `manifests` prints the webhook configurations and the Service, without CA bundles.
//!
//! Reading order: `admission` (what a review is, and what answers it), `registration` (options and names), `configurations` (the objects
//! that `manifests` prints), `edited_fields` and `configuration_keeper` (put back what was edited in them), `server` (HTTPS) with
//! `idle_connections` and `write_timeout` (its limits), `router` (the handler of a path) with `rollout` (paths of another release), `admission_webhook` and `conversion_webhook` (the
//! handlers), `metrics`, `certificates` (the server's certificate, and the CA bundles with which the API server verifies it).

mod admission;
mod admission_webhook;
pub(crate) mod certificates;
pub(crate) mod configuration_keeper;
pub(crate) mod configurations;
mod conversion_webhook;
mod edited_fields;
mod idle_connections;
pub(crate) mod metrics;
pub(crate) mod registration;
mod rollout;
pub(crate) mod router;
pub(crate) mod server;
mod write_timeout;

pub use admission::{AdmissionError, AdmissionRequest, Defaulter, Operation, Validation, Validator};
pub use registration::{WebhookBuilder, WebhookError};
pub(crate) use {
    admission::AdmissionHandler, configurations::WebhookManifests, conversion_webhook::add_conversion,
    registration::Webhooks,
};
