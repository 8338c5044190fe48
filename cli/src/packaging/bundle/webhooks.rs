//! Webhooks as OLM installs them: it makes the Service, and mounts a certificate.

use serde_json::{Map, Value, json};

use super::{Bundle, CRD, ManifestObject};
use crate::Error;

/// Where OLM mounts the certificate.
pub(super) const CERTIFICATE_FOLDER: &str = "/tmp/k8s-webhook-server/serving-certs";

/// The fields of webhooks that OLM takes over as they are.
const COPIED: [&str; 8] = [
    "admissionReviewVersions",
    "failurePolicy",
    "matchPolicy",
    "objectSelector",
    "reinvocationPolicy",
    "rules",
    "sideEffects",
    "timeoutSeconds",
];
/// The fields that OLM sets itself, or that have another name there.
const REPLACED: [&str; 3] = ["clientConfig", "name", "namespaceSelector"];

/// Returns `webhookdefinitions`.
pub(super) fn definitions(bundle: &Bundle<'_>) -> Result<Vec<Value>, Error> {
    let mut definitions = Vec::new();
    for object in bundle.objects {
        let kind = match object.kind() {
            "ValidatingWebhookConfiguration" => "ValidatingAdmissionWebhook",
            "MutatingWebhookConfiguration" => "MutatingAdmissionWebhook",
            _ => continue,
        };
        let webhooks = object.value()["webhooks"].as_array().into_iter().flatten();
        for (index, webhook) in webhooks.enumerate() {
            let place = format!("webhooks[{index}]");
            let fields = webhook.as_object().into_iter().flatten();
            for (field, _) in fields.filter(|(field, _)| !COPIED.contains(&field.as_str())) {
                if !REPLACED.contains(&field.as_str()) {
                    let fix = format!(
                        "OLM's webhooks have no `{field}`: remove it, or do the check in the operator"
                    );
                    return Err(object.error(&format!("{place}.{field}"), fix).into());
                }
            }
            let mut definition = definition(bundle, object, &place, &webhook["clientConfig"])?;
            definition.insert("generateName".to_owned(), webhook["name"].clone());
            definition.insert("type".to_owned(), kind.into());
            for field in COPIED {
                if let Some(value) = webhook.get(field) {
                    definition.insert(field.to_owned(), value.clone());
                }
            }
            definitions.push(definition.into());
        }
    }
    for object in bundle.objects.iter().filter(|object| converts(object)) {
        let webhook = &object.value()["spec"]["conversion"]["webhook"];
        let mut definition = definition(
            bundle,
            object,
            "spec.conversion.webhook",
            &webhook["clientConfig"],
        )?;
        let (name, own) = (object.name(), json!(object.name()));
        definition.insert(
            "generateName".to_owned(),
            format!("convert-{}", name.replace('.', "-")).into(),
        );
        definition.insert("type".to_owned(), "ConversionWebhook".into());
        definition.insert("sideEffects".to_owned(), "None".into());
        let versions = webhook["conversionReviewVersions"].clone();
        definition.insert("admissionReviewVersions".to_owned(), versions);
        definition.insert("conversionCRDs".to_owned(), json!([own]));
        definitions.push(definition.into());
    }
    Ok(definitions)
}

/// Whether a CRD is converted by a webhook.
pub(super) fn converts(object: &ManifestObject) -> bool {
    object.kind() == CRD && object.value().pointer("/spec/conversion/webhook").is_some()
}

/// Returns a warning if OLM's webhooks review more than those of the manifests.
pub(super) fn warnings(bundle: &Bundle<'_>) -> Option<String> {
    let configurations = bundle
        .objects
        .iter()
        .filter(|object| object.kind().ends_with("WebhookConfiguration"));
    let mut selecting = configurations.filter(|object| {
        let mut webhooks = object.value()["webhooks"].as_array().into_iter().flatten();
        webhooks.any(|webhook| webhook.get("namespaceSelector").is_some())
    });
    let object = selecting.next()?;
    let message = "OLM sets the `namespaceSelector` of webhooks itself: they also review objects in the operator's own namespace";
    Some(object.error("webhooks[0].namespaceSelector", message).to_string())
}

/// Returns a CRD without the annotation by which cert-manager writes the CA bundle: OLM does it.
pub(super) fn without_injected_bundle(definition: &Value) -> Value {
    let mut definition = definition.clone();
    if let Some(metadata) = definition["metadata"].as_object_mut() {
        let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut);
        let is_empty = annotations.is_some_and(|annotations| {
            annotations.remove("cert-manager.io/inject-ca-from");
            annotations.is_empty()
        });
        if is_empty {
            metadata.remove("annotations");
        }
    }
    definition
}

/// Returns the fields that all webhooks have: the Deployment, ports and path.
fn definition(
    bundle: &Bundle<'_>,
    object: &ManifestObject,
    place: &str,
    config: &Value,
) -> Result<Map<String, Value>, Error> {
    let service = &config["service"];
    let mut services = bundle.objects.iter().filter(|object| object.kind() == "Service");
    let Some(found) = services.find(|found| service["name"] == found.name()) else {
        let fix = "OLM's webhooks are served by the operator, and the manifests have no Service of the one that is called here";
        return Err(object.error(&format!("{place}.clientConfig"), fix).into());
    };
    let port = service["port"].as_u64().unwrap_or(443);
    let mut ports = found.value()["spec"]["ports"].as_array().into_iter().flatten();
    let target = ports
        .find(|entry| entry["port"] == port)
        .map(|entry| entry.get("targetPort").cloned().unwrap_or_else(|| port.into()));
    let deployment = bundle.objects[bundle.operator.deployment].name();
    let fields = json!({
        "deploymentName": deployment, "containerPort": port, "targetPort": target, "webhookPath": service["path"],
    });
    Ok(fields.as_object().cloned().unwrap_or_default())
}
