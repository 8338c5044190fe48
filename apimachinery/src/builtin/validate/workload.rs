//! Validation of Deployments, ReplicaSets, StatefulSets, DaemonSets and ReplicationControllers.

use super::{Check, Constraint, FieldRule, array, claims, fields, items, names, pod, pod_template, text};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::IntErrorKind;

#[rustfmt::skip]
const ROLLING_UPDATE: &[FieldRule] = &[
    ("maxUnavailable", Constraint::Checked(Check::validate_count_or_percent)),
    ("maxUnavailable", Constraint::Checked(Check::limit_percent)),
    ("maxSurge", Constraint::Checked(Check::validate_count_or_percent)),
];
const RETENTION_POLICY: &[FieldRule] = &[
    ("whenDeleted", Constraint::OneOf(&["Retain", "Delete"])),
    ("whenScaled", Constraint::OneOf(&["Retain", "Delete"])),
];

/// The annotation by which a Deployment in an old version was rolled back.
const ROLLBACK_ANNOTATION: &str = "deprecated.deployment.rollback.to";

pub(super) fn validate_deployment(check: &mut Check, deployment: &Value) {
    let spec = &deployment["spec"];
    check.require_non_negative(spec, &["replicas"], "spec");
    pod_template::validate_selector_and_template(check, spec, "deployment");
    validate_deployment_strategy(check, &spec["strategy"]);
    check.require_non_negative(spec, &["minReadySeconds", "revisionHistoryLimit"], "spec");
    let revision = text(&deployment["metadata"]["annotations"], ROLLBACK_ANNOTATION);
    if let Some(revision) = revision.parse::<i64>().ok().filter(|revision| *revision < 0) {
        let detail = "must be greater than or equal to 0";
        check.invalid("spec.rollback.version", revision, detail);
    }
    if let Some(deadline) = spec["progressDeadlineSeconds"].as_i64() {
        check.require_non_negative(spec, &["progressDeadlineSeconds"], "spec");
        if deadline <= spec["minReadySeconds"].as_i64().unwrap_or_default() {
            check.invalid(
                "spec.progressDeadlineSeconds",
                deadline,
                "must be greater than minReadySeconds",
            );
        }
    }
}

fn validate_deployment_strategy(check: &mut Check, strategy: &Value) {
    let path = "spec.strategy.rollingUpdate";
    let rolling = &strategy["rollingUpdate"];
    match text(strategy, "type") {
        "Recreate" if rolling.is_object() => {
            check.forbidden(path, "may not be specified when strategy `type` is 'Recreate'");
        }
        "RollingUpdate" if rolling.is_null() => {
            check.required(path, "this should be defaulted and never be nil");
        }
        "RollingUpdate" => {
            check.apply(ROLLING_UPDATE, rolling, None, path);
            if is_zero(&rolling["maxUnavailable"]) && is_zero(&rolling["maxSurge"]) {
                let detail = "may not be 0 when `maxSurge` is 0";
                check.invalid(
                    &format!("{path}.maxUnavailable"),
                    rolling["maxUnavailable"].clone(),
                    detail,
                );
            }
        }
        "Recreate" => {}
        _ => check.not_supported("spec.strategy", strategy.clone(), ["Recreate", "RollingUpdate"]),
    }
}

pub(super) fn validate_replica_set(check: &mut Check, spec: &Value) {
    check.require_non_negative(spec, &["replicas", "minReadySeconds"], "spec");
    pod_template::validate_selector_and_template(check, spec, "deployment");
}

pub(super) fn validate_stateful_set(check: &mut Check, spec: &Value, is_new: bool) {
    let policy = text(spec, "podManagementPolicy");
    if !["OrderedReady", "Parallel"].contains(&policy) {
        check.invalid(
            "spec.podManagementPolicy",
            policy,
            "must be 'OrderedReady' or 'Parallel'",
        );
    }
    let strategy = &spec["updateStrategy"];
    match text(strategy, "type") {
        "OnDelete" if strategy["rollingUpdate"].is_object() => {
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            let value = strategy["rollingUpdate"].clone();
            check.invalid("spec.updateStrategy.rollingUpdate", value, detail);
        }
        "RollingUpdate" => check.require_non_negative(
            &strategy["rollingUpdate"],
            &["partition"],
            "spec.updateStrategy.rollingUpdate",
        ),
        "OnDelete" => {}
        _ => {
            let detail = "must be 'RollingUpdate' or 'OnDelete'";
            check.invalid("spec.updateStrategy", strategy.clone(), detail);
        }
    }
    let path = "spec.persistentVolumeClaimRetentionPolicy";
    check.apply(
        RETENTION_POLICY,
        &spec["persistentVolumeClaimRetentionPolicy"],
        None,
        path,
    );
    let service = text(spec, "serviceName");
    if is_new && !service.is_empty() {
        check.validate_format("spec.serviceName", service, names::label_errors);
    }
    for (claim, path) in items(spec, "volumeClaimTemplates", "spec").filter(|_| is_new) {
        claims::validate_claim_spec(check, &claim["spec"], &format!("{path}.spec"));
    }
    check.require_non_negative(spec, &["replicas", "minReadySeconds"], "spec");
    check.require_non_negative(&spec["ordinals"], &["start"], "spec.ordinals");
    pod_template::validate_selector_and_template(check, &with_claim_volumes(spec), "statefulset");
}

