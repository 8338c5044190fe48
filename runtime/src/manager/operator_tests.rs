//! A whole operator in process, against an API server in memory that keeps a journal.

use std::{convert::Infallible, net::TcpListener as StdListener, pin::pin};

use bytes::Bytes;
use http::{Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full, StreamBody};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Event};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Duration, sleep},
};

use super::*;
use crate::{
    Manager, ObjectName,
    client::Create,
    controller::{Action, Probe, ReconcileError, Reconciler},
    events::EventType,
};

/// Deployments to list, one Lease, and what happened, in order.
#[derive(Default)]
struct World {
    journal: Vec<String>,
    lease: Option<Value>,
    version: u64,
    /// For how many more requests nobody is there.
    unreachable: usize,
    /// How many Deployments there are beside `web`.
    more: usize,
}

type Shared = Arc<Mutex<World>>;

fn journal(world: &Shared) -> Vec<String> {
    world.lock().journal.clone()
}

fn note(world: &Shared, entry: impl Into<String>) {
    world.lock().journal.push(entry.into());
}

impl World {
    fn put_lease(&mut self, spec: &Value) -> Value {
        self.version += 1;
        let metadata =
            json!({"name": "shop", "namespace": "default", "resourceVersion": self.version.to_string()});
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec});
        self.lease = Some(lease.clone());
        lease
    }

    fn answer(&mut self, method: &Method, uri: &Uri, body: &Value) -> (u16, Value) {
        let path = uri.path();
        match (
            method,
            path.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default(),
        ) {
            (_, "version") => {
                self.journal.push("version".into());
                (200, json!({}))
            }
            (_, "deployments") => {
                let mut parameters = uri.query().unwrap_or_default().split('&');
                let is_one = parameters.any(|parameter| parameter == "limit=1");
                self.journal.push(if is_one { "quorum" } else { "list" }.into());
                let web = json!({"metadata": {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "7"}});
                let mut items = vec![web; self.more + 1];
                for (number, item) in items.iter_mut().enumerate().skip(1) {
                    item["metadata"]["name"] = format!("web-{number}").into();
                    item["metadata"]["uid"] = format!("u-{number}").into();
                }
                let list = json!({"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {"resourceVersion": "9"}, "items": items});
                (200, list)
            }
            (&Method::POST, "events") => {
                self.journal.push("event".into());
                (201, body.clone())
            }
            (&Method::GET, _) => match &self.lease {
                Some(lease) => (200, lease.clone()),
                None => (404, failure(404, "NotFound")),
            },
            (&Method::PUT, _)
                if self.lease.as_ref().is_none_or(|lease| {
                    lease["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]
                }) =>
            {
                (409, failure(409, "Conflict"))
            }
            (&Method::POST | &Method::PUT, _) => {
                let released = body["spec"]["holderIdentity"] == "";
                if released || self.lease.is_none() {
                    self.journal
                        .push(if released { "release" } else { "acquire" }.into());
                }
                (200, self.put_lease(&body["spec"]))
            }
            _ => panic!("nobody should ask {method} {uri}"),
        }
    }

    fn connect(world: &Shared) -> kube::Client {
        let world = world.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let world = world.clone();
            async move {
                let (parts, body) = request.into_parts();
                let asks_for = |what| parts.uri.query().is_some_and(|query| query.contains(what));
                if asks_for("sendInitialEvents=") {
                    let refusal = serde_json::to_vec(&failure(422, "Invalid"))?;
                    return Ok(Response::builder()
                        .status(422)
                        .body(Full::from(refusal).boxed_unsync())?);
                }
                if asks_for("watch=") {
                    let silence = futures::stream::pending::<Result<http_body::Frame<Bytes>, Infallible>>();
                    return Ok(Response::new(StreamBody::new(silence).boxed_unsync()));
                }
                let body = serde_json::from_slice(&body.collect().await?.to_bytes()).unwrap_or_default();
                let mut world = world.lock();
                if world.unreachable > 0 {
                    world.unreachable -= 1;
                    return Err(tower::BoxError::from("connection refused"));
                }
                let (code, answer) = world.answer(&parts.method, &parts.uri, &body);
                Ok(Response::builder()
                    .status(code)
                    .body(Full::from(serde_json::to_vec(&answer)?).boxed_unsync())?)
            }
        });
        kube::Client::new(service, "default")
    }
}

fn failure(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": reason, "reason": reason, "code": code})
}

