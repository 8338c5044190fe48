use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use http::Response;
use tokio::time::Instant;

use super::*;

const KUBECONFIG: &str = r#"
apiVersion: v1
kind: Config
clusters: [{name: home, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: me, user: {token: secret}}]
contexts:
- {name: home, context: {cluster: home, user: me, namespace: shops}}
- {name: torn, context: {cluster: gone, user: me}}
"#;

async fn configure_with(text: &str, context: Option<&str>) -> Result<Cluster, String> {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let name = format!(
        "kubewright-connect-{}-{}",
        std::process::id(),
        FILES.fetch_add(1, Ordering::Relaxed)
    );
    let path = env::temp_dir().join(name);
    fs::write(&path, text).unwrap();
    let cluster = configure(Some(&path), context)
        .await
        .map_err(|error| error.to_string());
    fs::remove_file(&path).unwrap();
    cluster
}

async fn refused(text: &str, context: Option<&str>) -> String {
    configure_with(text, context)
        .await
        .err()
        .expect("this configuration is wrong")
}

#[tokio::test]
async fn reads_the_context_that_is_asked_for() {
    let cluster = configure_with(KUBECONFIG, Some("home")).await.unwrap();
    assert_eq!(cluster.config.cluster_url.to_string(), "http://127.0.0.1:1/");
    assert_eq!(cluster.config.default_namespace, "shops");
    assert!(!cluster.in_cluster);
}

#[tokio::test]
async fn a_wrong_kubeconfig_is_named_with_the_mend() {
    let missing = configure(Some(Path::new("/nowhere/kubeconfig")), None)
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(
        missing.contains("/nowhere/kubeconfig cannot be read: No such file"),
        "{missing}"
    );
    // What $KUBECONFIG names is read by kube.
    let absent = Kubeconfig::read_from("/nowhere/kubeconfig").unwrap_err();
    let message = unusable("/nowhere/kubeconfig".to_owned(), absent).to_string();
    assert!(
        message.contains("cannot be read: No such file") && message.contains("check --kubeconfig"),
        "{message}"
    );
    assert!(refused("clusters: [", None).await.contains("is damaged"));
    assert!(refused("just text", None).await.contains("is damaged"));
    assert!(
        refused(KUBECONFIG, None)
            .await
            .contains("no current context: pass --context; there are home, torn")
    );
    assert!(
        refused(KUBECONFIG, Some("hoem"))
            .await
            .contains("has no context \"hoem\": did you mean \"home\"?")
    );
    assert!(
        refused(KUBECONFIG, Some("production"))
            .await
            .contains("; there are home, torn")
    );
    assert!(
        refused(KUBECONFIG, Some("torn"))
            .await
            .contains("cluster of context: gone")
    );
}

#[tokio::test(start_paused = true)]
async fn waits_for_an_api_server_that_cannot_be_reached() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let service = tower::service_fn(move |_: Request<Body>| {
        let nth = counter.fetch_add(1, Ordering::Relaxed);
        async move {
            if nth < 5 {
                return Err(tower::BoxError::from("connection refused"));
            }
            Ok(Response::builder().status(403).body(Body::empty())?)
        }
    });
    let started = Instant::now();
    wait_for_api_server(&kube::Client::new(service, "default"), None).await;
    assert_eq!(asked.load(Ordering::Relaxed), 6);
    let waited = started.elapsed();
    assert!(
        waited >= Duration::from_secs(15) && waited < Duration::from_secs(47),
        "{waited:?}"
    );
}