/// Returns the spec with its claim templates added to the volumes of the pod template.
fn with_claim_volumes(spec: &Value) -> Cow<'_, Value> {
    let claims = array(&spec["volumeClaimTemplates"]).iter();
    let volumes: BTreeMap<&str, Value> = claims
        .map(|claim| {
            let name = &claim["metadata"]["name"];
            let volume = json!({ "name": name, "persistentVolumeClaim": { "claimName": name } });
            (name.as_str().unwrap_or_default(), volume)
        })
        .collect();
    if volumes.is_empty() {
        return Cow::Borrowed(spec);
    }
    let mut spec = spec.clone();
    let own_volumes = spec["template"]["spec"]["volumes"].take();
    let own_volumes = array(&own_volumes).iter().cloned();
    let own_volumes = own_volumes.filter(|volume| !volumes.contains_key(text(volume, "name")));
    let own_volumes: Vec<Value> = own_volumes.collect();
    spec["template"]["spec"]["volumes"] = volumes.into_values().chain(own_volumes).collect();
    Cow::Owned(spec)
}

pub(super) fn validate_daemon_set(check: &mut Check, spec: &Value) {
    check.validate_label_selector(&spec["selector"], "spec.selector");
    pod_template::require_selector_match(check, spec);
    if pod_template::is_empty(&spec["selector"]) {
        check.invalid(
            "spec.selector",
            spec["selector"].clone(),
            "empty selector is invalid for daemonset",
        );
    }
    pod::validate_template(check, &spec["template"], "spec.template");
    pod_template::require_restart_always(check, spec, "DaemonSet");
    check.require_non_negative(spec, &["minReadySeconds", "revisionHistoryLimit"], "spec");
    let strategy = &spec["updateStrategy"];
    let path = "spec.updateStrategy.rollingUpdate";
    let rolling = &strategy["rollingUpdate"];
    match text(strategy, "type") {
        "RollingUpdate" => {
            check.apply(ROLLING_UPDATE, rolling, None, path);
            check.limit_percent(&rolling["maxSurge"], &format!("{path}.maxSurge"));
            match (is_zero(&rolling["maxUnavailable"]), is_zero(&rolling["maxSurge"])) {
                (true, true) => check.required(
                    &format!("{path}.maxUnavailable"),
                    "cannot be 0 when maxSurge is 0",
                ),
                (false, false) => {
                    let detail = "may not be set when maxUnavailable is non-zero";
                    check.invalid(&format!("{path}.maxSurge"), rolling["maxSurge"].clone(), detail);
                }
                _ => {}
            }
        }
        "OnDelete" => {}
        _ => check.not_supported(
            "spec.updateStrategy",
            strategy.clone(),
            ["RollingUpdate", "OnDelete"],
        ),
    }
}

pub(super) fn validate_replication_controller(check: &mut Check, spec: &Value) {
    check.require_non_negative(spec, &["replicas", "minReadySeconds"], "spec");
    let selector = &spec["selector"];
    if fields(selector).next().is_none() {
        check.required("spec.selector", "");
    }
    if check.require(&spec["template"], "spec.template") {
        let labels = &spec["template"]["metadata"]["labels"];
        if !fields(selector).all(|(key, value)| labels.get(key) == Some(value)) {
            pod_template::push_selector_mismatch(check, labels);
        }
        pod::validate_template(check, &spec["template"], "spec.template");
        pod_template::require_restart_always(check, spec, "ReplicationController");
    }
}

impl Check {
    /// Requires a non-negative number or a percentage.
    pub(super) fn validate_count_or_percent(&mut self, value: &Value, path: &str) {
        const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for \
                               validation is '[0-9]+%')";
        match value {
            Value::String(text) if parse_percent(text).is_none() => {
                self.invalid(path, text.as_str(), PERCENT);
            }
            Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => {
                let detail = "must be greater than or equal to 0";
                self.invalid(path, value.clone(), detail);
            }
            _ => {}
        }
    }

    /// Requires a percentage to be at most 100%.
    pub(super) fn limit_percent(&mut self, value: &Value, path: &str) {
        if let Some(text) = value
            .as_str()
            .filter(|text| parse_percent(text).is_some_and(|percent| percent > 100))
        {
            self.invalid(path, text, "must not be greater than 100%");
        }
    }
}

fn parse_percent(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%').filter(|digits| !digits.is_empty())?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// Whether a number or percentage is zero. Another text counts as the number that it is, or as zero.
fn is_zero(value: &Value) -> bool {
    let is_zero_text = |text: &str| match parse_percent(text) {
        Some(percent) => percent == 0,
        None => match text.parse::<i64>().map_err(|error| *error.kind()) {
            Ok(number) => number == 0,
            Err(kind) => !matches!(kind, IntErrorKind::PosOverflow | IntErrorKind::NegOverflow),
        },
    };
    value.as_i64() == Some(0) || value.as_str().is_some_and(is_zero_text)
}
