//! The chart's default values: those of the manifests.

use serde_json::{Value, json};

use super::{
    Chart,
    deployment::{POD_VALUES, PodValue},
};
use crate::{
    Error,
    args::ChartCrds,
    yaml::{self, YamlError},
};

/// Returns `values.yaml`.
pub(super) fn text(chart: &Chart<'_>) -> Result<String, Error> {
    let deployment = chart.objects[chart.operator.deployment].value();
    let pod = &deployment["spec"]["template"]["spec"];
    let container = &pod["containers"][chart.operator.container];
    let image = chart.operator.image(chart.objects)?;
    let or = |value: &Value, default: Value| if value.is_null() { default } else { value.clone() };
    let mut text =
        String::from("# Values of the chart. `kubewright package helm` merges its changes with yours.\n");
    let mut add = |comment: &str, value: Value| -> Result<(), YamlError> {
        text += "\n";
        text.extend(comment.lines().map(|line| format!("# {line}\n")));
        text += &yaml::write(&value)?;
        Ok(())
    };
    let image = json!({
        "repository": image.name,
        "tag": image.tag.unwrap_or_default(),
        "digest": image.digest.unwrap_or_default(),
        "pullPolicy": or(&container["imagePullPolicy"], json!("")),
    });
    add("The operator's image.", json!({ "image": image }))?;
    let [secrets, others @ ..] = &POD_VALUES;
    let of_pod = |value: &PodValue| json!({value.name: or(&pod[value.field], (value.empty)())});
    add(secrets.comment, of_pod(secrets))?;
    if let Some(replicas) = deployment["spec"].get("replicas") {
        let comment = "With more than one replica, one is elected leader and the others stand by.";
        add(comment, json!({ "replicas": replicas }))?;
    }
    let resources = or(&container["resources"], json!({}));
    add(
        "Resources of the operator's container.",
        json!({ "resources": resources }),
    )?;
    let comment = "Environment variables of the operator's container, beside those of the manifests.";
    add(comment, json!({"env": []}))?;
    let comment = "Further flags of the operator; they replace those of the manifests.";
    add(comment, json!({"extraArgs": []}))?;
    let annotations = |metadata: &Value| or(&metadata["annotations"], json!({}));
    let of_pods = annotations(&deployment["spec"]["template"]["metadata"]);
    add(
        "Annotations of the operator's pods, and labels beside those of the manifests.",
        json!({ "podAnnotations": of_pods }),
    )?;
    add("", json!({"podLabels": {}}))?;
    for value in others {
        add(value.comment, of_pod(value))?;
    }
    let security = or(&container["securityContext"], json!({}));
    add("", json!({ "securityContext": security }))?;
    let account = chart.objects.iter().find(|object| chart.is_account(object));
    if let Some(account) = account {
        let annotations = annotations(&account.value()["metadata"]);
        let comment = "Annotations of the operator's ServiceAccount, such as its role in a cloud.";
        add(comment, json!({"serviceAccount": {"annotations": annotations}}))?;
    }
    let watched = chart.settings.watched();
    let (comment, watched) = if !chart.is_namespaced() {
        (
            "Namespaces that the operator watches, with permissions only there; none: all.",
            &[][..],
        )
    } else if watched == [chart.settings.namespace.clone()] {
        (
            "Namespaces that the operator watches; none: that of the release.",
            &[][..],
        )
    } else {
        (
            "Namespaces that the operator watches; none: that of the release.",
            watched,
        )
    };
    add(comment, json!({ "watchNamespaces": watched }))?;
    let comment = "Create the release's namespace, with the metadata of the manifests. `helm install --create-namespace` does it, too.";
    add(comment, json!({ "createNamespace": false }))?;
    if chart.crds == ChartCrds::Templates {
        let comment = "enable: install and upgrade the CustomResourceDefinitions.\n\
                       keep: do not delete them, and so all their objects, when the release is uninstalled.";
        add(comment, json!({"crds": {"enable": true, "keep": true}}))?;
    }
    if chart.has_webhooks() {
        let comment = if chart.converts() {
            "Webhooks; they convert objects between versions, so they cannot be switched off."
        } else {
            "Admission webhooks."
        };
        add(comment, json!({"webhooks": {"enable": true}}))?;
    }
    add(
        "Metrics, and what scrapes them.",
        json!({"metrics": {"enable": true}}),
    )?;
    Ok(text)
}
