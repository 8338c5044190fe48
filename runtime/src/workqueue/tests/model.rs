//! The queue against a model, and its promises under threads.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use proptest::{collection::vec, prelude::*};
use tokio::{
    task::{JoinSet, yield_now},
    time::{Instant, advance, sleep, timeout},
};

use super::{ItemExponential, NoQueueMetrics, WorkQueue};

const KEYS: usize = 5;
const WORKERS: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Add(usize),
    AddAfter(usize, u64),
    Fail(usize),
    Forget(usize),
    Get(usize),
    Done(usize),
    Advance(u64),
    ShutDown,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..KEYS).prop_map(Step::Add),
        4 => (0..KEYS, 0..40u64).prop_map(|(key, delay)| Step::AddAfter(key, delay)),
        2 => (0..KEYS).prop_map(Step::Fail),
        1 => (0..KEYS).prop_map(Step::Forget),
        6 => (0..WORKERS).prop_map(Step::Get),
        5 => (0..WORKERS).prop_map(Step::Done),
        4 => (0..30u64).prop_map(Step::Advance),
        // Rare: most runs end without one.
        1 => (0..20u8).prop_map(|dice| if dice == 0 { Step::ShutDown } else { Step::Advance(1) }),
    ]
}

/// client-go's two sets and a list, and a list of times, as plainly as can be.
#[derive(Default)]
struct Model {
    now: u64,
    dirty: BTreeSet<usize>,
    processing: BTreeSet<usize>,
    line: VecDeque<usize>,
    due: Vec<(u64, usize)>,
    failures: BTreeMap<usize, u32>,
    shut_down: bool,
}

impl Model {
    fn add(&mut self, key: usize) {
        if !self.shut_down && self.dirty.insert(key) && !self.processing.contains(&key) {
            self.line.push_back(key);
        }
    }

    fn add_after(&mut self, key: usize, delay: u64) {
        let at = self.now + delay;
        if delay == 0 {
            self.add(key);
        } else if !self.shut_down
            && !self
                .due
                .iter()
                .any(|&(earlier, other)| other == key && earlier <= at)
        {
            self.due.retain(|&(_, other)| other != key);
            self.due.push((at, key));
            // Stable: keys of one moment keep their order.
            self.due.sort_by_key(|&(at, _)| at);
        }
    }

    fn fail(&mut self, key: usize) {
        let failures = self.failures.entry(key).or_default();
        let delay = 5u64 << *failures;
        *failures += 1;
        self.add_after(key, delay.min(1000));
    }

    fn get(&mut self) -> Option<usize> {
        let key = self.line.pop_front()?;
        self.dirty.remove(&key);
        assert!(self.processing.insert(key), "{key} is handed out twice");
        Some(key)
    }

    fn done(&mut self, key: usize) {
        self.processing.remove(&key);
        if self.dirty.contains(&key) {
            self.line.push_back(key);
        }
    }

    fn advance(&mut self, by: u64) {
        self.now += by;
        while let Some(&(at, key)) = self.due.first().filter(|(at, _)| *at <= self.now) {
            let _ = at;
            self.due.remove(0);
            self.add(key);
        }
    }

    fn shut_down(&mut self) {
        self.shut_down = true;
        self.due.clear();
    }
}

fn new_queue() -> WorkQueue<usize> {
    let limiter = ItemExponential::new(Duration::from_millis(5), Duration::from_secs(1));
    WorkQueue::new(Box::new(limiter), Arc::new(NoQueueMetrics))
}

/// What a get answers without waiting; the outer option is none when it would wait.
async fn get_now(queue: &WorkQueue<usize>) -> Option<Option<usize>> {
    timeout(Duration::ZERO, queue.get()).await.ok()
}

async fn compare(steps: Vec<Step>) {
    let (queue, mut model) = (new_queue(), Model::default());
    let mut held = [None; WORKERS];
    for step in steps {
        match step {
            Step::Add(key) => {
                queue.add(key);
                model.add(key);
            }
            Step::AddAfter(key, delay) => {
                queue.add_after(key, Duration::from_millis(delay));
                model.add_after(key, delay);
            }
            Step::Fail(key) => {
                queue.add_rate_limited(key);
                model.fail(key);
            }
            Step::Forget(key) => {
                queue.forget(&key);
                model.failures.remove(&key);
            }
            Step::Get(worker) if held[worker].is_none() => {
                let expected = model.get();
                let got = get_now(&queue).await;
                let waits = expected.is_none() && !model.shut_down;
                assert_eq!(got, (!waits).then_some(expected));
                held[worker] = expected;
            }
            Step::Done(worker) => {
                if let Some(key) = held[worker].take() {
                    queue.done(&key);
                    model.done(key);
                }
            }
            Step::Advance(by) => {
                advance(Duration::from_millis(by)).await;
                model.advance(by);
            }
            Step::ShutDown => {
                queue.shut_down();
                model.shut_down();
            }
            Step::Get(_) => {}
        }
        assert_eq!(queue.len(), model.line.len());
        let stats = queue.stats();
        assert_eq!(
            (stats.depth, stats.delayed, stats.processing),
            (model.dirty.len(), model.due.len(), model.processing.len())
        );
        for key in 0..KEYS {
            let failures = model.failures.get(&key).map_or(0, |&count| count as usize);
            assert_eq!(queue.num_requeues(&key), failures);
        }
    }
}

