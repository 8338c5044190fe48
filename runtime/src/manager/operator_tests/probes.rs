//! Health probes and the debug page.

use super::*;

#[tokio::test]
async fn probes_and_the_debug_page_show_each_controller() {
    let (server, stop, health, metrics) = (
        Shared::default(),
        CancellationToken::new(),
        free_port(),
        free_port(),
    );
    let args = format!("--health-bind-address=127.0.0.1:{health} --metrics-bind-address=127.0.0.1:{metrics}");
    let broken = Arc::new(Mutex::new(false));
    let check = broken.clone();
    let manager = operator(&server, "", Duration::ZERO, &stop)
        .with_args(args.split_whitespace())
        .register(move |setup| {
            setup.liveness_check("disk", move || {
                if *check.lock() {
                    Err("full".to_owned())
                } else {
                    Ok(())
                }
            });
        });
    let ended = run_until(&server, manager, "reconciled", async || {
        let ready = probe(health, "/readyz?verbose").await.unwrap();
        assert!(ready.contains("[+] controller-web ok\n"), "{ready}");
        assert!(
            probe(health, "/livez/disk")
                .await
                .unwrap()
                .starts_with("HTTP/1.1 200")
        );
        *broken.lock() = true;
        let live = probe(health, "/livez").await.unwrap();
        assert!(
            live.starts_with("HTTP/1.1 500") && live.contains("[-] disk failed: full"),
            "{live}"
        );
        let page = probe(metrics, "/debug/kubewright").await.unwrap();
        assert!(
            page.contains("deployments.apps") && page.contains("\nweb "),
            "{page}"
        );
        stop.cancel();
    });
    ended.await.unwrap();
}

#[tokio::test]
async fn debug_page_can_be_disabled() {
    let (server, stop, metrics) = (Shared::default(), CancellationToken::new(), free_port());
    let args =
        format!("--health-bind-address=0 --debug-page=false --metrics-bind-address=127.0.0.1:{metrics}");
    let manager = operator(&server, "", Duration::ZERO, &stop).with_args(args.split_whitespace());
    let ended = run_until(&server, manager, "reconciled", async || {
        let page = probe(metrics, "/debug/kubewright").await.unwrap();
        assert!(page.starts_with("HTTP/1.1 404"), "{page}");
        assert!(
            probe(metrics, "/metrics")
                .await
                .unwrap()
                .starts_with("HTTP/1.1 200")
        );
        stop.cancel();
    });
    ended.await.unwrap();
}
