//! Contexts of the files of a kind's webhooks.

use serde::Serialize;

use crate::Template;

/// The start of `src/webhooks/<module>.rs`: the type and its registration.
#[derive(Debug, Clone, Serialize)]
pub struct WebhookModule<'a> {
    /// The kind, in UpperCamelCase.
    pub kind: &'a str,
    /// The path of the kind's type.
    pub path: &'a str,
    /// Whether the kind is one of the project.
    pub is_own: bool,
    /// The names of `kubewright::webhooks` that the file uses, separated by commas.
    pub imports: &'a str,
    /// Whether it has a validating webhook.
    pub validating: bool,
    /// Whether it has a defaulting webhook.
    pub defaulting: bool,
}

impl Template for WebhookModule<'_> {
    const SOURCE: &'static str = "webhook/module.rs.hbs";
}

/// The implementation of `Validator`.
#[derive(Debug, Clone, Serialize)]
pub struct WebhookValidator<'a> {
    /// The kind, in UpperCamelCase.
    pub kind: &'a str,
    /// The API group of the project, for the names of labels.
    pub group: &'a str,
    /// Whether the kind's spec has the fields of the scaffold.
    pub is_scaffold: bool,
}

impl Template for WebhookValidator<'_> {
    const SOURCE: &'static str = "webhook/validator.rs.hbs";
}

/// The implementation of `Defaulter`.
#[derive(Debug, Clone, Serialize)]
pub struct WebhookDefaulter<'a> {
    /// The kind, in UpperCamelCase.
    pub kind: &'a str,
    /// The API group of the project, for the names of annotations.
    pub group: &'a str,
    /// Whether the kind's spec has the fields of the scaffold.
    pub is_scaffold: bool,
}

impl Template for WebhookDefaulter<'_> {
    const SOURCE: &'static str = "webhook/defaulter.rs.hbs";
}

/// `tests/<module>_webhook.rs`: calls of the webhooks, by the test and by an API server.
#[derive(Debug, Clone, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the conditions of a template")]
pub struct WebhookTest<'a> {
    /// The crate name in Rust code.
    pub crate_name: &'a str,
    /// The kind, in UpperCamelCase.
    pub kind: &'a str,
    /// The path of the kind's type, if it is one of the project.
    pub path: &'a str,
    /// The API group of the project, for the names of labels and annotations.
    pub group: &'a str,
    /// A valid object, as JSON.
    pub example: &'a str,
    /// Whether the kind is one of the project.
    pub is_own: bool,
    /// Whether the kind's spec has the fields of the scaffold.
    pub is_scaffold: bool,
    /// Whether an API server accepts the example.
    pub in_cluster: bool,
    /// Whether there is a validating webhook.
    pub validating: bool,
    /// Whether there is a defaulting webhook.
    pub defaulting: bool,
}

impl Template for WebhookTest<'_> {
    const SOURCE: &'static str = "webhook/test.rs.hbs";
}
