//! Invalid configuration, failing runnables, an unreachable API server, disabled controllers.

use super::*;

#[tokio::test(start_paused = true)]
async fn failed_runnable_stops_the_operator_in_order() {
    let (server, stop) = (Shared::default(), CancellationToken::new());
    let manager =
        operator(&server, "--health-bind-address=0", Duration::from_secs(2), &stop).register(|setup| {
            setup.runnable("mail", async move |_stop| {
                sleep(Duration::from_secs(1)).await;
                Err("no relay".into())
            });
        });
    let error = manager.run().await.unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.exit_code()),
        ("runnable \"mail\" failed: no relay", 4)
    );
    assert_eq!(
        journal(&server),
        [
            "version",
            "list",
            "quorum",
            "reconcile default/web",
            "reconciled",
            "event"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn waiting_for_an_unreachable_api_server_can_be_stopped() {
    let (server, stop) = (Shared::default(), CancellationToken::new());
    server.lock().unreachable = 4;
    let manager = operator(&server, "--health-bind-address=0", Duration::ZERO, &stop);
    run_until(&server, manager, "reconciled", async || stop.cancel())
        .await
        .unwrap();

    let (server, stop) = (Shared::default(), CancellationToken::new());
    server.lock().unreachable = usize::MAX;
    let manager = operator(&server, "--health-bind-address=0", Duration::ZERO, &stop);
    tokio::spawn(async move {
        sleep(Duration::from_mins(1)).await;
        stop.cancel();
    });
    manager.run().await.unwrap();
    assert!(journal(&server).is_empty());
}

#[tokio::test(start_paused = true)]
async fn controllers_flag_selects_controllers_by_name() {
    let (server, stop) = (Shared::default(), CancellationToken::new());
    let disabled = server.clone();
    let manager = operator(
        &server,
        "--controllers=web --health-bind-address=0",
        Duration::ZERO,
        &stop,
    )
    .register(move |setup| {
        let deployments = setup.informers().of::<Deployment>();
        let reconciler = Web {
            server: disabled,
            duration: Duration::from_hours(1),
            deployments: deployments.lister(),
            events: setup.recorder(),
        };
        setup.controller("other", reconciler).reconciles(&deployments);
    });
    run_until(&server, manager, "reconciled", async || stop.cancel())
        .await
        .unwrap();
    assert_eq!(
        journal(&server)
            .iter()
            .filter(|entry| entry.starts_with("reconcile "))
            .count(),
        1
    );

    let manager = operator(&server, "--controllers=webb", Duration::ZERO, &stop);
    let error = manager.run().await.unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("did you mean \"web\"?"), "{error}");
}

#[derive(clap::Args)]
struct Relay {
    /// Address of the relay
    #[arg(long)]
    relay: String,
}

#[tokio::test]
async fn invalid_configuration_fails_before_any_request() {
    let (server, stop) = (Shared::default(), CancellationToken::new());
    let run = async |args: &str| {
        let manager = operator(&server, args, Duration::ZERO, &stop).register(|setup| {
            let relay = setup.args::<Relay>().relay;
            assert_eq!(relay, "post");
        });
        manager.run().await.unwrap_err()
    };
    let missing = run("").await;
    assert!(
        matches!(&missing, Error::Usage(_)) && missing.to_string().contains("--relay"),
        "{missing}"
    );
    assert_eq!(missing.exit_code(), 2);
    let help = run("--help").await;
    assert!(help.to_string().contains("Address of the relay"), "{help}");
    assert_eq!(help.exit_code(), 0);
    let manifests = run("manifests").await.to_string();
    assert!(
        manifests.contains("one has no default") && manifests.contains("--relay"),
        "{manifests}"
    );

    let unfinished = operator(&server, "", Duration::ZERO, &stop).register(|setup| {
        let deployments = setup.informers().of::<Deployment>();
        let (server, events) = (Shared::default(), setup.recorder());
        let reconciler = Web {
            server,
            duration: Duration::ZERO,
            deployments: deployments.lister(),
            events,
        };
        setup.controller("web", reconciler);
    });
    let error = unfinished.run().await.unwrap_err().to_string();
    assert!(
        error.contains("no primary kind") && error.contains("two controllers are called \"web\""),
        "{error}"
    );
    let error = Manager::new("Shop").run().await.unwrap_err().to_string();
    assert!(error.contains("invalid operator name"), "{error}");
    let busy = StdListener::bind("127.0.0.1:0").unwrap();
    let address = format!("--health-bind-address={}", busy.local_addr().unwrap());
    let error = operator(&server, &address, Duration::ZERO, &stop)
        .run()
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("serving health checks on 127.0.0.1:") && error.contains("--health-bind-address"),
        "{error}"
    );
    assert!(journal(&server).is_empty());
}
