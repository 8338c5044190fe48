use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use http::Response;
use tokio::time::Instant;

use super::*;
use crate::cache::tests::support::log::Log;

const KUBECONFIG: &str = r#"
apiVersion: v1
kind: Config
clusters: [{name: home, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: me, user: {token: secret}}]
contexts:
- {name: home, context: {cluster: home, user: me, namespace: shops}}
- {name: torn, context: {cluster: gone, user: me}}
"#;

async fn configure_with(text: &str, context: Option<&str>) -> Result<ClusterConfig, String> {
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

async fn config_error(text: &str, context: Option<&str>) -> String {
    configure_with(text, context)
        .await
        .err()
        .expect("an invalid kubeconfig")
}

#[tokio::test]
async fn loads_the_given_context() {
    let cluster = configure_with(KUBECONFIG, Some("home")).await.unwrap();
    assert_eq!(cluster.config.cluster_url.to_string(), "http://127.0.0.1:1/");
    assert_eq!(cluster.config.default_namespace, "shops");
    assert!(!cluster.in_cluster);
}

#[tokio::test]
async fn invalid_kubeconfig_error_names_the_file_and_the_fix() {
    let missing = configure(Some(Path::new("/nowhere/kubeconfig")), None)
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(
        missing.contains("/nowhere/kubeconfig cannot be read: No such file"),
        "{missing}"
    );
    // kube reads the files of $KUBECONFIG.
    let absent = Kubeconfig::read_from("/nowhere/kubeconfig").unwrap_err();
    let message = read_error("/nowhere/kubeconfig".to_owned(), absent).to_string();
    assert!(
        message.contains("cannot be read: No such file") && message.contains("check --kubeconfig"),
        "{message}"
    );
    assert!(config_error("clusters: [", None).await.contains("is invalid"));
    assert!(config_error("just text", None).await.contains("is invalid"));
    assert!(
        config_error("<html>Please log in</html>", None)
            .await
            .contains("is invalid")
    );
    assert!(config_error("", None).await.contains("it has no contexts"));
    let folder = configure(Some(&env::temp_dir()), None).await.err().unwrap();
    assert!(
        folder.to_string().contains("cannot be read: Is a directory"),
        "{folder}"
    );
    let no_url = KUBECONFIG.replace("http://127.0.0.1:1", "not an address");
    assert!(config_error(&no_url, Some("home")).await.contains("is invalid"));
    assert!(
        config_error(KUBECONFIG, None)
            .await
            .contains("no current context: pass --context; available contexts: home, torn")
    );
    assert!(
        config_error(KUBECONFIG, Some("hoem"))
            .await
            .contains("has no context \"hoem\": did you mean \"home\"?")
    );
    assert!(
        config_error(KUBECONFIG, Some("production"))
            .await
            .contains("; available contexts: home, torn")
    );
    assert!(
        config_error(KUBECONFIG, Some("torn"))
            .await
            .contains("cluster of context: gone")
    );
}

#[tokio::test(start_paused = true)]
async fn waits_for_an_unreachable_api_server_with_backoff() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = requests.clone();
    let service = tower::service_fn(move |_: Request<Body>| {
        let nth = counter.fetch_add(1, Ordering::Relaxed);
        async move {
            if nth < 5 {
                return Err(tower::BoxError::from("connection refused"));
            }
            let forbidden = br#"{"kind":"Status","code":403,"reason":"Forbidden"}"#;
            Ok(Response::builder()
                .status(403)
                .body(Body::from(forbidden.to_vec()))?)
        }
    });
    let started = Instant::now();
    wait_for_api_server(&kube::Client::new(service, "default"), None).await;
    assert_eq!(requests.load(Ordering::Relaxed), 6);
    let waited = started.elapsed();
    assert!(
        waited >= Duration::from_secs(15) && waited < Duration::from_secs(47),
        "{waited:?}"
    );
}

/// A proxy's login page, a load balancer without an API server behind it, another web server.
#[tokio::test(start_paused = true)]
async fn responses_of_other_servers_do_not_count_as_an_api_server() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = requests.clone();
    let service = tower::service_fn(move |_: Request<Body>| {
        let nth = counter.fetch_add(1, Ordering::Relaxed);
        let (code, body) = match nth {
            0 => (200, "<html>\n  <title>Please log in</title>"),
            1 => (503, "upstream connect error"),
            2 => (404, "404 page not found"),
            3 => (500, r#"{"kind":"Status","code":500}"#),
            _ => (200, r#"{"major":"1","minor":"36"}"#),
        };
        async move {
            let body = Body::from(body.as_bytes().to_vec());
            Ok::<_, tower::BoxError>(Response::builder().status(code).body(body)?)
        }
    });
    let client = kube::Client::new(service, "default");
    let Ok(VersionResponse::Other(response)) = get_version(&client).await else {
        panic!("an HTML page is not a version");
    };
    assert_eq!(response, r#"200 OK: "<html> <title>Please log in</title>""#);
    wait_for_api_server(&client, None).await;
    assert_eq!(requests.load(Ordering::Relaxed), 5);
}

/// Waiting does not renew a token: the start goes on, and a warning names the fix.
#[tokio::test(start_paused = true)]
async fn unauthorized_ends_the_wait_with_a_warning() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = requests.clone();
    let service = tower::service_fn(move |_: Request<Body>| {
        counter.fetch_add(1, Ordering::Relaxed);
        async move {
            let unauthorized = br#"{"kind":"Status","code":401,"reason":"Unauthorized"}"#;
            let body = Body::from(unauthorized.to_vec());
            Ok::<_, tower::BoxError>(Response::builder().status(401).body(body)?)
        }
    });
    let (log, started) = (Log::start(), Instant::now());
    wait_for_api_server(&kube::Client::new(service, "default"), None).await;
    assert_eq!(requests.load(Ordering::Relaxed), 1);
    assert_eq!(started.elapsed(), Duration::ZERO);
    let lines = log.lines("");
    assert!(
        matches!(&*lines, [line] if line.contains("(401): renew the token or the certificate")),
        "{lines:?}"
    );
}

/// Errors of a kubeconfig that show only when the client is made.
#[tokio::test]
async fn invalid_credentials_fail_before_any_request() {
    for (user, message) in [
        (
            r#"client-certificate-data: "@@@", client-key-data: "@@@""#,
            "Invalid symbol",
        ),
        (
            r"client-certificate: /nowhere/cert, client-key: /nowhere/key",
            "/nowhere/cert",
        ),
        (r"tokenFile: /nowhere/token", "/nowhere/token"),
    ] {
        let text = KUBECONFIG
            .replace("token: secret", user)
            .replace("http:", "https:");
        let cluster = configure_with(&text, Some("home")).await;
        let error = match cluster {
            Err(error) => error,
            Ok(cluster) => match crate::client::Connection::connect(cluster.config, "shop") {
                Err(error) => with_sources(&error),
                Ok(_) => panic!("{user} must not make a client"),
            },
        };
        assert!(
            error.contains(message) && error.contains("kubeconfig"),
            "{user}: {error}"
        );
    }
}
