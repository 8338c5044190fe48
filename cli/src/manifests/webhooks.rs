//! Generates the files of what the API server calls: webhook configurations, their Service, and the Secret of the certificate.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Manifests;
use crate::{yaml, yaml::YamlError};

/// Directory of the files.
pub const FOLDER: &str = "manifests/webhooks";

/// The label of each namespace with its name.
pub const NAMESPACE_LABEL: &str = "kubernetes.io/metadata.name";

/// The objects of an operator with webhooks.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct WebhookManifests {
    /// The ValidatingWebhookConfiguration.
    pub validating: Option<Value>,
    /// The MutatingWebhookConfiguration.
    pub mutating: Option<Value>,
    /// The Service that selects the operator's Pods.
    pub service: Option<Value>,
    /// The Secret of the certificate, without data: the operator writes them.
    pub secret: Option<Value>,
    /// cert-manager's Issuer, if it makes the certificate.
    #[serde(skip)]
    pub issuer: Option<Value>,
    /// cert-manager's Certificate.
    #[serde(skip)]
    pub certificate: Option<Value>,
}

impl WebhookManifests {
    /// Returns the objects, each with the name of its file.
    pub fn objects(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        [
            ("certificate", &self.certificate),
            ("issuer", &self.issuer),
            ("mutating", &self.mutating),
            ("secret", &self.secret),
            ("service", &self.service),
            ("validating", &self.validating),
        ]
        .into_iter()
        .filter_map(|(name, object)| Some((name, object.as_ref()?)))
    }
}

/// Returns the files with their texts; none without webhooks.
pub fn files(manifests: &Manifests) -> Result<Vec<(PathBuf, String)>, YamlError> {
    let objects = manifests.webhooks.iter().flat_map(WebhookManifests::objects);
    objects
        .map(|(name, object)| Ok((format!("{FOLDER}/{name}.yaml").into(), yaml::write(object)?)))
        .collect()
}

/// Returns a warning if the operator watches its own namespace, whose objects webhooks never review.
pub fn own_namespace_warning(manifests: &Manifests, namespace: &str, watched: &[String]) -> Option<String> {
    let webhooks = manifests.webhooks.as_ref()?;
    let reviews = webhooks.validating.is_some() || webhooks.mutating.is_some();
    let watches_own = watched.iter().any(|name| name == namespace);
    (reviews && watches_own).then(|| {
        format!(
            "webhooks never review objects in the operator's own namespace, {namespace}, which the operator watches: watch other ones, by \
             `namespaces` in kubewright.toml"
        )
    })
}

/// Names the operator's namespace in objects, in place of `NAME-system`: the operator does not know where it will run.
pub(super) fn set_namespace(manifests: &mut Manifests, namespace: &str) {
    let assumed = format!("{}-system", manifests.operator);
    let webhooks = manifests.webhooks.iter_mut().flat_map(|webhooks| {
        let WebhookManifests {
            validating,
            mutating,
            service,
            secret,
            ..
        } = webhooks;
        [validating, mutating, service, secret].into_iter().flatten()
    });
    for object in webhooks {
        replace(object.get_mut("metadata"), "namespace", &assumed, namespace);
        for webhook in items(object, "/webhooks") {
            for expression in items(webhook, "/namespaceSelector/matchExpressions") {
                let values = items(expression, "/values").filter(|value| **value == *assumed);
                values.for_each(|value| *value = namespace.into());
            }
        }
    }
    for config in client_configs(manifests) {
        replace(config.get_mut("service"), "namespace", &assumed, namespace);
    }
}

/// Has webhooks review only objects in the watched namespaces, if not all are watched. Conversions are of all namespaces.
pub(crate) fn limit_to(manifests: &mut Manifests, watched: &[String]) {
    if watched.is_empty() {
        return;
    }
    for webhook in registered(&mut manifests.webhooks) {
        let selector = &mut webhook["namespaceSelector"]["matchExpressions"];
        let watched = json!({"key": NAMESPACE_LABEL, "operator": "In", "values": watched});
        match selector.as_array_mut() {
            Some(expressions) => expressions.push(watched),
            None => *selector = json!([watched]),
        }
    }
}

/// Has the API server call the operator on this machine by a URL, in place of its Service.
pub fn call_on_port(manifests: &mut Manifests, port: u16) {
    for config in client_configs(manifests) {
        let path = config["service"]["path"].as_str().unwrap_or_default();
        *config = json!({"url": format!("https://127.0.0.1:{port}{path}")});
    }
}

/// Returns the webhooks of both configurations.
fn registered(webhooks: &mut Option<WebhookManifests>) -> impl Iterator<Item = &mut Value> {
    let configurations = webhooks
        .iter_mut()
        .flat_map(|webhooks| [&mut webhooks.validating, &mut webhooks.mutating])
        .flatten();
    configurations.flat_map(|object| items(object, "/webhooks"))
}

