//! Validation of Jobs.

use super::{Check, job_policies, job_status, job_update, names, pod, pod_template, text};
use serde_json::Value;

const NON_NEGATIVE_FIELDS: [&str; 7] = [
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
];
const MAX_PARALLELISM_INDEXED: i64 = 100_000;
const MAX_FAILED_INDEXES: i64 = 100_000;
/// Above this number of completions, parallelism and failed indexes have lower limits.
const MANY_COMPLETIONS: i64 = 100_000;
const MAX_WITH_MANY_COMPLETIONS: i64 = 10_000;
const MAX_MANAGED_BY_BYTES: usize = 63;

pub(super) fn validate_job(check: &mut Check, job: &Value, old: Option<&Value>) {
    // A job without uid has no selector yet.
    let has_uid = !text(&job["metadata"], "uid").is_empty();
    if has_uid {
        validate_generated_selector(check, job);
    }
    validate_spec(check, &job["spec"], "spec");
    if has_uid {
        validate_job_selector(check, &job["spec"]);
    }
    validate_pod_host_names(check, job);
    if let Some(old) = old {
        job_update::validate_update(check, job, old);
        if job["status"] != old["status"] {
            job_status::validate_job_status(check, job, old);
        }
    }
}

/// Checks that the pods of an indexed job, which are named after job and index, have valid host names.
fn validate_pod_host_names(check: &mut Check, job: &Value) {
    let completions = job["spec"]["completions"].as_i64().unwrap_or_default();
    if job["spec"]["completionMode"] == "Indexed" && completions > 0 {
        let name = text(&job["metadata"], "name");
        let last_host_name = format!("{name}-{}", completions - 1);
        if !names::is_label(&last_host_name) {
            let detail = format!("will not able to create pod with invalid DNS label: {last_host_name}");
            check.invalid("metadata.name", name, detail);
        }
    }
}

/// Validates a generated selector.
fn validate_generated_selector(check: &mut Check, job: &Value) {
    let spec = &job["spec"];
    if spec["manualSelector"] == true || spec["selector"].is_null() {
        return;
    }
    let (uid, name) = (text(&job["metadata"], "uid"), text(&job["metadata"], "name"));
    let expected = [
        ("controller-uid", uid),
        ("job-name", name),
        ("batch.kubernetes.io/controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
    ];
    let actual = &spec["template"]["metadata"]["labels"];
    for (label, expected) in expected {
        let path = format!("spec.template.metadata.labels[{label}]");
        let detail = format!("must be '{expected}'");
        match actual.get(label) {
            None => check.required(&path, detail),
            Some(value) if *value != expected => check.invalid(&path, actual.clone(), detail),
            Some(_) => {}
        }
    }
    let labels = expected.map(|(label, value)| (label.to_owned(), value.into()));
    let labels = Value::Object(labels.into_iter().collect());
    let selector = &spec["selector"];
    if pod_template::is_valid(selector) && !pod_template::matches(selector, &labels) {
        let detail = "`selector` not auto-generated";
        check.invalid("spec.selector", selector.clone(), detail);
    }
}

/// Requires a job to select its own pods.
fn validate_job_selector(check: &mut Check, spec: &Value) {
    let selector = &spec["selector"];
    if selector.is_null() {
        check.required("spec.selector", "");
    } else {
        check.validate_label_selector(selector, "spec.selector");
    }
    pod_template::require_selector_match(check, spec);
}

/// Validates the spec of a job, or of the job template of a cron job.
pub(super) fn validate_spec(check: &mut Check, spec: &Value, path: &str) {
    check.require_non_negative(spec, &NON_NEGATIVE_FIELDS, path);
    if !spec["maxFailedIndexes"].is_null() && spec["backoffLimitPerIndex"].is_null() {
        let detail = "when maxFailedIndexes is specified";
        check.required(&format!("{path}.backoffLimitPerIndex"), detail);
    }
    if let Some(manager) = spec["managedBy"].as_str() {
        let field = format!("{path}.managedBy");
        validate_domain_path(check, manager, &field);
        check.limit_bytes(manager, MAX_MANAGED_BY_BYTES, &field);
    }
    validate_completion_mode(check, spec, path);
    job_policies::validate_pod_failure_policy(check, spec, path);
    job_policies::validate_success_policy(check, spec, path);
    let replacement: &[&str] = if spec["podFailurePolicy"].is_object() {
        &["Failed"]
    } else {
        &["Failed", "TerminatingOrFailed"]
    };
    check.require_supported(spec, "podReplacementPolicy", path, replacement);
    pod::validate_template(check, &spec["template"], &format!("{path}.template"));
    let field = format!("{path}.template.spec.restartPolicy");
    match text(&spec["template"]["spec"], "restartPolicy") {
        "" | "Always" => check.required(&field, "valid values: \"OnFailure\", \"Never\""),
        policy @ "OnFailure" if spec["podFailurePolicy"].is_object() => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            check.invalid(&field, policy, detail);
        }
        "Never" | "OnFailure" => {}
        other => check.not_supported(&field, other, ["OnFailure", "Never"]),
    }
}