/// Who adds what and when, in milliseconds; workers run beside it.
type Script = Vec<(u64, usize, Option<u64>)>;

/// Runs a script with workers that wait, and answers when each key was handed out.
async fn run_workers(script: Script, workers: usize) -> BTreeMap<usize, BTreeSet<u64>> {
    let queue = Arc::new(new_queue());
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..workers {
        let queue = queue.clone();
        tasks.spawn(async move {
            let mut got = Vec::new();
            while let Some(key) = queue.get().await {
                got.push((key, start.elapsed()));
                queue.done(&key);
            }
            got
        });
    }
    for (pause, key, delay) in script {
        sleep(Duration::from_millis(pause)).await;
        match delay {
            Some(delay) => queue.add_after(key, Duration::from_millis(delay)),
            None => queue.add(key),
        }
    }
    sleep(Duration::from_mins(1)).await;
    queue.shut_down();
    let mut got: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    for (key, at) in tasks.join_all().await.concat() {
        got.entry(key)
            .or_default()
            .insert(u64::try_from(at.as_millis()).unwrap());
    }
    got
}

fn on_paused_clock<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn does_what_the_model_does(steps in vec(step(), 1..120)) {
        on_paused_clock(compare(steps));
    }

    /// With more workers than keys and no work to do, each key comes at the very times at which it was added or became due.
    #[test]
    fn idle_workers_get_each_key_at_its_time(
        script in vec((1..20u64, 0..KEYS, proptest::option::of(1..60u64)), 1..40)
    ) {
        let (mut now, mut expected) = (0, BTreeMap::<usize, BTreeSet<u64>>::new());
        let mut due = BTreeMap::<usize, u64>::new();
        for &(pause, key, delay) in &script {
            now += pause;
            let passed: Vec<_> = due.iter().filter(|(_, at)| **at <= now).map(|(&key, &at)| (key, at)).collect();
            for (key, at) in passed {
                due.remove(&key);
                expected.entry(key).or_default().insert(at);
            }
            match delay {
                None => { expected.entry(key).or_default().insert(now); }
                Some(delay) => {
                    let at = due.entry(key).or_insert(now + delay);
                    *at = (*at).min(now + delay);
                }
            }
        }
        for (key, at) in due {
            expected.entry(key).or_default().insert(at);
        }
        // Sets: an add and a due time of one moment may be one call or two.
        prop_assert_eq!(on_paused_clock(run_workers(script, KEYS + 1)), expected);
    }
}

/// On real threads: no key is in two hands, and the last add of each key is followed by a get.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn threads_lose_no_key_and_share_none() {
    const ROUNDS: usize = 2000;
    let queue = Arc::new(new_queue());
    let world: Arc<[(AtomicUsize, AtomicUsize, AtomicUsize); KEYS]> = Arc::default();
    let (mut producers, mut workers) = (JoinSet::new(), JoinSet::new());
    for _ in 0..WORKERS {
        let (queue, world) = (queue.clone(), world.clone());
        workers.spawn(async move {
            while let Some(key) = queue.get().await {
                let (wanted, seen, hands) = &world[key];
                assert_eq!(hands.fetch_add(1, Ordering::SeqCst), 0, "{key} is in two hands");
                seen.store(wanted.load(Ordering::SeqCst), Ordering::SeqCst);
                yield_now().await;
                hands.fetch_sub(1, Ordering::SeqCst);
                queue.done(&key);
            }
        });
    }
    for producer in 0..3 {
        let (queue, world) = (queue.clone(), world.clone());
        producers.spawn(async move {
            for round in 0..ROUNDS {
                let key = (round * (producer + 1)) % KEYS;
                world[key].0.fetch_add(1, Ordering::SeqCst);
                match round % 3 {
                    0 => queue.add_after(key, Duration::from_micros(200)),
                    1 => {
                        queue.add_rate_limited(key);
                        queue.forget(&key);
                    }
                    _ => queue.add(key),
                }
                if round % 64 == 0 {
                    yield_now().await;
                }
            }
        });
    }
    producers.join_all().await;
    while queue.stats().delayed > 0 {
        sleep(Duration::from_millis(1)).await;
    }
    queue.shut_down_with_drain().await;
    workers.join_all().await;
    for (wanted, seen, _) in world.iter() {
        assert_eq!(wanted.load(Ordering::SeqCst), seen.load(Ordering::SeqCst));
    }
}
