//! What values change in the operator's Deployment.

use serde_json::{Map, Value, json};

use super::{
    Chart, METRICS, WEBHOOKS,
    expressions::{expression, raw, when},
    namespaces, template,
};
use crate::yaml::YamlError;

const WATCH_FLAG: &str = "--watch-namespace=";
const METRICS_FLAG: &str = "--metrics-bind-address=";
const WEBHOOK_FLAG: &str = "--webhook-bind-address=";

/// A field of the pod that a value of the chart replaces; the manifests have its default.
pub(super) struct PodValue {
    /// The field of the pod's spec.
    pub(super) field: &'static str,
    /// The value.
    pub(super) name: &'static str,
    /// The value if the manifests do not have the field.
    pub(super) empty: fn() -> Value,
    /// The comment in `values.yaml`.
    pub(super) comment: &'static str,
}

/// The fields, in the order of `values.yaml`.
pub(super) const POD_VALUES: [PodValue; 7] = [
    PodValue {
        field: "imagePullSecrets",
        name: "imagePullSecrets",
        empty: || json!([]),
        comment: "",
    },
    PodValue {
        field: "nodeSelector",
        name: "nodeSelector",
        empty: || json!({}),
        comment: "Where the operator's pods run.",
    },
    PodValue {
        field: "tolerations",
        name: "tolerations",
        empty: || json!([]),
        comment: "",
    },
    PodValue {
        field: "affinity",
        name: "affinity",
        empty: || json!({}),
        comment: "",
    },
    PodValue {
        field: "topologySpreadConstraints",
        name: "topologySpreadConstraints",
        empty: || json!([]),
        comment: "",
    },
    PodValue {
        field: "priorityClassName",
        name: "priorityClassName",
        empty: || json!(""),
        comment: "",
    },
    PodValue {
        field: "securityContext",
        name: "podSecurityContext",
        empty: || json!({}),
        comment: "Security contexts of the pods and of the operator's container.",
    },
];

/// Replaces what values set by expressions.
pub(super) fn parameterize(chart: &Chart<'_>, deployment: &mut Value) -> Result<(), YamlError> {
    if deployment["spec"].get("replicas").is_some() {
        deployment["spec"]["replicas"] = raw("replicas: {{ $.Values.replicas }}");
    }
    if let Some(template) = deployment.pointer_mut("/spec/template") {
        set_metadata(template);
    }
    let Some(pod) = deployment
        .pointer_mut("/spec/template/spec")
        .and_then(Value::as_object_mut)
    else {
        return Ok(());
    };
    for value in &POD_VALUES {
        pod.insert(value.field.to_owned(), yaml_value(value.field, value.name));
    }
    if chart.has_webhooks() {
        when_items(pod, "volumes", WEBHOOKS, is_webhook_volume)?;
    }
    let container = pod
        .get_mut("containers")
        .and_then(|list| list.get_mut(chart.operator.container));
    let Some(container) = container.and_then(Value::as_object_mut) else {
        return Ok(());
    };
    let optional = |value: &str, separator: char| {
        let (with, dot, end) = (
            expression(&format!("with {value}")),
            expression("."),
            expression("end"),
        );
        format!("{with}{separator}{dot}{end}")
    };
    let repository = expression("$.Values.image.repository");
    let (tag, digest) = (
        optional("$.Values.image.tag", ':'),
        optional("$.Values.image.digest", '@'),
    );
    let image = format!("{repository}{tag}{digest}");
    container.insert("image".to_owned(), image.into());
    let policy = "{{- with $.Values.image.pullPolicy }}\nimagePullPolicy: {{ . }}\n{{- end }}";
    container.insert("imagePullPolicy".to_owned(), raw(policy));
    for field in ["resources", "securityContext"] {
        container.insert(field.to_owned(), yaml_value(field, field));
    }
    append(container, "env", "env");
    when_items(container, "ports", METRICS, |port| port["name"] == "metrics")?;
    if chart.has_webhooks() {
        when_items(container, "ports", WEBHOOKS, |port| port["name"] == "webhooks")?;
        when_items(container, "volumeMounts", WEBHOOKS, is_webhook_volume)?;
    }
    set_args(chart, container)
}

/// Sets the metadata of the pods.
fn set_metadata(template: &mut Value) {
    let metadata = &mut template["metadata"];
    metadata["annotations"] = yaml_value("annotations", "podAnnotations");
    // Those of the manifests stay: the Deployment selects by them.
    if let Some(metadata) = metadata.as_object_mut() {
        append(metadata, "labels", "podLabels");
    }
}