/// Notes its calls, and stays in them for as long as it is told.
struct Web {
    world: Shared,
    lasts: Duration,
    deployments: crate::cache::Lister<Deployment>,
    events: Recorder,
}

struct Cancelled(Shared);

impl Drop for Cancelled {
    fn drop(&mut self) {
        note(&self.0, "cancelled");
    }
}

impl Reconciler for Web {
    async fn reconcile(&self, key: &ObjectName) -> Result<Action, ReconcileError> {
        let deployment = self.deployments.get(key)?;
        note(&self.world, format!("reconcile {key}"));
        let guard = Cancelled(self.world.clone());
        sleep(self.lasts).await;
        std::mem::forget(guard);
        self.events.event(&*deployment, EventType::Normal, "Seen", "seen");
        note(&self.world, "reconciled");
        Ok(Action::done())
    }
}

/// An operator with a controller on Deployments whose reconciles take `lasts`.
fn operator(world: &Shared, args: &str, lasts: Duration, stop: &CancellationToken) -> Manager {
    let (client, world) = (World::connect(world), world.clone());
    let args = ["--metrics-bind-address=0"]
        .into_iter()
        .chain(args.split_whitespace());
    Manager::new("shop")
        .with_args(args)
        .with_client(client)
        .stop_on(stop)
        .register(move |setup| {
            let deployments = setup.informers().of::<Deployment>();
            let reconciler = Web {
                world,
                lasts,
                deployments: deployments.lister(),
                events: setup.recorder(),
            };
            setup.controller("web", reconciler).reconciles(&deployments);
        })
}

/// Runs a manager until the journal holds `entry`, then does `then`, and returns how the manager ended.
async fn run_until(
    world: &Shared,
    manager: Manager,
    entry: &str,
    then: impl AsyncFnOnce(),
) -> Result<(), Error> {
    let mut running = pin!(manager.run());
    let reached = async {
        while !journal(world).iter().any(|found| found == entry) {
            sleep(Duration::from_millis(5)).await;
        }
        then().await;
    };
    tokio::select! {
        ended = &mut running => return ended,
        () = reached => {}
    }
    running.await
}

