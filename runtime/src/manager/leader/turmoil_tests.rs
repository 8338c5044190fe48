//! Leader election under turmoil: three replicas on clocks of different rates, an API server in memory behind a network that delays,
//! cuts, and loses answers; processes that crash, stop, and go on writing after they lost the lease.
//!
//! The check stands at the API server: a write is carried out only while its sender holds the Lease. Everything follows from a seed,
//! which is printed when a check fails.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};
use tokio::{
    runtime::Builder,
    sync::{oneshot, watch},
    task::JoinSet,
    time::sleep_until,
};

use super::{super::Candidacy, *};
use crate::{
    NamespacedName,
    client::{Connection, Patch, PatchBody, TypedClient},
};

const SEEDS: u64 = 1000;
const NODES: usize = 3;
/// Until then things go wrong.
const TURMOIL: Duration = Duration::from_secs(90);
/// From then on nothing does, and after this time somebody must lead: a lease, a try that hangs, two looks, what was on its way.
const FAIL_OVER: Duration = Duration::from_secs(35);
/// And so long after a lease was given back: one look of a slow clock, and the requests.
const HAND_OVER: Duration = Duration::from_secs(6);
/// A request that was given up is still carried out up to so much later.
const LINGERING: Duration = Duration::from_secs(1);

/// What the world is like.
#[derive(Clone, Copy)]
struct Weather {
    /// How far clocks are from the true rate.
    skew: f64,
    is_fenced: bool,
}

/// The API server, and the network before it.
struct World {
    random: StdRng,
    started: Instant,
    lease: Option<Value>,
    version: u64,
    cut_until: [Instant; NODES],
    /// How often all nodes lost the API server at once, for longer than a lease lasts.
    outages: u64,
    /// When the last write was carried out, and whose.
    last_write: Option<(Instant, String)>,
    writes: u64,
    released: Option<Instant>,
    longest_gap_when_calm: Duration,
    violation: Option<String>,
}

type Shared = Arc<Mutex<World>>;

/// What becomes of one request.
struct Passage {
    there: Duration,
    lingers: Option<Duration>,
    is_refused: bool,
    back: Option<Duration>,
}

impl World {
    fn is_calm(&self) -> bool {
        self.started.elapsed() >= TURMOIL
    }

    fn within(&mut self, least: f64, most: f64) -> Duration {
        Duration::from_secs_f64(self.random.random_range(least..most))
    }

    fn chance(&mut self, of: f64) -> bool {
        self.random.random_bool(of)
    }

    fn passage(&mut self, node: usize) -> Passage {
        let calm = self.is_calm();
        let way = |world: &mut Self| match (calm, world.chance(0.05)) {
            (true, _) => world.within(0.001, 0.05),
            (false, false) => world.within(0.001, 0.3),
            (false, true) => world.within(0.5, 8.0),
        };
        let (there, back) = (way(self), way(self));
        let cut = self.cut_until[node].saturating_duration_since(Instant::now());
        Passage {
            there: there + cut,
            lingers: self
                .chance(0.5)
                .then(|| self.within(0.0, LINGERING.as_secs_f64())),
            is_refused: !cut.is_zero() && self.chance(0.5),
            back: (calm || !self.chance(0.05)).then_some(back),
        }
    }

    fn holder(&self) -> &str {
        let holder = self.lease.as_ref().map(|lease| &lease["spec"]["holderIdentity"]);
        holder.and_then(Value::as_str).unwrap_or_default()
    }

    /// Carries a request out.
    fn answer(&mut self, sender: &str, method: &Method, is_lease: bool, body: &Value) -> (u16, Value) {
        let refusal = |code: u16, reason: &str| {
            (
                code,
                json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason}),
            )
        };
        if !is_lease {
            let (now, holder) = (Instant::now(), self.holder().to_owned());
            if holder != sender && self.violation.is_none() {
                let at = self.started.elapsed();
                self.violation = Some(format!(
                    "at {at:?} a write of {sender} {VIOLATION}, the leader is {holder:?}"
                ));
            }
            if self.is_calm() {
                let since = self.last_write.as_ref().map_or(self.started, |(at, _)| *at);
                let since = since.max(self.started + TURMOIL);
                self.longest_gap_when_calm = self.longest_gap_when_calm.max(now - since);
            }
            self.last_write = Some((now, sender.to_owned()));
            self.writes += 1;
            return (
                200,
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}),
            );
        }
        match (method, &self.lease) {
            (&Method::GET, Some(lease)) => return (200, lease.clone()),
            (&Method::GET | &Method::PUT, None) => return refusal(404, "NotFound"),
            (&Method::POST, Some(_)) => return refusal(409, "AlreadyExists"),
            (_, Some(lease))
                if lease["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"] =>
            {
                return refusal(409, "Conflict");
            }
            _ => {}
        }
        self.version += 1;
        let mut lease = body.clone();
        lease["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.lease = Some(lease.clone());
        if self.holder().is_empty() {
            self.released = Some(Instant::now());
        }
        (200, lease)
    }
}