/// Adds the items or fields of a value to those of a list or map.
fn append(parent: &mut Map<String, Value>, field: &str, value: &str) {
    let lines = raw(&format!(
        "{{{{- with $.Values.{value} }}}}\n{{{{- toYaml . | nindent {INDENT} }}}}\n{{{{- end }}}}",
        INDENT = template::INDENT
    ));
    match parent.get_mut(field) {
        Some(Value::Array(items)) if !items.is_empty() => items.push(lines),
        // Behind all others: no label begins with a tilde.
        Some(Value::Object(fields)) if !fields.is_empty() => drop(fields.insert("~".to_owned(), lines)),
        _ => drop(parent.insert(field.to_owned(), yaml_value(field, value))),
    }
}

fn is_webhook_volume(volume: &Value) -> bool {
    volume["name"] == "webhook-certificate"
}

/// Returns an entry whose value is that of the chart, if it is not empty.
pub(super) fn yaml_value(key: &str, value: &str) -> Value {
    raw(&format!(
        "{{{{- with $.Values.{value} }}}}\n{key}:\n  {{{{- toYaml . | nindent {INDENT} }}}}\n{{{{- end }}}}",
        INDENT = template::INDENT
    ))
}

/// Adds the condition to the items that `is_conditional` accepts. Without other items, the list itself is conditional.
fn when_items(
    parent: &mut Map<String, Value>,
    key: &str,
    condition: &str,
    is_conditional: impl Fn(&Value) -> bool,
) -> Result<(), YamlError> {
    let Some(items) = parent.get_mut(key).and_then(Value::as_array_mut) else {
        return Ok(());
    };
    if !items.is_empty() && items.iter().all(&is_conditional) {
        let lines = template::text(&json!({key: items}))?;
        parent.insert(key.to_owned(), raw(&when(condition, &lines)));
        return Ok(());
    }
    for item in items.iter_mut().filter(|item| is_conditional(item)) {
        *item = raw(&when(condition, &template::item(item)?));
    }
    Ok(())
}

/// Sets the flags that depend on values.
fn set_args(chart: &Chart<'_>, container: &mut Map<String, Value>) -> Result<(), YamlError> {
    let mut args = container
        .get("args")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let mut conditions = Vec::new();
    let mut switches = vec![(METRICS, METRICS_FLAG)];
    if chart.has_webhooks() {
        switches.push((WEBHOOKS, WEBHOOK_FLAG));
    }
    let position = |args: &[Value], flag: &str| {
        let mut found = args.iter().map(|arg| arg.as_str().unwrap_or_default());
        found.position(|arg| arg.starts_with(flag))
    };
    if chart.is_namespaced() {
        let joined = expression(&format!(r#"join "," {}"#, namespaces::WATCHED));
        let flag: Value = format!("{WATCH_FLAG}{joined}").into();
        match position(&args, WATCH_FLAG) {
            Some(index) => args[index] = flag,
            None => args.push(flag),
        }
    } else if position(&args, WATCH_FLAG).is_none() {
        let lines = format!("- {WATCH_FLAG}{{{{ join \",\" $.Values.watchNamespaces }}}}\n");
        conditions.push("$.Values.watchNamespaces".to_owned());
        args.push(raw(&when("$.Values.watchNamespaces", &lines)));
    }
    for (value, flag) in switches {
        let off = format!("- {flag}0\n");
        let condition = format!("not {value}");
        if let Some(index) = position(&args, flag) {
            let on = template::item(&args[index])?;
            args[index] = raw(&format!(
                "{{{{- if {value} }}}}\n{on}{{{{- else }}}}\n{off}{{{{- end }}}}\n"
            ));
        } else {
            conditions.push(format!("({condition})"));
            args.push(raw(&when(&condition, &off)));
        }
    }
    let extra = "- {{ . | quote }}\n";
    conditions.push("$.Values.extraArgs".to_owned());
    args.push(raw(&format!(
        "{{{{- range $.Values.extraArgs }}}}\n{extra}{{{{- end }}}}\n"
    )));
    let all_conditional = args.len() == conditions.len();
    let value = Value::Array(args);
    if all_conditional {
        let lines = template::text(&json!({"args": value}))?;
        let condition = match conditions.as_slice() {
            [only] => only.clone(),
            several => format!("or {}", several.join(" ")),
        };
        container.insert("args".to_owned(), raw(&when(&condition, &lines)));
    } else {
        container.insert("args".to_owned(), value);
    }
    Ok(())
}
