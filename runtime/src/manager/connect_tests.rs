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
        refused("<html>Please log in</html>", None)
            .await
            .contains("is damaged")
    );
    assert!(refused("", None).await.contains("it has no contexts at all"));
    let folder = configure(Some(&env::temp_dir()), None).await.err().unwrap();
    assert!(
        folder.to_string().contains("cannot be read: Is a directory"),
        "{folder}"
    );
    let no_url = KUBECONFIG.replace("http://127.0.0.1:1", "not an address");
    assert!(refused(&no_url, Some("home")).await.contains("is damaged"));
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
            let forbidden = br#"{"kind":"Status","code":403,"reason":"Forbidden"}"#;
            Ok(Response::builder()
                .status(403)
                .body(Body::from(forbidden.to_vec()))?)
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

/// A proxy's login page, a load balancer whose API server is away, another web server: each is named, and asked again at leisure.
#[tokio::test(start_paused = true)]
async fn something_else_that_answers_is_no_api_server() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
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
    let Ok(Answer::Other(what)) = ask_version(&client).await else {
        panic!("a page is no version");
    };
    assert_eq!(what, r#"200 OK: "<html> <title>Please log in</title>""#);
    wait_for_api_server(&client, None).await;
    assert_eq!(asked.load(Ordering::Relaxed), 5);
}

/// An API server that knows nobody is there, and waiting mends no token: it goes on, and says what to do.
#[tokio::test(start_paused = true)]
async fn credentials_that_are_not_accepted_are_told_and_not_waited_for() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
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
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert_eq!(started.elapsed(), Duration::ZERO);
    let said = log.lines("");
    assert!(
        matches!(&*said, [said] if said.contains("(401): renew the token or the certificate")),
        "{said:?}"
    );
}

/// What is wrong with a kubeconfig but shows only when the client is made.
#[tokio::test]
async fn damaged_credentials_are_told_before_anything_is_sent() {
    for (user, said) in [
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
                Ok(_) => panic!("{user} makes no client"),
            },
        };
        assert!(
            error.contains(said) && error.contains("kubeconfig"),
            "{user}: {error}"
        );
    }
}
