//! What a new server contains, and the options that change it.

use crate::client::TestServer;
use kubewright_apiserver::{AdmissionPlugin, ApiServer, ApiServerBuilder, Tls};
use serde_json::{Value, json};

const NAMESPACE: &str = "/api/v1/namespaces/default";

#[expect(clippy::unwrap_used, reason = "a helper of tests")]
async fn start(configure: impl FnOnce(ApiServerBuilder) -> ApiServerBuilder) -> TestServer {
    let builder = configure(ApiServer::builder().tls(Tls::Off));
    TestServer {
        api: builder.start().await.unwrap(),
    }
}

#[tokio::test]
async fn service_kubernetes_has_the_address_of_the_server() {
    let server = start(|builder| builder.service_network("10.96.0.0/12".parse().unwrap())).await;
    let service = server
        .get(&format!("{NAMESPACE}/services/kubernetes"))
        .await
        .expect(200);
    assert_eq!(service["spec"]["clusterIP"], "10.96.0.1");
    let port = service["spec"]["ports"][0]["targetPort"].clone();
    let url = server.api.url();
    assert!(url.ends_with(&format!(":{port}")), "{url}");
    let endpoints = server
        .get(&format!("{NAMESPACE}/endpoints/kubernetes"))
        .await
        .expect(200);
    assert_eq!(
        endpoints["subsets"],
        json!([{ "addresses": [{ "ip": "127.0.0.1" }], "ports": [{ "name": "https", "port": port, "protocol": "TCP" }] }])
    );
    let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    let slice = server.get(&format!("{slices}/kubernetes")).await.expect(200);
    assert_eq!(
        slice["metadata"]["labels"]["kubernetes.io/service-name"],
        "kubernetes"
    );
    assert_eq!(slice["endpoints"][0]["addresses"], json!(["127.0.0.1"]));
    assert_eq!(slice["ports"], endpoints["subsets"][0]["ports"]);

    let ranges = server
        .get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
        .await
        .expect(200);
    assert_eq!(ranges["spec"]["cidrs"], json!(["10.96.0.0/12"]));
    let web = json!({ "metadata": { "name": "web" }, "spec": { "ports": [{ "port": 80 }] } });
    let web = server.create(&format!("{NAMESPACE}/services"), web).await;
    assert_eq!(web["spec"]["clusterIP"], "10.96.0.2");
    let outside = json!({ "metadata": { "name": "out" }, "spec": { "clusterIP": "10.0.0.9", "ports": [{ "port": 80 }] } });
    let refused = server
        .request("POST", &format!("{NAMESPACE}/services?dryRun=All"), Some(outside))
        .await;
    let message = refused.expect(422)["message"].to_string();
    assert!(
        message.contains("The range of valid IPs is 10.96.0.0/12"),
        "{message}"
    );
}

#[tokio::test]
async fn config_map_has_the_authority_of_client_certificates() {
    let path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    let config = start(|builder| builder).await.get(path).await.expect(200);
    assert_eq!(config["data"], Value::Null);
    let authority = rcgen::generate_simple_self_signed(["client".to_owned()])
        .unwrap()
        .cert
        .pem();
    let server = ApiServer::builder()
        .client_ca(authority.clone())
        .start()
        .await
        .unwrap();
    let registry = server.registry();
    let maps = registry.resource("", "configmaps").unwrap();
    let config = registry
        .store
        .get(&maps.table(), "kube-system/extension-apiserver-authentication")
        .unwrap();
    assert_eq!(config.value()["data"]["client-ca-file"], authority);
}

fn pod() -> Value {
    json!({ "metadata": { "name": "one" }, "spec": { "containers": [{ "name": "main", "image": "main" }] } })
}

#[tokio::test]
async fn pod_gets_the_default_account() {
    let plugins = AdmissionPlugin::select(&["ServiceAccount".to_owned()], &[]).unwrap();
    let server = start(|builder| builder.admission_plugins(&plugins)).await;
    let account = json!({ "metadata": { "name": "default" } });
    server
        .create(&format!("{NAMESPACE}/serviceaccounts"), account)
        .await;
    let pod = server.create(&format!("{NAMESPACE}/pods"), pod()).await;
    assert_eq!(pod["spec"]["serviceAccountName"], "default");
    assert_eq!(pod["spec"]["serviceAccount"], "default");
    let volume = pod["spec"]["volumes"][0]["name"].as_str().unwrap();
    assert!(volume.starts_with("kube-api-access-"), "{volume}");
    assert_eq!(pod["spec"]["containers"][0]["volumeMounts"][0]["name"], volume);
}

#[tokio::test]
async fn pod_without_account_is_refused_only_by_the_plugin() {
    let pods = format!("{NAMESPACE}/pods");
    let server = start(|builder| builder).await;
    let created = server.create(&pods, pod()).await;
    assert_eq!(created["spec"]["serviceAccountName"], Value::Null);
    let server = start(|builder| builder.admission_plugins(&[AdmissionPlugin::ServiceAccount])).await;
    let refused = server.request("POST", &pods, Some(pod())).await.expect(403);
    let why = "error looking up service account default/default: serviceaccount \"default\" not found";
    assert!(refused["message"].as_str().unwrap().ends_with(why), "{refused}");
}