async fn probe(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

fn free_port() -> u16 {
    StdListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

#[tokio::test]
async fn starts_syncs_reconciles_and_stops_in_order() {
    let (world, stop, port) = (Shared::default(), CancellationToken::new(), free_port());
    let args =
        format!("--leader-elect --leader-election-namespace=default --health-bind-address=127.0.0.1:{port}");
    let (before, after) = (world.clone(), world.clone());
    let manager = operator(&world, &args, Duration::from_millis(50), &stop).register(move |setup| {
        setup
            .runnable("migrate", async move |_stop| {
                sleep(Duration::from_millis(20)).await;
                note(&before, "migrated");
                Ok(())
            })
            .before_controllers()
            .leader_only();
        setup.runnable("poll", async move |stop: CancellationToken| {
            stop.cancelled().await;
            note(&after, "poll ended");
            Ok(())
        });
    });
    let ended = run_until(&world, manager, "reconcile default/web", async || {
        assert!(probe(port, "/readyz").await.unwrap().starts_with("HTTP/1.1 200"));
        assert!(
            probe(port, "/healthz?verbose")
                .await
                .unwrap()
                .contains("[+] ping ok")
        );
        // The running reconcile may end.
        stop.cancel();
    });
    ended.await.unwrap();
    let mut found = journal(&world);
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

#[tokio::test(start_paused = true)]
async fn a_lost_lease_cancels_at_once_and_fails() {
    let (world, stop) = (Shared::default(), CancellationToken::new());
    let args = "--leader-elect --leader-election-namespace=default --health-bind-address=0";
    let manager = operator(&world, args, Duration::from_hours(1), &stop);
    let taken = world.clone();
    let ended = run_until(&world, manager, "reconcile default/web", async || {
        taken
            .lock()
            .put_lease(&json!({"holderIdentity": "other", "leaseDurationSeconds": 15}));
    });
    let error = ended.await.unwrap_err();
    assert!(matches!(error, Error::LostLease(_)), "{error}");
    assert_eq!(error.exit_code(), 3);
    assert_eq!(
        journal(&world),
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
async fn a_standby_is_ready_and_writes_nothing() {
    let (world, stop) = (Shared::default(), CancellationToken::new());
    world
        .lock()
        .put_lease(&json!({"holderIdentity": "other", "leaseDurationSeconds": 3600}));
    let args = "--leader-elect --leader-election-namespace=default --health-bind-address=0";
    let manager = operator(&world, args, Duration::ZERO, &stop);
    let ended = run_until(&world, manager, "list", async || {
        sleep(Duration::from_mins(2)).await;
        stop.cancel();
    });
    ended.await.unwrap();
    assert_eq!(journal(&world), ["version", "list"]);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_end_in_the_grace_period_is_cancelled_and_named() {
    let (world, stop) = (Shared::default(), CancellationToken::new());
    let manager = operator(
        &world,
        "--grace-period=10s --health-bind-address=0",
        Duration::from_hours(1),
        &stop,
    );
    let ended = run_until(&world, manager, "reconcile default/web", async || stop.cancel());
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
    assert_eq!(journal(&world).last().unwrap(), "cancelled");
}

/// A replica that does not lead sends no write, unless its author says that every replica may.
#[tokio::test(start_paused = true)]
async fn the_clients_of_a_standby_write_only_what_every_replica_may() {
    let (world, stop) = (Shared::default(), CancellationToken::new());
    world
        .lock()
        .put_lease(&json!({"holderIdentity": "other", "leaseDurationSeconds": 3600}));
    let args = "--leader-elect --leader-election-namespace=default --health-bind-address=0";
    let (said, ended) = (Arc::new(Mutex::new(Vec::new())), stop.clone());
    let errors = said.clone();
    let manager = operator(&world, args, Duration::ZERO, &stop).register(move |setup| {
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
    assert_eq!(journal(&world), ["version", "list", "event"]);
    let said = said.lock();
    assert!(
        said[0].contains("cannot create Event default/hello: this replica does not hold the leader lease"),
        "{said:?}"
    );
    assert!(said[1].contains("this replica does not lead"), "{said:?}");
}

/// Every reconcile that was started ends or is cancelled within the grace period; the lease goes last; the exit code tells.
#[tokio::test(start_paused = true)]
async fn shuts_down_under_load_within_the_grace_period() {
    for (grace, code) in [(30, None), (8, Some(5))] {
        let (world, stop) = (Shared::default(), CancellationToken::new());
        world.lock().more = 300;
        let args = format!(
            "--leader-elect --leader-election-namespace=default --health-bind-address=0 --grace-period={grace}s"
        );
        let mut manager = operator(&world, &args, Duration::from_secs(1), &stop);
        // From 0.1 s to 20 s: some end within any grace.
        for (number, lasts) in [100, 3_000, 6_000, 20_000].into_iter().enumerate() {
            let world = world.clone();
            manager = manager.register(move |setup| {
                let deployments = setup.informers().of::<Deployment>();
                let reconciler = Web {
                    world,
                    lasts: Duration::from_millis(lasts),
                    deployments: deployments.lister(),
                    events: setup.recorder(),
                };
                let spec = setup.controller(format!("web-{number}"), reconciler);
                spec.reconciles(&deployments).workers(50);
            });
        }
        let stopped = Mutex::new(None);
        let ended = run_until(&world, manager, "reconciled", async || {
            sleep(Duration::from_millis(3_500)).await;
            *stopped.lock() = Some(Instant::now());
            stop.cancel();
        });
        let ended = ended.await.err().map(|error| error.exit_code());
        let took = stopped.into_inner().unwrap().elapsed();
        assert!(took <= Duration::from_secs(grace), "{took:?}");
        assert_eq!(ended, code);
        let journal = journal(&world);
        let count = |entry: &str| journal.iter().filter(|found| found.starts_with(entry)).count();
        assert!(count("reconcile ") > 200, "it was under load");
        assert_eq!(count("reconcile "), count("reconciled") + count("cancelled"));
        assert_eq!(count("cancelled") > 0, code.is_some());
        assert_eq!(journal.last().unwrap(), "release");
        assert_eq!(count("release"), 1);
    }
}

#[tokio::test]
async fn probes_and_the_debug_page_tell_of_each_controller() {
    let (world, stop, health, metrics) = (
        Shared::default(),
        CancellationToken::new(),
        free_port(),
        free_port(),
    );
    let args = format!("--health-bind-address=127.0.0.1:{health} --metrics-bind-address=127.0.0.1:{metrics}");
    let broken = Arc::new(Mutex::new(false));
    let check = broken.clone();
    let manager = operator(&world, "", Duration::ZERO, &stop)
        .with_args(args.split_whitespace())
        .register(move |setup| {
            setup.health_check(Probe::Live, "disk", move || {
                if *check.lock() {
                    Err("full".to_owned())
                } else {
                    Ok(())
                }
            });
        });
    let ended = run_until(&world, manager, "reconciled", async || {
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
async fn the_debug_page_can_be_switched_off() {
    let (world, stop, metrics) = (Shared::default(), CancellationToken::new(), free_port());
    let args =
        format!("--health-bind-address=0 --debug-page=false --metrics-bind-address=127.0.0.1:{metrics}");
    let manager = operator(&world, "", Duration::ZERO, &stop).with_args(args.split_whitespace());
    let ended = run_until(&world, manager, "reconciled", async || {
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

#[tokio::test(start_paused = true)]
async fn a_failed_runnable_ends_the_operator_in_order() {
    let (world, stop) = (Shared::default(), CancellationToken::new());
    let manager =
        operator(&world, "--health-bind-address=0", Duration::from_secs(2), &stop).register(|setup| {
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
        journal(&world),
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
async fn waits_for_an_unreachable_api_server_and_can_be_stopped_meanwhile() {
    let (world, stop) = (Shared::default(), CancellationToken::new());
    world.lock().unreachable = 4;
    let manager = operator(&world, "--health-bind-address=0", Duration::ZERO, &stop);
    run_until(&world, manager, "reconciled", async || stop.cancel())
        .await
        .unwrap();

    let (world, stop) = (Shared::default(), CancellationToken::new());
    world.lock().unreachable = usize::MAX;
    let manager = operator(&world, "--health-bind-address=0", Duration::ZERO, &stop);
    tokio::spawn(async move {
        sleep(Duration::from_mins(1)).await;
        stop.cancel();
    });
    manager.run().await.unwrap();
    assert!(journal(&world).is_empty());
}

#[tokio::test(start_paused = true)]
async fn controllers_can_be_switched_off_by_name() {
    let (world, stop) = (Shared::default(), CancellationToken::new());
    let switched_off = world.clone();
    let manager = operator(
        &world,
        "--controllers=web --health-bind-address=0",
        Duration::ZERO,
        &stop,
    )
    .register(move |setup| {
        let deployments = setup.informers().of::<Deployment>();
        let reconciler = Web {
            world: switched_off,
            lasts: Duration::from_hours(1),
            deployments: deployments.lister(),
            events: setup.recorder(),
        };
        setup.controller("other", reconciler).reconciles(&deployments);
    });
    run_until(&world, manager, "reconciled", async || stop.cancel())
        .await
        .unwrap();
    assert_eq!(
        journal(&world)
            .iter()
            .filter(|entry| entry.starts_with("reconcile "))
            .count(),
        1
    );

    let manager = operator(&world, "--controllers=webb", Duration::ZERO, &stop);
    let error = manager.run().await.unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("did you mean \"web\"?"), "{error}");
}

#[derive(clap::Args)]
struct Relay {
    /// Where letters go
    #[arg(long)]
    relay: String,
}

#[tokio::test]
async fn mistakes_end_it_before_anything_is_sent() {
    let (world, stop) = (Shared::default(), CancellationToken::new());
    let run = async |args: &str| {
        let manager = operator(&world, args, Duration::ZERO, &stop).register(|setup| {
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
    assert!(help.to_string().contains("Where letters go"), "{help}");
    assert_eq!(help.exit_code(), 0);
    let manifests = run("manifests").await.to_string();
    assert!(
        manifests.contains("one has no default") && manifests.contains("--relay"),
        "{manifests}"
    );

    let unfinished = operator(&world, "", Duration::ZERO, &stop).register(|setup| {
        let deployments = setup.informers().of::<Deployment>();
        let (world, events) = (Shared::default(), setup.recorder());
        let reconciler = Web {
            world,
            lasts: Duration::ZERO,
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
    assert!(error.contains("cannot be an operator's name"), "{error}");
    let busy = StdListener::bind("127.0.0.1:0").unwrap();
    let address = format!("--health-bind-address={}", busy.local_addr().unwrap());
    let error = operator(&world, &address, Duration::ZERO, &stop)
        .run()
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("cannot serve health checks on 127.0.0.1:") && error.contains("--health-bind-address"),
        "{error}"
    );
    assert!(journal(&world).is_empty());
}
