//! Random disruptions of the connection between the informers and the API server, and of the API server itself.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

use kubewright_testkit::{Cluster, Proxy};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::SliceRandom as _};

/// How often each disruption happened.
#[derive(Debug, Default)]
pub struct DisruptionCounts {
    /// Cut connections.
    pub cuts: usize,
    pub holds: u64,
    pub refusals: u64,
    pub compactions: u64,
    /// Outages of the API server: a real one was killed and restarted, an embedded one was unreachable.
    pub outages: u64,
}

#[derive(Clone, Copy, Debug)]
enum Disruption {
    /// Cuts about a quarter of the connections.
    CutSome,
    CutAll,
    Hold,
    Compact,
    Refuse,
    Outage,
}

/// One round of disruptions: each kind at least once, the frequent ones more often.
const ROUND: [Disruption; 16] = {
    use Disruption::{Compact, CutAll, CutSome, Hold, Outage, Refuse};
    [
        CutSome, CutSome, CutSome, CutSome, CutSome, CutSome, CutSome, CutSome, Hold, Hold, Hold, CutAll,
        Compact, Compact, Refuse, Outage,
    ]
};

/// One round in this many includes refused connections and outages. Those make reflectors back off for up to a minute; in every round,
/// the reflectors would do nothing else.
const ROUNDS_PER_OUTAGE: u32 = 3;

/// Disrupts until `stop` is set, but for at least one full round, and leaves everything working. Pauses last one to four times `pace`.
pub fn run(
    cluster: &Cluster,
    proxy: &Proxy,
    seed: u64,
    pace: Duration,
    stop: &AtomicBool,
) -> DisruptionCounts {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut counts = DisruptionCounts::default();
    for round in 0.. {
        let mut disruptions = ROUND.to_vec();
        if round % ROUNDS_PER_OUTAGE != 0 {
            disruptions.retain(|disruption| !matches!(disruption, Disruption::Refuse | Disruption::Outage));
        }
        disruptions.shuffle(&mut rng);
        for disruption in disruptions {
            if round > 0 && stop.load(Ordering::Relaxed) {
                return counts;
            }
            sleep(pace.mul_f64(rng.random_range(1.0..4.0)));
            let begun = Instant::now();
            disrupt(disruption, cluster, proxy, &mut rng, &mut counts);
            eprintln!(
                "soak: disruption {disruption:?}, {:.1} s",
                begun.elapsed().as_secs_f64()
            );
        }
    }
    counts
}

fn disrupt(
    disruption: Disruption,
    cluster: &Cluster,
    proxy: &Proxy,
    rng: &mut StdRng,
    counts: &mut DisruptionCounts,
) {
    match disruption {
        Disruption::CutSome => counts.cuts += proxy.break_connections(|_| rng.random_ratio(1, 4)),
        Disruption::CutAll => counts.cuts += proxy.break_all(),
        Disruption::Hold => {
            proxy.pause();
            pause(rng, 500..4000);
            proxy.resume();
            counts.holds += 1;
        }
        Disruption::Compact => {
            cluster.compact_history().expect("the history is compacted");
            counts.compactions += 1;
        }
        Disruption::Refuse => {
            proxy.refuse();
            counts.cuts += proxy.break_connections(|_| rng.random_ratio(1, 2));
            pause(rng, 500..4000);
            proxy.accept();
            counts.refusals += 1;
        }
        Disruption::Outage => {
            // In every other outage the port is closed and the history is compacted, so informers must relist. In the others
            // connections only break, and no event is lost.
            let loses_events = counts.outages.is_multiple_of(2);
            if loses_events {
                proxy.refuse();
                counts.cuts += proxy.break_all();
                pause(rng, 500..2000);
                cluster.compact_history().expect("the history is compacted");
                counts.compactions += 1;
            }
            match cluster.control_plane() {
                Some(plane) => plane.restart_api_server().expect("the API server restarts"),
                None => counts.cuts += proxy.break_all(),
            }
            if loses_events {
                proxy.accept();
            }
            counts.outages += 1;
        }
    }
}

fn pause(rng: &mut StdRng, milliseconds: std::ops::Range<u64>) {
    sleep(Duration::from_millis(rng.random_range(milliseconds)));
}