/// The client of one process.
fn client(world: &Shared, node: usize, identity: &str) -> kube::Client {
    let (world, identity) = (world.clone(), identity.to_owned());
    let service = tower::service_fn(move |request: Request<Body>| {
        let (world, identity) = (world.clone(), identity.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            let passage = world.lock().passage(node);
            let (sender, receiver) = oneshot::channel();
            let is_lease = parts.uri.path().contains("/leases");
            tokio::spawn(carry(
                world,
                identity,
                passage,
                (parts.method, is_lease, body),
                sender,
            ));
            let (code, answer) = receiver
                .await
                .map_err(|_| tower::BoxError::from("connection reset"))?;
            Ok::<_, tower::BoxError>(
                Response::builder()
                    .status(code)
                    .body(Body::from(serde_json::to_vec(&answer)?))?,
            )
        }
    });
    kube::Client::new(service, "default")
}

/// Takes a request to the API server and its answer back, also when its sender has given it up.
async fn carry(
    world: Shared,
    identity: String,
    passage: Passage,
    (method, is_lease, body): (Method, bool, Value),
    mut answer: oneshot::Sender<(u16, Value)>,
) {
    if passage.is_refused {
        return;
    }
    tokio::select! {
        biased;
        () = sleep(passage.there) => {}
        () = answer.closed() => match passage.lingers {
            Some(still) => sleep(still.min(passage.there)).await,
            None => return,
        },
    }
    let carried_out = world.lock().answer(&identity, &method, is_lease, &body);
    match passage.back {
        Some(back) => {
            sleep(back).await;
            let _ = answer.send(carried_out);
        }
        // Lost, and nobody says so.
        None => answer.closed().await,
    }
}

/// How a process ends.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Crash,
    Stop,
    Lost,
}

/// One replica: a process after the other, on a clock of its own.
async fn node(world: Shared, number: usize, weather: Weather, mut stop_leader: watch::Receiver<bool>) {
    let skew = 1.0 + weather.skew * world.lock().random.random_range(-1.0..1.0);
    let local = |duration: Duration| duration.div_f64(skew);
    let true_time = Timing::default();
    let timing = Timing {
        lease_duration: local(true_time.lease_duration),
        renew_deadline: local(true_time.renew_deadline),
        retry_period: local(true_time.retry_period),
    };
    for incarnation in 0.. {
        let identity = format!("{number}#{incarnation}");
        let (client, fence) = (client(&world, number, &identity), Fence::default());
        let lock = LeaseLock::new(client.clone(), "default", "shop");
        let mut elector = Elector::new(lock, identity.clone(), timing, fence.clone());
        elector.election.lease_seconds = 15;
        elector.election.second = local(Duration::from_secs(1));
        elector.jitter = StdRng::seed_from_u64(world.lock().random.random());
        let mut connection = Connection::new(client);
        if weather.is_fenced {
            connection = connection.fenced(fence);
        }
        let mut candidacy = Candidacy::start(elector, Gauge::default());
        let mut writers = JoinSet::new();

        let (lives, fate) = {
            let mut world = world.lock();
            let lives = world.within(5.0, 60.0);
            let is_short = world.started.elapsed() + lives < TURMOIL;
            let fate = if world.chance(0.5) { End::Crash } else { End::Stop };
            (if is_short { lives } else { Duration::from_hours(1) }, fate)
        };
        let end = tokio::select! {
            biased;
            () = sleep(lives) => fate,
            () = async {
                let _ = stop_leader.wait_for(|stop| *stop).await.map(drop);
                // Who becomes leader afterwards stays.
                let leads = world.lock().holder() == identity;
                if !leads {
                    std::future::pending::<()>().await;
                }
            } => End::Stop,
            _ = async {
                candidacy.leading().await;
                writers.spawn(write(world.clone(), TypedClient::new(connection.clone())));
                candidacy.lost().await
            } => End::Lost,
        };
        match end {
            End::Crash => drop((candidacy, writers)),
            End::Stop => {
                // What runs is cancelled, in flight or not.
                writers.shutdown().await;
                let _ = timeout(local(Duration::from_secs(3)), candidacy.give_up()).await;
            }
            End::Lost => {
                // The user's own tasks do not know yet, and go on until the process has ended.
                let _ = timeout(local(Duration::from_secs(3)), candidacy.give_up()).await;
                let lags = world.lock().within(0.0, 20.0);
                sleep(lags).await;
                writers.shutdown().await;
            }
        }
        let away = world.lock().within(0.1, 5.0);
        sleep(away).await;
    }
}

async fn write(world: Shared, client: TypedClient<ConfigMap, (Patch,)>) {
    let (name, patch) = (
        NamespacedName::namespaced("b", "a"),
        PatchBody::Merge(json!({"data": {}})),
    );
    loop {
        let _ = timeout(Duration::from_secs(5), client.patch(&name, &patch)).await;
        let pause = world.lock().within(0.4, 1.6);
        sleep(pause).await;
    }
}