/// Validates the completion mode and the fields of indexed jobs.
fn validate_completion_mode(check: &mut Check, spec: &Value, path: &str) {
    let number = |name: &str| spec[name].as_i64();
    let (completions, max_failed) = (number("completions"), number("maxFailedIndexes"));
    let mut too_many = |name: &str, max: i64, reason: &str| {
        if let Some(number) = number(name).filter(|number| *number > max) {
            let detail = format!("must be less than or equal to {max}{reason}");
            check.invalid(&format!("{path}.{name}"), number, detail);
        }
    };
    if spec["completionMode"] == "Indexed" {
        too_many(
            "parallelism",
            MAX_PARALLELISM_INDEXED,
            " when completion mode is Indexed",
        );
        too_many("maxFailedIndexes", MAX_FAILED_INDEXES, "");
        let many = completions.is_some_and(|completions| completions > MANY_COMPLETIONS)
            && !spec["backoffLimitPerIndex"].is_null();
        if many {
            let reason = format!(
                " when completions are above {MANY_COMPLETIONS} and used with backoff limit per index"
            );
            too_many("parallelism", MAX_WITH_MANY_COMPLETIONS, &reason);
            too_many("maxFailedIndexes", MAX_WITH_MANY_COMPLETIONS, &reason);
        }
        if many && max_failed.is_none() {
            let detail = format!("must be specified when completions is above {MANY_COMPLETIONS}");
            check.required(&format!("{path}.maxFailedIndexes"), detail);
        }
        match (completions, max_failed) {
            (None, _) => {
                check.required(&format!("{path}.completions"), "when completion mode is Indexed");
            }
            (Some(completions), Some(max_failed)) if max_failed > completions => {
                let detail = "must be less than or equal to completions";
                check.invalid(&format!("{path}.maxFailedIndexes"), max_failed, detail);
            }
            _ => {}
        }
        return;
    }
    check.require_supported(spec, "completionMode", path, &["NonIndexed", "Indexed"]);
    if matches!(spec["completionMode"].as_str(), None | Some("NonIndexed")) {
        for name in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if let Some(number) = number(name) {
                let detail = "requires indexed completion mode";
                check.invalid(&format!("{path}.{name}"), number, detail);
            }
        }
    }
}

/// Validates a domain-prefixed path, such as `acme.io/foo`.
pub(super) fn validate_domain_path(check: &mut Check, text: &str, field: &str) {
    if text.is_empty() {
        return check.required(field, "");
    }
    let parts = text.split_once('/');
    let Some((host, path)) = parts.filter(|(host, path)| !host.is_empty() && !path.is_empty()) else {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return check.invalid(field, text, detail);
    };
    check.validate_format(field, host, names::subdomain_errors);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !path.bytes().all(fits) {
        let detail = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
        check.invalid(field, path, detail);
    }
}
