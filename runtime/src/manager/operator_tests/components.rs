//! Components start and fail by themselves.

use k8s_openapi::api::core::v1::Node;

use super::*;

/// Records its calls.
struct Recording(Shared, &'static str);

impl Reconciler for Recording {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        record(&self.0, format!("{} {key}", self.1));
        Ok(Action::await_change())
    }
}

/// Returns the lines of the readiness probe that begin so.
async fn readiness(port: u16, start: &str) -> Vec<String> {
    let ready = probe(port, "/readyz?verbose").await.unwrap();
    let lines = ready.lines().filter(|line| line.contains(start));
    lines.map(str::to_owned).collect()
}

/// The API server does not serve nodes.
#[tokio::test]
async fn kind_that_is_not_served_stops_only_its_component() {
    let (server, stop, port) = (Shared::default(), CancellationToken::new(), free_port());
    let args = [
        "--metrics-bind-address=0",
        "--leader-elect",
        "--leader-election-namespace=default",
    ];
    let address = format!("--health-bind-address=127.0.0.1:{port}");
    let (web, node) = (server.clone(), server.clone());
    let manager = Manager::new("shop")
        .with_args(args.into_iter().chain([&*address]))
        .with_client(TestApiServer::connect(&server))
        .stop_on(&stop)
        .register(move |setup| {
            setup.component("node", |setup| {
                let nodes = setup.informers().of::<Node>();
                // It reads these as well, and still waits for the nodes.
                let deployments = setup.informers().of::<Deployment>();
                let swept = node.clone();
                setup.runnable("sweep", async move |_stop| {
                    record(&swept, "swept");
                    Ok(())
                });
                setup
                    .controller("node", Recording(node, "node"))
                    .reconciles(&deployments)
                    .watches(&nodes, |_| Vec::new());
            });
            setup.component("web", |setup| {
                let deployments = setup.informers().of::<Deployment>();
                let counted = web.clone();
                setup
                    .runnable("count", async move |_stop| {
                        record(&counted, "counted");
                        Ok(())
                    })
                    .leader_only();
                setup
                    .controller("web", Recording(web, "web"))
                    .reconciles(&deployments);
            });
        });
    let ended = run_until(&server, manager, "web default/web", async || {
        assert_eq!(
            readiness(port, "component").await,
            [
                "[-] component-node failed: waiting for the first list of nodes",
                "[+] component-web ok"
            ]
        );
        assert_eq!(readiness(port, "operator").await, ["[+] operator ok"]);
        while !journal(&server).contains(&"counted".to_owned()) {
            sleep(Duration::from_millis(5)).await;
        }
        stop.cancel();
    });
    ended.await.unwrap();
    let journal = journal(&server);
    let of_node = |entry: &&String| entry.starts_with("node ") || *entry == "swept";
    assert_eq!(journal.iter().find(of_node), None);
    // The caches were compared with the API server after the lease was acquired.
    let position = |entry: &str| journal.iter().position(|found| found == entry).unwrap();
    assert!(
        position("acquire") < position("quorum") && position("quorum") < position("counted"),
        "{journal:?}"
    );
}

#[tokio::test]
async fn failed_and_panicking_runnables_fail_the_check_of_their_component_only() {
    let (server, stop, port) = (Shared::default(), CancellationToken::new(), free_port());
    let args = format!("--health-bind-address=127.0.0.1:{port}");
    let manager = operator(&server, &args, Duration::ZERO, &stop).register(|setup| {
        setup.component("sweeper", |setup| {
            setup.runnable("sweep", async |_stop| Err("no disk".into()));
        });
        setup.component("counter", |setup| {
            setup.runnable("count", async |_stop| panic!("oh"));
        });
        setup.component("idle", |_| ());
    });
    let ended = run_until(&server, manager, "reconciled", async || {
        let mut found = Vec::new();
        while found
            .iter()
            .filter(|line: &&String| line.contains("failed"))
            .count()
            < 2
        {
            found = readiness(port, "component").await;
        }
        assert_eq!(
            found,
            [
                "[-] component-sweeper failed: runnable \"sweep\" failed: no disk",
                "[-] component-counter failed: runnable \"count\" failed: panicked: oh",
                "[+] component-idle ok"
            ]
        );
        stop.cancel();
    });
    ended.await.unwrap();
}

#[tokio::test]
async fn service_accounts_of_components_need_a_configuration() {
    let (server, stop) = (Shared::default(), CancellationToken::new());
    let manager = operator(&server, "--health-bind-address=0", Duration::ZERO, &stop).register(|setup| {
        setup.component_service_accounts("kube-system");
    });
    let error = manager.run().await.unwrap_err();
    assert!(error.to_string().contains("with `with_config`"), "{error}");
}
