//! What happens between the API server and the informers.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

use kubewright_testkit::{Cluster, Proxy};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::SliceRandom as _};

/// What happened how often.
#[derive(Debug, Default)]
pub struct Record {
    /// Connections that were cut.
    pub cuts: usize,
    pub holds: u64,
    pub refusals: u64,
    pub compactions: u64,
    /// Of the API server: it was killed and started again, or, embedded, could not be reached.
    pub absences: u64,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// About a quarter of the connections.
    CutSome,
    CutAll,
    Hold,
    Compact,
    Refuse,
    Leave,
}

/// Each of them, and the frequent ones more often.
const ROUGH: [Event; 16] = {
    use Event::{Compact, CutAll, CutSome, Hold, Leave, Refuse};
    [
        CutSome, CutSome, CutSome, CutSome, CutSome, CutSome, CutSome, CutSome, Hold, Hold, Hold, CutAll,
        Compact, Compact, Refuse, Leave,
    ]
};

/// Of so many rounds one is rough; the others spare what makes reflectors back off for up to a minute, or they would
/// do nothing else.
const ROUGH_ONE_IN: u32 = 3;

/// Goes on until it is told to stop, but not before each event was there once; leaves fair weather. Pauses are one to four
/// times as long as the pace.
pub fn blow(cluster: &Cluster, proxy: &Proxy, seed: u64, pace: Duration, stop: &AtomicBool) -> Record {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut record = Record::default();
    for round in 0.. {
        let mut events = ROUGH.to_vec();
        if round % ROUGH_ONE_IN != 0 {
            events.retain(|event| !matches!(event, Event::Refuse | Event::Leave));
        }
        events.shuffle(&mut rng);
        for event in events {
            if round > 0 && stop.load(Ordering::Relaxed) {
                return record;
            }
            sleep(pace.mul_f64(rng.random_range(1.0..4.0)));
            let begun = Instant::now();
            happen(event, cluster, proxy, &mut rng, &mut record);
            eprintln!("weather: {event:?}, {:.1} s", begun.elapsed().as_secs_f64());
        }
    }
    record
}

fn happen(event: Event, cluster: &Cluster, proxy: &Proxy, rng: &mut StdRng, record: &mut Record) {
    match event {
        Event::CutSome => record.cuts += proxy.break_connections(|_| rng.random_ratio(1, 4)),
        Event::CutAll => record.cuts += proxy.break_all(),
        Event::Hold => {
            proxy.pause();
            pause(rng, 500..4000);
            proxy.resume();
            record.holds += 1;
        }
        Event::Compact => {
            cluster.compact_history().expect("it is compacted");
            record.compactions += 1;
        }
        Event::Refuse => {
            proxy.refuse();
            record.cuts += proxy.break_connections(|_| rng.random_ratio(1, 2));
            pause(rng, 500..4000);
            proxy.accept();
            record.refusals += 1;
        }
        Event::Leave => {
            // Every other time the port is closed meanwhile, and what was missed is forgotten; else what answers there
            // is broken, and nothing was missed.
            let missed = record.absences.is_multiple_of(2);
            if missed {
                proxy.refuse();
                record.cuts += proxy.break_all();
                pause(rng, 500..2000);
                cluster.compact_history().expect("it is compacted");
                record.compactions += 1;
            }
            match cluster.control_plane() {
                Some(plane) => plane.restart_api_server().expect("the API server comes back"),
                None => record.cuts += proxy.break_all(),
            }
            if missed {
                proxy.accept();
            }
            record.absences += 1;
        }
    }
}

fn pause(rng: &mut StdRng, milliseconds: std::ops::Range<u64>) {
    sleep(Duration::from_millis(rng.random_range(milliseconds)));
}