/// Cuts nodes off, one after the other, and now and then all at once: the API server itself is away.
async fn partitions(world: Shared) {
    loop {
        let pause = {
            let mut world = world.lock();
            if world.is_calm() {
                return;
            }
            let (node, lasts) = (world.random.random_range(0..NODES), world.within(1.0, 25.0));
            let (now, end) = (Instant::now(), world.started + TURMOIL);
            let until = end.min(now + lasts);
            if world.chance(0.15) {
                world.cut_until.fill(until);
                world.outages += u64::from(until - now > Timing::default().lease_duration);
            } else {
                world.cut_until[node] = until;
            }
            world.within(1.0, 15.0)
        };
        sleep(pause).await;
    }
}

/// Lives through one seed. Says what went wrong, or how many writes and long outages there were.
fn live(seed: u64, weather: Weather) -> Result<(u64, u64), String> {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let started = Instant::now();
        let world = Shared::new(Mutex::new(World {
            random: StdRng::seed_from_u64(seed),
            started,
            lease: None,
            version: 0,
            cut_until: [started; NODES],
            outages: 0,
            last_write: None,
            writes: 0,
            released: None,
            longest_gap_when_calm: Duration::ZERO,
            violation: None,
        }));
        let stop_leader = watch::Sender::new(false);
        let mut tasks = JoinSet::new();
        for number in 0..NODES {
            tasks.spawn(node(world.clone(), number, weather, stop_leader.subscribe()));
        }
        tasks.spawn(partitions(world.clone()));
        let check = |what: &str| {
            let world = world.lock();
            let (gap, last) = (world.longest_gap_when_calm, world.last_write.clone());
            match (&world.violation, last) {
                (Some(violation), _) => Err(violation.clone()),
                (None, Some((at, by))) if gap <= FAIL_OVER && at.elapsed() < Duration::from_secs(2) => Ok(by),
                (None, last) => Err(format!(
                    "{what}: nobody wrote for {gap:?}, last {:?}, the lease is {:?}",
                    last.map(|(at, by)| (at.elapsed(), by)),
                    world.lease
                )),
            }
        };
        sleep_until(started + TURMOIL + FAIL_OVER).await;
        let leader = check("after the turmoil")?;
        world.lock().released = None;
        stop_leader.send_replace(true);
        sleep(HAND_OVER + Duration::from_secs(3)).await;
        let next = check("after a stop")?;
        let world = world.lock();
        let Some(released) = world.released else {
            return Err("the leader that stopped did not give the lease back".to_owned());
        };
        if leader == next || released.elapsed() + Duration::from_secs(2) < HAND_OVER {
            return Err(format!("{leader} was asked to stop, {next} leads"));
        }
        Ok((world.writes, world.outages))
    })
}

/// What is said when a write was carried out that should not have been.
const VIOLATION: &str = "was carried out";

/// Lives through all seeds on two threads, until one fails in the way that is looked for. Counts the long outages of those that did not.
fn first_failure(weather: Weather, looked_for: &str) -> (Option<String>, u64) {
    let all_outages = &AtomicU64::new(0);
    let failure = thread::scope(|scope| {
        let halves: Vec<_> = [0, 1]
            .map(|first| {
                scope.spawn(move || {
                    (first..SEEDS).step_by(2).find_map(|seed| {
                        let wrong = match live(seed, weather) {
                            Ok((writes, outages)) => {
                                all_outages.fetch_add(outages, Ordering::Relaxed);
                                (writes < 20).then(|| format!("only {writes} writes"))
                            }
                            Err(wrong) => Some(wrong),
                        };
                        let wrong = wrong.filter(|wrong| wrong.contains(looked_for))?;
                        Some(format!("seed {seed}: {wrong}"))
                    })
                })
            })
            .into_iter()
            .collect();
        halves.into_iter().find_map(|half| half.join().unwrap())
    });
    (failure, all_outages.load(Ordering::Relaxed))
}

#[test]
fn never_two_writers_and_always_one_soon() {
    let weather = Weather {
        skew: 0.05,
        is_fenced: true,
    };
    let (failure, outages) = first_failure(weather, "");
    assert_eq!(failure, None);
    assert!(
        outages > SEEDS / 4,
        "the API server was hardly ever away: {outages}"
    );
}

/// The check can fail: without the cut-off, writes of a former leader are carried out under the next one.
#[test]
fn without_the_cut_off_a_former_leader_writes() {
    let weather = Weather {
        skew: 0.05,
        is_fenced: false,
    };
    let (violation, _) = first_failure(weather, VIOLATION);
    assert!(violation.is_some(), "the check finds nothing");
}

/// Beyond the margin the promise ends, as the documentation says.
#[test]
fn with_clocks_that_are_too_different_a_former_leader_writes() {
    let weather = Weather {
        skew: 0.5,
        is_fenced: true,
    };
    let (violation, _) = first_failure(weather, VIOLATION);
    assert!(violation.is_some(), "the check finds nothing");
}
