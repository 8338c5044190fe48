//! Examples of Kubernetes' own kinds, for tests of webhooks and controllers.

use kubewright_apiserver::kinds::Kind;
use serde::Serialize as _;
use serde_json::{Serializer, Value, json, ser::PrettyFormatter};

/// Returns an object of the kind that the API server accepts; none for kinds that few webhooks are about.
pub(super) fn example(kind: &Kind) -> Option<Value> {
    let template = |policy: &str| {
        let labels = json!({"app": "example"});
        let containers = json!([{"name": "main", "image": "example"}]);
        json!({"metadata": {"labels": labels}, "spec": {"restartPolicy": policy, "containers": containers}})
    };
    let workload =
        || json!({"selector": {"matchLabels": {"app": "example"}}, "template": template("Always")});
    let spec = match (&*kind.group, &*kind.kind) {
        (
            "",
            "ConfigMap" | "Endpoints" | "LimitRange" | "Namespace" | "Node" | "ResourceQuota" | "Secret"
            | "ServiceAccount",
        )
        | ("rbac.authorization.k8s.io", "ClusterRole" | "Role") => None,
        ("", "PersistentVolumeClaim") => {
            let resources = json!({"requests": {"storage": "1Gi"}});
            Some(json!({"accessModes": ["ReadWriteOnce"], "resources": resources}))
        }
        ("", "Pod") => Some(template("Always")["spec"].take()),
        ("", "Service") => Some(json!({"selector": {"app": "example"}, "ports": [{"port": 80}]})),
        ("apps", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet") => Some(workload()),
        ("batch", "CronJob") => {
            let template = json!({"spec": {"template": template("Never")}});
            Some(json!({"schedule": "0 * * * *", "jobTemplate": template}))
        }
        ("batch", "Job") => Some(json!({"template": template("Never")})),
        ("networking.k8s.io", "Ingress") => {
            let service = json!({"name": "example", "port": {"number": 80}});
            Some(json!({"defaultBackend": {"service": service}}))
        }
        ("networking.k8s.io", "NetworkPolicy") => Some(json!({"podSelector": {}})),
        ("policy", "PodDisruptionBudget") => Some(json!({"maxUnavailable": 1})),
        _ => return None,
    };
    let mut object = named(kind);
    if let Some(spec) = spec {
        object["spec"] = spec;
    }
    Some(object)
}

/// Returns an object that has nothing but a name.
pub(super) fn named(kind: &Kind) -> Value {
    let mut metadata = json!({"name": "example"});
    if kind.namespaced {
        metadata["namespace"] = "default".into();
    }
    json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": metadata})
}

/// Returns the object for the macro `json!` in a function: rustfmt leaves its layout alone.
pub(super) fn json_text(object: &Value) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b"    "));
    // Writing a value into memory cannot fail.
    let _ = object.serialize(&mut serializer);
    String::from_utf8_lossy(&bytes).replace('\n', "\n    ")
}

#[cfg(test)]
mod tests {
    use http::Request;
    use kube::{
        Client, Config,
        config::{KubeConfigOptions, Kubeconfig},
    };
    use kubewright_apiserver::{ApiServer, kinds::Catalog};

    use super::*;

    #[tokio::test]
    async fn api_server_accepts_the_examples() {
        let server = ApiServer::start().await.unwrap();
        let kubeconfig = Kubeconfig::from_yaml(&server.kubeconfig()).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .unwrap();
        let client = Client::try_from(config).unwrap();
        let mut accepted = 0;
        for kind in Catalog::built_in().unwrap().iter() {
            let Some(object) = example(kind) else { continue };
            let root = if kind.group.is_empty() { "api" } else { "apis" };
            let namespace = if kind.namespaced {
                "/namespaces/default"
            } else {
                ""
            };
            let path = format!(
                "/{root}/{}{namespace}/{}?fieldValidation=Strict",
                kind.api_version(),
                kind.plural
            );
            let request = Request::post(path).header("Content-Type", "application/json");
            let request = request.body(object.to_string().into_bytes()).unwrap();
            let created = client.request::<Value>(request).await;
            created.unwrap_or_else(|error| panic!("{object}: {error}"));
            accepted += 1;
        }
        assert_eq!(accepted, 22);
        server.stop().await;
    }
}
