//! Webhooks of an operator: its readiness, and what it needs to start.

use k8s_openapi::api::core::v1::ConfigMap;

use super::*;
use crate::{test_log::CollectedLog, webhooks::Validator};

struct Accept;

impl Validator<ConfigMap> for Accept {}

fn with_webhook(server: &Shared, args: &str, stop: &CancellationToken) -> Manager {
    let manager = operator(server, args, Duration::ZERO, stop);
    manager.register(|setup| {
        setup.validator::<ConfigMap>(Accept);
    })
}

fn certified(manager: Manager) -> Manager {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    manager.webhook_certificate(cert.pem(), signing_key.serialize_pem())
}

/// Waits until a probe has the status code.
async fn probed(port: u16, path: &str, code: u16) -> String {
    loop {
        let answer = probe(port, path).await.unwrap_or_default();
        if answer.starts_with(&format!("HTTP/1.1 {code}")) {
            return answer;
        }
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn operator_is_ready_before_its_caches_sync_and_syncz_is_not() {
    let (server, stop, health) = (Shared::default(), CancellationToken::new(), free_port());
    server.lock().unreachable = usize::MAX;
    let args = format!("--health-bind-address=127.0.0.1:{health}");
    let running = tokio::spawn(certified(with_webhook(&server, &args, &stop)).run());
    probed(health, "/readyz", 200).await;
    let unsynced = probed(health, "/syncz", 500).await;
    assert!(unsynced.contains("[-] operator failed: starting"), "{unsynced}");
    server.lock().unreachable = 0;
    let synced = probed(health, "/syncz", 200).await;
    assert!(synced.ends_with("ok\n"), "{synced}");
    let checks = probe(health, "/syncz?verbose").await.unwrap();
    assert!(
        checks.contains("[+] controller-web ok\n[+] caches ok\n"),
        "{checks}"
    );
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn operator_is_not_ready_without_a_certificate_unless_webhooks_are_switched_off() {
    let (server, stop, health) = (Shared::default(), CancellationToken::new(), free_port());
    let args = format!("--health-bind-address=127.0.0.1:{health}");
    let running = tokio::spawn(with_webhook(&server, &args, &stop).run());
    let unready = probed(health, "/readyz", 500).await;
    assert!(
        unready.contains("[-] operator failed: waiting for the certificate of the webhooks"),
        "{unready}"
    );
    stop.cancel();
    running.await.unwrap().unwrap();
    let stop = CancellationToken::new();
    let off = with_webhook(&server, "--health-bind-address=0 --webhook-bind-address=0", &stop);
    run_until(&server, off, "reconciled", async || stop.cancel())
        .await
        .unwrap();
}

/// API servers review with another replica only after a while.
#[tokio::test(start_paused = true)]
async fn replica_answers_reviews_for_a_tenth_of_the_grace_period_after_its_stop() {
    for (args, is_answering) in [("--leader-elect", true), ("--leader-elect=false", false)] {
        let (server, stop, port) = (Shared::default(), CancellationToken::new(), free_port());
        let args = format!(
            "--health-bind-address=0 --webhook-bind-address=127.0.0.1:{port} --grace-period=20s {args}"
        );
        let running = tokio::spawn(certified(with_webhook(&server, &args, &stop)).run());
        sleep(Duration::from_secs(5)).await;
        stop.cancel();
        sleep(Duration::from_millis(1900)).await;
        assert_eq!(
            TcpStream::connect(("127.0.0.1", port)).await.is_ok(),
            is_answering,
            "{args}"
        );
        assert_eq!(running.is_finished(), !is_answering, "{args}");
        // The lease is released before, so that another replica may write.
        assert_eq!(
            journal(&server).contains(&"release".to_owned()),
            is_answering,
            "{args}"
        );
        sleep(Duration::from_secs(2)).await;
        assert!(running.is_finished(), "{args}");
        running.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn wrong_certificate_is_an_error() {
    let (server, stop) = (Shared::default(), CancellationToken::new());
    let manager = with_webhook(&server, "--health-bind-address=0", &stop).webhook_certificate("", "");
    let error = manager.run().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the TLS certificate has no PEM block CERTIFICATE"
    );
}

#[tokio::test(start_paused = true)]
async fn leader_puts_back_an_edited_configuration_after_a_while() {
    let webhook = json!({
        "name": "validate-v1-configmap.core.shop", "admissionReviewVersions": ["v1"], "sideEffects": "NoneOnDryRun",
        "matchPolicy": "Equivalent", "clientConfig": {"url": "https://127.0.0.1/validate--v1-configmap"},
        "rules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE", "DELETE"], "resources": ["configmaps"],
            "scope": "Namespaced",
        }],
    });
    let configuration = json!({"metadata": {"name": "shop", "resourceVersion": "7"}, "webhooks": [webhook]});
    let patches = |server: &Shared| {
        let journal = journal(server);
        let patches = journal.iter().filter_map(|entry| entry.strip_prefix("patch "));
        patches
            .map(|patch| serde_json::from_str(patch).unwrap())
            .collect::<Vec<Value>>()
    };
    let put_back = json!([
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "add", "path": "/webhooks/0/sideEffects", "value": "None"},
    ]);
    for (args, is_kept) in [
        ("--leader-elect", true),
        // Others keep the certificate: the operator may not write the configuration.
        ("--webhook-cert-dir=/nonexistent", false),
        ("--webhook-bind-address=0", false),
    ] {
        let (server, stop) = (Shared::default(), CancellationToken::new());
        server.lock().configuration = Some(configuration.clone());
        let log = CollectedLog::start(tracing::Level::INFO);
        let args = format!("--health-bind-address=0 {args}");
        let running = tokio::spawn(with_webhook(&server, &args, &stop).run());
        sleep(Duration::from_mins(4)).await;
        assert_eq!(patches(&server), Vec::<Value>::new());
        sleep(Duration::from_mins(2)).await;
        let found = patches(&server);
        assert_eq!(found.first(), is_kept.then_some(&put_back), "{args}");
        let log = log.text();
        for line in [
            "the webhook configuration differs from the code: these fields are put back after 300 s",
            "put back fields of the webhook configuration that were edited",
        ] {
            assert_eq!(log.contains(line), is_kept, "{args}: {log}");
        }
        stop.cancel();
        running.await.unwrap().unwrap();
    }
}