/// Returns all `clientConfig` of configurations and definitions.
fn client_configs(manifests: &mut Manifests) -> impl Iterator<Item = &mut Value> {
    let of_webhooks =
        registered(&mut manifests.webhooks).filter_map(|webhook| webhook.get_mut("clientConfig"));
    let of_definitions = manifests.kinds.iter_mut().filter_map(|kind| {
        kind.crd
            .as_mut()?
            .pointer_mut("/spec/conversion/webhook/clientConfig")
    });
    of_webhooks.chain(of_definitions)
}

/// Returns the items of a list; none if there is no list. Indexing a mutable value would insert the field.
fn items<'a>(value: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = value.pointer_mut(pointer).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

fn replace(object: Option<&mut Value>, field: &str, assumed: &str, text: &str) {
    if let Some(value) = object.and_then(|object| object.get_mut(field))
        && *value == *assumed
    {
        *value = text.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifests() -> Manifests {
        let service = json!({"name": "shop-webhooks", "namespace": "shop-system", "path": "/p", "port": 443});
        let selector = json!({"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["shop-system"]},
            {"key": "team", "operator": "Exists"},
        ]});
        let webhook =
            json!({"name": "w", "clientConfig": {"service": service}, "namespaceSelector": selector});
        let object = |kind: &str| json!({"kind": kind, "metadata": {"name": "shop-webhooks", "namespace": "shop-system"}});
        let conversion = json!({"strategy": "Webhook", "webhook": {"clientConfig": {"service": service}}});
        let kind =
            |crd: Value| json!({"group": "g", "kind": "K", "plural": "ks", "namespaced": true, "crd": crd});
        let text = json!({
            "manifestsVersion": 1, "operator": "shop", "permissions": [],
            "kinds": [kind(json!({"spec": {"conversion": conversion}})), kind(json!({"spec": {}}))],
            "webhooks": {
                "validating": {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "shop"}, "webhooks": [webhook]},
                "service": object("Service"), "secret": object("Secret"),
            },
        });
        Manifests::parse(&text.to_string()).unwrap()
    }

    #[test]
    fn objects_are_in_the_namespace_of_the_project() {
        let mut manifests = manifests();
        manifests.set_namespace("prod");
        let files = files(&manifests).unwrap();
        let names: Vec<_> = files.iter().map(|(path, _)| path.to_str().unwrap()).collect();
        assert_eq!(
            names,
            [
                "manifests/webhooks/secret.yaml",
                "manifests/webhooks/service.yaml",
                "manifests/webhooks/validating.yaml"
            ]
        );
        for (path, text) in &files {
            assert!(
                text.contains("prod") && !text.contains("shop-system"),
                "{path:?}: {text}"
            );
        }
        let conversion = &manifests.kinds[0].crd.as_ref().unwrap()["spec"]["conversion"];
        assert_eq!(
            conversion["webhook"]["clientConfig"]["service"]["namespace"],
            "prod"
        );
        assert_eq!(manifests.kinds[1].crd, Some(json!({"spec": {}})));
    }

    #[test]
    fn only_watched_namespaces_are_reviewed() {
        let mut manifests = manifests();
        limit_to(&mut manifests, &[]);
        let selector = |manifests: &Manifests| {
            let webhooks = manifests.webhooks.as_ref().unwrap();
            let webhook = &webhooks.validating.as_ref().unwrap()["webhooks"][0];
            webhook["namespaceSelector"]["matchExpressions"].clone()
        };
        assert_eq!(selector(&manifests).as_array().unwrap().len(), 2);
        limit_to(&mut manifests, &["a".to_owned(), "b".to_owned()]);
        let watched = json!({"key": NAMESPACE_LABEL, "operator": "In", "values": ["a", "b"]});
        assert_eq!(selector(&manifests)[2], watched);
    }

    #[test]
    fn operator_on_this_machine_is_called_by_a_url() {
        let mut manifests = manifests();
        call_on_port(&mut manifests, 9443);
        let url = json!({"url": "https://127.0.0.1:9443/p"});
        let validating = manifests.webhooks.as_ref().unwrap().validating.as_ref().unwrap();
        assert_eq!(validating["webhooks"][0]["clientConfig"], url);
        let conversion = &manifests.kinds[0].crd.as_ref().unwrap()["spec"]["conversion"];
        assert_eq!(conversion["webhook"]["clientConfig"], url);
    }

    #[test]
    fn operator_without_webhooks_has_no_files() {
        let text = r#"{"manifestsVersion":1,"operator":"shop","kinds":[],"permissions":[]}"#;
        let mut manifests = Manifests::parse(text).unwrap();
        manifests.set_namespace("prod");
        assert_eq!(files(&manifests).unwrap(), []);
    }
}
