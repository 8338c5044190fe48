//! Replicas that keep one Secret together, on a paused clock: a start at once, rotations under faults, and what users break.

mod api;

use rand::RngExt as _;
use tokio::{task::JoinHandle, time::sleep};

use super::*;
use crate::{
    NamespacedName,
    test_effort::simulation_seeds,
    test_log::CollectedLog,
    webhooks::certificates::keeper::{CertificateKeeper, CertificateSource},
};
use api::{Api, SharedApi, accepts, client};

const SECRET_PATH: &str = "/api/v1/namespaces/default/secrets/shop";
const SERVER_NAME: &str = "shop.default.svc";
const REPLICAS: usize = 3;
/// How long API servers may use an old bundle; less than the publication period.
const LAG: SignedDuration = SignedDuration::from_mins(9);
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

struct Simulation {
    api: SharedApi,
    clock: Clock,
    replicas: Vec<JoinHandle<()>>,
}

impl Simulation {
    /// Starts all replicas at once, with an empty Secret.
    fn start(seed: u64) -> Self {
        let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
        let api = Arc::new(parking_lot::Mutex::new(Api::new(seed, clock.clone(), REPLICAS)));
        let replicas = (0..REPLICAS)
            .map(|replica| start(&api, &clock, replica))
            .collect();
        Self { api, clock, replicas }
    }

    fn restart(&mut self, replica: usize) {
        self.replicas[replica].abort();
        self.replicas[replica] = start(&self.api, &self.clock, replica);
    }

    /// Moves the wall time, and lets the replicas work for a while.
    async fn advance(&self, jump: SignedDuration, work: Duration) {
        self.clock.set(add(self.clock.now(), jump));
        sleep(work).await;
        self.api.lock().check();
    }

    /// Asserts that all replicas serve one certificate, which all configurations trust, and returns the bundle.
    fn assert_settled(&self, seed: u64) -> String {
        let api = self.api.lock();
        let served: Vec<_> = api
            .serving
            .iter()
            .map(|serving| serving.as_ref().unwrap().current().expect("a certificate"))
            .collect();
        let bundle = api.entry(BUNDLE);
        for certified in &served {
            assert_eq!(certified.cert, served[0].cert, "seed {seed}");
            assert!(
                accepts(&bundle, &certified.cert[0], self.clock.now()),
                "seed {seed}"
            );
        }
        for index in 0..2 {
            assert_eq!(api.bundle(index), bundle, "seed {seed}");
        }
        bundle
    }
}

fn start(api: &SharedApi, clock: &Clock, replica: usize) -> JoinHandle<()> {
    let source = CertificateSource::Generated {
        secret: NamespacedName::namespaced("default", "shop"),
        bundles: vec![
            BundleTarget::Validating("shop".to_owned()),
            BundleTarget::Definition("foos.demo.dev".to_owned()),
        ],
    };
    let names = ServerNames::of_service("shop", "default");
    let timing = RotationTiming {
        check_interval: CHECK_INTERVAL,
        ..RotationTiming::default()
    };
    let keeper = CertificateKeeper::new(
        Connection::new(client(api, replica)),
        source,
        names,
        clock.clone(),
    )
    .with_timing(timing);
    api.lock().serving[replica] = Some(keeper.serving());
    tokio::spawn(keeper.run(CancellationToken::new()))
}

fn days(days: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * days)
}

fn count(bundle: &str) -> usize {
    bundle.matches("BEGIN CERTIFICATE").count()
}

#[tokio::test(start_paused = true)]
async fn replicas_that_start_at_once_make_one_ca() {
    let mut conflicts = 0;
    for seed in 0..simulation_seeds().div_ceil(4) {
        let simulation = Simulation::start(seed);
        sleep(Duration::from_secs(10)).await;
        assert_eq!(count(&simulation.assert_settled(seed)), 1, "seed {seed}");
        let api = simulation.api.lock();
        let writes = api
            .requests
            .iter()
            .filter(|request| request.starts_with("PUT"))
            .count();
        assert!(writes <= REPLICAS, "seed {seed}: {:?}", api.requests);
        conflicts += api.conflicts;
    }
    assert!(conflicts > 0, "the replicas never raced");
}

