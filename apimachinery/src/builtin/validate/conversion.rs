//! Validation of a definition's conversion.

use super::webhooks::{validate_accepted_versions, validate_client_config};
use super::{Check, Constraint, FieldRule, array};
use crate::field::FieldError;
use serde_json::Value;

const STRATEGY: &[FieldRule] = &[("strategy", Constraint::RequiredOneOf(&["None", "Webhook"]))];

/// Validates the field `conversion` of a CustomResourceDefinition's spec, at the given path.
///
/// `invalid_ca_bundle` says why the webhook's `caBundle` is refused: certificates are parsed by the caller, which also decides whether an
/// invalid bundle is allowed (kube-apiserver allows it until the definition is established, and where the bundle was invalid before).
pub fn validate_conversion(
    conversion: &Value,
    path: &str,
    invalid_ca_bundle: Option<&str>,
) -> Vec<FieldError> {
    let mut check = Check::default();
    check.apply(STRATEGY, conversion, None, path);
    let webhook = &conversion["webhook"];
    let (config, versions) = (&webhook["clientConfig"], &webhook["conversionReviewVersions"]);
    // kube-apiserver's internal types have these fields in `conversion`.
    let config_path = format!("{path}.webhookClientConfig");
    let versions_path = format!("{path}.conversionReviewVersions");
    if conversion["strategy"] == "Webhook" {
        if config.is_null() {
            check.required(&config_path, "required when strategy is set to Webhook");
        } else {
            validate_client_config(&mut check, config, &config_path);
            if let Some(detail) = invalid_ca_bundle {
                check.invalid(
                    &format!("{config_path}.caBundle"),
                    config["caBundle"].clone(),
                    detail,
                );
            }
        }
        if check.require(versions, &versions_path) {
            validate_accepted_versions(&mut check, versions, &versions_path);
        }
        return check.errors;
    }
    let detail = "should not be set when strategy is not set to Webhook";
    if !config.is_null() {
        check.forbidden(&config_path, detail);
    }
    if !array(versions).is_empty() {
        check.forbidden(&versions_path, detail);
    }
    check.errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What kube-apiserver 1.36.3 responds; more cases are in the recording of the differential tests.
    #[test]
    fn conversion_has_a_valid_webhook_exactly_with_its_strategy() {
        let webhook = |config: &Value, versions: &Value| json!({"strategy": "Webhook", "webhook": {"clientConfig": config, "conversionReviewVersions": versions}});
        let url = json!({"url": "https://a.dev"});
        let forbidden = "Forbidden: should not be set when strategy is not set to Webhook";
        let table = [
            (json!({"strategy": "None"}), vec![]),
            (webhook(&url, &json!(["v1"])), vec![]),
            (
                json!({"strategy": "None", "webhook": {"clientConfig": url, "conversionReviewVersions": ["v1"]}}),
                vec![
                    ("webhookClientConfig", forbidden),
                    ("conversionReviewVersions", forbidden),
                ],
            ),
            (
                json!({"strategy": "", "webhook": {"clientConfig": {"caBundle": "LS0="}}}),
                vec![("strategy", "Required value"), ("webhookClientConfig", forbidden)],
            ),
            (
                json!({"strategy": "Other"}),
                vec![(
                    "strategy",
                    "Unsupported value: \"Other\": supported values: \"None\", \"Webhook\"",
                )],
            ),
            (
                json!({"strategy": "Webhook"}),
                vec![
                    (
                        "webhookClientConfig",
                        "Required value: required when strategy is set to Webhook",
                    ),
                    ("conversionReviewVersions", "Required value"),
                ],
            ),
            (
                webhook(&json!({}), &json!(["v1"])),
                vec![(
                    "webhookClientConfig",
                    "Required value: exactly one of url or service is required",
                )],
            ),
            (
                webhook(&json!({"url": "http://a.dev"}), &json!(["v2"])),
                vec![
                    (
                        "webhookClientConfig.url",
                        "Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
                    ),
                    (
                        "conversionReviewVersions",
                        "Invalid value: [\"v2\"]: must include at least one of v1, v1beta1",
                    ),
                ],
            ),
            (
                webhook(
                    &json!({"service": {"namespace": "a", "name": "b", "port": 0}}),
                    &json!(["v1", "v1"]),
                ),
                vec![
                    (
                        "webhookClientConfig.service.port",
                        "Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
                    ),
                    (
                        "conversionReviewVersions[1]",
                        "Invalid value: \"v1\": duplicate version",
                    ),
                ],
            ),
        ];
        for (conversion, expected) in table {
            let found: Vec<_> = validate_conversion(&conversion, "spec.conversion", None)
                .iter()
                .map(ToString::to_string)
                .collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|(field, message)| format!("spec.conversion.{field}: {message}"))
                .collect();
            assert_eq!(found, expected, "{conversion}");
        }
    }
}
