//! The order of start, leader election and shutdown.

use super::*;

#[tokio::test]
async fn starts_syncs_reconciles_and_stops_in_order() {
    let (server, stop, port) = (Shared::default(), CancellationToken::new(), free_port());
    let args =
        format!("--leader-elect --leader-election-namespace=default --health-bind-address=127.0.0.1:{port}");
    let (before, after) = (server.clone(), server.clone());
    let manager = operator(&server, &args, Duration::from_millis(50), &stop).register(move |setup| {
        setup
            .runnable("migrate", async move |_stop| {
                sleep(Duration::from_millis(20)).await;
                record(&before, "migrated");
                Ok(())
            })
            .before_controllers()
            .leader_only();
        setup.runnable("poll", async move |stop: CancellationToken| {
            stop.cancelled().await;
            record(&after, "poll ended");
            Ok(())
        });
    });
    let ended = run_until(&server, manager, "reconcile default/web", async || {
        assert!(probe(port, "/readyz").await.unwrap().starts_with("HTTP/1.1 200"));
        assert!(
            probe(port, "/healthz?verbose")
                .await
                .unwrap()
                .contains("[+] ping ok")
        );
        // The running reconcile completes.
        stop.cancel();
    });
    ended.await.unwrap();
    let mut found = journal(&server);
    let polled = found.iter().position(|entry| entry == "poll ended").unwrap();
    found.remove(polled);
    assert_eq!(
        found,
        [
            "version",
            "list",
            "acquire",
            "quorum",
            "migrated",
            "reconcile default/web",
            "reconciled",
            "event",
            "release"
        ]
    );
    assert_eq!(probe(port, "/healthz").await, None, "the servers are closed");
}

/// The groups of every replica start before leader election, and stop in reverse order after the controllers.
#[tokio::test(start_paused = true)]
async fn groups_start_in_order_and_stop_in_reverse_order() {
    let (server, stop) = (Shared::default(), CancellationToken::new());
    let args = "--leader-elect --leader-election-namespace=default --health-bind-address=0";
    let recorded = server.clone();
    let manager = operator(&server, args, Duration::from_secs(1), &stop).register(move |setup| {
        let serve = |name: &'static str, takes: u64| {
            let server = recorded.clone();
            async move |stop: CancellationToken| {
                record(&server, format!("{name} started"));
                stop.cancelled().await;
                sleep(Duration::from_secs(takes)).await;
                record(&server, format!("{name} ended"));
                Ok(())
            }
        };
        let migrated = recorded.clone();
        setup.runnable("pool", serve("pool", 1)).group("storage");
        setup
            .runnable("migrate", async move |_stop| {
                sleep(Duration::from_secs(2)).await;
                record(&migrated, "migrated");
                Ok(())
            })
            .group("storage")
            .before_controllers();
        setup
            .runnable("shipper", serve("shipper", 0))
            .group("shipping")
            .leader_only();
        let listens = recorded.clone();
        setup
            .runnable("server", serve("server", 0))
            .group("servers")
            .ready_when(async move {
                sleep(Duration::from_secs(3)).await;
                record(&listens, "server listens");
            });
        setup.runnable("gate", serve("gate", 0)).group("gates");
        setup.runnable("poll", serve("poll", 0));
    });
    let ended = run_until(&server, manager, "reconcile default/web", async || stop.cancel());
    ended.await.unwrap();
    let found = journal(&server);
    // Events are written at any time.
    let found: Vec<&str> = found
        .iter()
        .map(String::as_str)
        .filter(|entry| *entry != "event")
        .collect();
    assert_eq!(
        found,
        [
            "version",
            "list",
            "poll started",
            "pool started",
            "migrated",
            "server started",
            "server listens",
            "gate started",
            "acquire",
            "quorum",
            "shipper started",
            "reconcile default/web",
            "poll ended",
            "reconciled",
            "shipper ended",
            "gate ended",
            "server ended",
            "pool ended",
            "release"
        ]
    );
}

