//! An injected clock in a running operator.

use k8s_openapi::jiff::Timestamp;

use super::*;
use crate::{Clock, cache::Lister, controller::conditions::condition};

/// Reconciles on the hour and notes the times that it sees.
struct Hourly {
    server: Shared,
    clock: Clock,
    deployments: Lister<Deployment>,
}

impl Reconciler for Hourly {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let deployment = self.deployments.get(key)?;
        let ready = condition(&*deployment, "Ready", true, "Hour", "");
        let now = self.clock.now();
        assert_eq!(ready.last_transition_time.0, now);
        record(&self.server, format!("reconciled at {now}"));
        let seconds = 3600 - now.as_second().rem_euclid(3600);
        Ok(Action::requeue_after(Duration::from_secs(seconds.unsigned_abs())))
    }
}

#[tokio::test(start_paused = true)]
async fn injected_clock_and_requeue_after_move_together() {
    let (server, stop) = (Shared::default(), CancellationToken::new());
    let start: Timestamp = "2026-01-01T00:50:00Z".parse().unwrap();
    let (shared, args) = (
        server.clone(),
        ["--metrics-bind-address=0", "--health-bind-address=0"],
    );
    let manager = Manager::new("shop")
        .with_args(args)
        .with_client(TestApiServer::connect(&server))
        .with_clock(Clock::starting_at(start))
        .stop_on(&stop)
        .register(move |setup| {
            let deployments = setup.informers().of::<Deployment>();
            let reconciler = Hourly {
                server: shared,
                clock: setup.clock(),
                deployments: deployments.lister(),
            };
            setup.controller("hourly", reconciler).reconciles(&deployments);
        });
    tokio::spawn(async move {
        sleep(Duration::from_mins(150)).await;
        stop.cancel();
    });
    manager.run().await.unwrap();
    let minutes: Vec<String> = journal(&server)
        .iter()
        .filter_map(|entry| Some(entry.strip_prefix("reconciled at 2026-01-01T")?[..5].to_owned()))
        .collect();
    assert_eq!(minutes, ["00:50", "01:00", "02:00", "03:00"]);
}