/// One rotation of the CA and several of certificates, with replicas that crash, are cut off and lose requests.
#[tokio::test(start_paused = true)]
async fn served_certificates_are_always_trusted() {
    for seed in 0..simulation_seeds().div_ceil(50) {
        let mut simulation = Simulation::start(seed);
        simulation
            .advance(SignedDuration::ZERO, Duration::from_secs(20))
            .await;
        let first = simulation.assert_settled(seed);
        // The CA is due at day 2433.
        simulation.advance(days(2400), Duration::from_secs(20)).await;
        assert_eq!(simulation.assert_settled(seed), first, "seed {seed}");

        (simulation.api.lock().checks, simulation.api.lock().has_faults) = (true, true);
        let end = add(simulation.clock.now(), days(500));
        let mut most = 0;
        while simulation.clock.now() < end {
            let (jump, crashing, cut) = {
                let now = simulation.clock.now();
                let random = &mut simulation.api.lock().random;
                let jump = if random.random_bool(0.5) {
                    days(random.random_range(1..20))
                } else {
                    SignedDuration::from_mins(random.random_range(0..20))
                };
                let replica = random.random_range(0..REPLICAS);
                let cut = random
                    .random_bool(0.3)
                    .then(|| (replica, add(now, days(random.random_range(0..20)))));
                (jump, random.random_bool(0.2).then_some(replica), cut)
            };
            if let Some((replica, until)) = cut {
                simulation.api.lock().cut_until[replica] = until;
            }
            if let Some(replica) = crashing {
                simulation.restart(replica);
            }
            simulation.advance(jump, Duration::from_secs(20)).await;
            let api = simulation.api.lock();
            assert_eq!(api.violation, None, "seed {seed}");
            most = most.max(count(&api.entry(BUNDLE)));
        }
        simulation.api.lock().has_faults = false;
        simulation.api.lock().cut_until.fill(Timestamp::MIN);
        simulation
            .advance(SignedDuration::ZERO, Duration::from_mins(10))
            .await;
        let last = simulation.assert_settled(seed);
        assert_eq!((most, count(&last)), (2, 1), "seed {seed}");
        assert_ne!(first, last, "seed {seed}");
        assert_eq!(simulation.api.lock().violation, None, "seed {seed}");
    }
}

/// Whether the log has any line of these keys, in PEM.
fn has_key(log: &str, keys: &str) -> bool {
    let mut lines = keys.lines().filter(|line| !line.starts_with("-----"));
    lines.any(|line| log.contains(line)) || log.contains("PRIVATE KEY-----")
}

/// The API server prunes then, without an error.
#[tokio::test(start_paused = true)]
async fn definition_without_its_conversion_is_logged_and_left() {
    let log = CollectedLog::start(tracing::Level::WARN);
    let simulation = Simulation::start(1);
    sleep(Duration::from_secs(10)).await;
    let none = serde_json::json!({"strategy": "None"});
    let before = simulation.api.lock().edit_conversion(none.clone());
    sleep(Duration::from_secs(30)).await;
    let warning = "CustomResourceDefinition foos.demo.dev error=\"it has no conversion webhook, so the API server drops values that a version \
                   lacks, without an error: apply manifests/crds\"";
    let text = log.text();
    assert_eq!(text.matches(warning).count(), REPLICAS, "{text}");
    assert_eq!(simulation.api.lock().edit_conversion(before), none);
    sleep(Duration::from_secs(10)).await;
    simulation.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn broken_secrets_and_edited_bundles_are_put_right() {
    let log = CollectedLog::start(tracing::Level::TRACE);
    for seed in 0..simulation_seeds().div_ceil(20) {
        let simulation = Simulation::start(seed);
        sleep(Duration::from_secs(10)).await;
        let first = simulation.assert_settled(seed);
        simulation.api.lock().edit_bundle(0, "edited");
        sleep(Duration::from_secs(20)).await;
        assert_eq!(simulation.assert_settled(seed), first);
        assert!(log.text().contains("the CA bundle was edited: put back"));

        let foreign = {
            let mut contents = Contents::default();
            let (names, now) = (
                ServerNames::of_service("other", "default"),
                simulation.clock.now(),
            );
            contents
                .apply(&plan(&contents.state(&names), now, false), &names, now)
                .unwrap();
            serde_json::to_value(contents.to_data()).unwrap()
        };
        for data in [
            serde_json::json!({}),
            serde_json::Value::Null,
            serde_json::json!({"tls.crt": "", "ca.crt": "ISE=", "other": "AA=="}),
            foreign,
        ] {
            let before = simulation.assert_settled(seed);
            let has_other = data.get("other").is_some();
            simulation.api.lock().edit_secret(data);
            sleep(Duration::from_secs(30)).await;
            let after = simulation.assert_settled(seed);
            assert_ne!(before, after, "seed {seed}");
            let keys = [KEY, AUTHORITY_KEYS]
                .map(|key| simulation.api.lock().entry(key))
                .concat();
            assert_eq!(keys.matches("BEGIN PRIVATE KEY").count(), 2, "seed {seed}");
            assert!(!has_key(&log.text(), &keys), "seed {seed}: a key is in the log");
            assert_eq!(
                simulation.api.lock().secret_data().get("other").is_some(),
                has_other,
                "entries of others stay"
            );
        }
    }
    for problem in [
        "tls.crt, tls.key: the TLS certificate has no PEM block",
        "ca.crt: it has no PEM block",
        "the serving certificate is not for shop.default.svc",
    ] {
        assert!(log.text().contains(problem), "{problem}");
    }
}

/// Without faults a settled keeper reads the objects at each check, and writes nothing.
#[tokio::test(start_paused = true)]
async fn settled_keeper_only_reads() {
    let simulation = Simulation::start(0);
    sleep(Duration::from_secs(20)).await;
    simulation.api.lock().requests.clear();
    sleep(Duration::from_mins(1)).await;
    let api = simulation.api.lock();
    assert!(
        api.requests
            .iter()
            .all(|request| request.starts_with("GET ") && !request.ends_with("secrets/shop")),
        "{:?}",
        api.requests
    );
    assert!(api.requests.len() >= 30, "{:?}", api.requests);
}