/// A hanging group uses up the time of the groups before it, and the shutdown still ends within the grace period.
#[tokio::test(start_paused = true)]
async fn hanging_group_is_aborted_at_the_grace_period_and_named() {
    let (server, stop) = (Shared::default(), CancellationToken::new());
    let args = "--grace-period=10s --health-bind-address=0";
    let manager = operator(&server, args, Duration::ZERO, &stop).register(move |setup| {
        setup.runnable("first", async |stop: CancellationToken| {
            stop.cancelled().await;
            Ok(())
        });
        setup
            .runnable("stuck", async |_stop| pending().await)
            .group("last");
    });
    let ended = run_until(&server, manager, "reconciled", async || stop.cancel());
    let started = Instant::now();
    let error = ended.await.unwrap_err();
    assert!(
        started.elapsed() <= Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(error.exit_code(), 5);
    assert!(error.to_string().contains("runnable stuck"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn failed_group_prevents_the_start_of_later_groups() {
    let (server, stop) = (Shared::default(), CancellationToken::new());
    let recorded = server.clone();
    let manager =
        operator(&server, "--health-bind-address=0", Duration::ZERO, &stop).register(move |setup| {
            setup
                .runnable("pool", async |_stop| Err("no database".into()))
                .group("storage")
                .ready_when(pending());
            setup
                .runnable("server", async move |_stop| {
                    record(&recorded, "server started");
                    Ok(())
                })
                .group("servers");
        });
    let error = manager.run().await.unwrap_err();
    assert_eq!(error.to_string(), "runnable \"pool\" failed: no database");
    assert_eq!(error.exit_code(), 4);
    assert_eq!(journal(&server), ["version", "list"]);
}

#[tokio::test(start_paused = true)]
async fn lost_lease_cancels_reconciles_at_once_and_fails() {
    let (server, stop) = (Shared::default(), CancellationToken::new());
    let args = "--leader-elect --leader-election-namespace=default --health-bind-address=0";
    let manager = operator(&server, args, Duration::from_hours(1), &stop);
    let taken = server.clone();
    let ended = run_until(&server, manager, "reconcile default/web", async || {
        taken
            .lock()
            .put_lease(&json!({"holderIdentity": "other", "leaseDurationSeconds": 15}));
    });
    let error = ended.await.unwrap_err();
    assert!(matches!(error, Error::LostLease(_)), "{error}");
    assert_eq!(error.exit_code(), 3);
    assert_eq!(
        journal(&server),
        [
            "version",
            "list",
            "acquire",
            "quorum",
            "reconcile default/web",
            "cancelled"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn non_leader_is_ready_and_writes_nothing() {
    let (server, stop) = (Shared::default(), CancellationToken::new());
    server
        .lock()
        .put_lease(&json!({"holderIdentity": "other", "leaseDurationSeconds": 3600}));
    let args = "--leader-elect --leader-election-namespace=default --health-bind-address=0";
    let manager = operator(&server, args, Duration::ZERO, &stop);
    let ended = run_until(&server, manager, "list", async || {
        sleep(Duration::from_mins(2)).await;
        stop.cancel();
    });
    ended.await.unwrap();
    assert_eq!(journal(&server), ["version", "list"]);
}

/// A leader with a cache that is no longer updated must not keep the lease.
#[tokio::test(start_paused = true)]
async fn panic_of_an_informer_ends_the_operator_and_releases_the_lease() {
    struct Panics;
    impl Backoff for Panics {
        fn next(&mut self) -> Duration {
            panic!("no time to lose")
        }
    }
    let (server, stop) = (Shared::default(), CancellationToken::new());
    server.lock().has_broken_watches = true;
    let args = "--leader-elect --leader-election-namespace=default --health-bind-address=0";
    let manager = operator(&server, args, Duration::ZERO, &stop).register(|setup| {
        setup.informers().set_reflector_options(ReflectorOptions {
            backoff: Arc::new(|| Box::new(Panics)),
            ..ReflectorOptions::default()
        });
    });
    let error = manager.run().await.unwrap_err();
    assert!(
        matches!(&error, Error::Informer(reason) if reason.contains("Deployment panicked: no time to lose")),
        "{error}"
    );
    let journal = journal(&server);
    let count = |entry: &str| journal.iter().filter(|found| *found == entry).count();
    assert_eq!(count("acquire"), count("release"), "{journal:?}");
}

#[tokio::test(start_paused = true)]
async fn reconcile_that_exceeds_the_grace_period_is_cancelled_and_named() {
    let (server, stop) = (Shared::default(), CancellationToken::new());
    let manager = operator(
        &server,
        "--grace-period=10s --health-bind-address=0",
        Duration::from_hours(1),
        &stop,
    );
    let ended = run_until(&server, manager, "reconcile default/web", async || stop.cancel());
    let started = Instant::now();
    let error = ended.await.unwrap_err();
    assert!(
        started.elapsed() <= Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(error.exit_code(), 5);
    assert!(
        error.to_string().contains("controller web (default/web)"),
        "{error}"
    );
    assert_eq!(journal(&server).last().unwrap(), "cancelled");
}

#[tokio::test(start_paused = true)]
async fn fenced_clients_of_a_non_leader_refuse_writes_and_unfenced_ones_send_them() {
    let (server, stop) = (Shared::default(), CancellationToken::new());
    server
        .lock()
        .put_lease(&json!({"holderIdentity": "other", "leaseDurationSeconds": 3600}));
    let args = "--leader-elect --leader-election-namespace=default --health-bind-address=0";
    let (messages, ended) = (Arc::new(Mutex::new(Vec::new())), stop.clone());
    let errors = messages.clone();
    let manager = operator(&server, args, Duration::ZERO, &stop).register(move |setup| {
        let client = setup.client::<Event, (Create,)>();
        let raw = kube::Api::<Event>::namespaced(setup.kube_client(), "default");
        setup.runnable("greeter", async move |_stop| {
            let metadata = json!({"namespace": "default", "name": "hello"});
            let event: Event = serde_json::from_value(json!({"metadata": metadata, "involvedObject": {}}))?;
            let refused = client.create(&event).await.unwrap_err();
            assert!(refused.is_not_leading());
            errors.lock().push(refused.to_string());
            let refused = raw
                .create(&kube::api::PostParams::default(), &event)
                .await
                .unwrap_err();
            errors.lock().push(refused.to_string());
            client.unfenced().create(&event).await?;
            ended.cancel();
            Ok(())
        });
    });
    manager.run().await.unwrap();
    assert_eq!(journal(&server), ["version", "list", "event"]);
    let messages = messages.lock();
    assert!(
        messages[0]
            .contains("cannot create Event default/hello: this replica does not hold the leader lease"),
        "{messages:?}"
    );
    assert!(messages[1].contains("this replica does not lead"), "{messages:?}");
}

/// Every started reconcile ends or is cancelled within the grace period, and the lease is released last.
#[tokio::test(start_paused = true)]
async fn shuts_down_under_load_within_the_grace_period() {
    for (grace, code) in [(30, None), (8, Some(5))] {
        let (server, stop) = (Shared::default(), CancellationToken::new());
        server.lock().more = 300;
        let args = format!(
            "--leader-elect --leader-election-namespace=default --health-bind-address=0 --grace-period={grace}s"
        );
        let mut manager = operator(&server, &args, Duration::from_secs(1), &stop);
        // From 0.1 s to 20 s: some complete within each grace period.
        for (number, millis) in [100, 3_000, 6_000, 20_000].into_iter().enumerate() {
            let server = server.clone();
            manager = manager.register(move |setup| {
                let deployments = setup.informers().of::<Deployment>();
                let reconciler = Web {
                    server,
                    duration: Duration::from_millis(millis),
                    deployments: deployments.lister(),
                    events: setup.recorder(),
                };
                let controller = setup.controller(format!("web-{number}"), reconciler);
                controller.reconciles(&deployments).workers(50);
            });
        }
        let stopped = Mutex::new(None);
        let ended = run_until(&server, manager, "reconciled", async || {
            sleep(Duration::from_millis(3_500)).await;
            *stopped.lock() = Some(Instant::now());
            stop.cancel();
        });
        let ended = ended.await.err().map(|error| error.exit_code());
        let took = stopped.into_inner().unwrap().elapsed();
        assert!(took <= Duration::from_secs(grace), "{took:?}");
        assert_eq!(ended, code);
        let journal = journal(&server);
        let count = |entry: &str| journal.iter().filter(|found| found.starts_with(entry)).count();
        assert!(count("reconcile ") > 200, "it was under load");
        assert_eq!(count("reconcile "), count("reconciled") + count("cancelled"));
        assert_eq!(count("cancelled") > 0, code.is_some());
        assert_eq!(journal.last().unwrap(), "release");
        assert_eq!(count("release"), 1);
    }
}
