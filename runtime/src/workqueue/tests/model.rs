//! Compares the queue with a model, and tests its guarantees with threads.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::FutureExt as _;
use proptest::{collection::vec, prelude::*};
use tokio::{
    task::{JoinSet, unconstrained, yield_now},
    time::{Instant, advance, sleep, timeout},
};

use super::super::{ItemExponential, Priority, WorkQueue};
use crate::test_effort::property_cases;

const KEYS: usize = 5;
const WORKERS: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Add(usize, i8),
    AddAfter(usize, u64),
    Fail(usize),
    Forget(usize),
    Get(usize),
    Done(usize),
    Park(usize, u64),
    Unpark(usize),
    Advance(u64),
    /// Reads the figures.
    Look,
    ShutDown,
    /// Shuts down with a drain, which waits concurrently until no key is processed.
    Drain,
}

fn step() -> impl Strategy<Value = Step> {
    let priority = prop_oneof![Just(-100i8), Just(0), Just(1)];
    prop_oneof![
        6 => (0..KEYS, priority).prop_map(|(key, priority)| Step::Add(key, priority)),
        4 => (0..KEYS, 0..40u64).prop_map(|(key, delay)| Step::AddAfter(key, delay)),
        2 => (0..KEYS).prop_map(Step::Fail),
        1 => (0..KEYS).prop_map(Step::Forget),
        7 => (0..WORKERS).prop_map(Step::Get),
        4 => (0..WORKERS).prop_map(Step::Done),
        3 => (0..WORKERS, 0..40u64).prop_map(|(worker, delay)| Step::Park(worker, delay)),
        2 => (0..KEYS).prop_map(Step::Unpark),
        4 => (0..30u64).prop_map(Step::Advance),
        4 => Just(Step::Look),
        // Rare: most runs end without it.
        1 => (0..20u8).prop_map(|dice| match dice {
            0 => Step::ShutDown,
            1 => Step::Drain,
            _ => Step::Advance(1),
        }),
    ]
}

/// A simple model: client-go's dirty and processing sets, lists by priority, and lists of times.
#[derive(Default)]
struct Model {
    now: u64,
    /// The dirty keys with their priorities.
    dirty: BTreeMap<usize, i8>,
    /// The processing keys with the priorities at which they were handed out.
    processing: BTreeMap<usize, i8>,
    parked: BTreeMap<usize, i8>,
    /// The queued keys in their order.
    line: Vec<usize>,
    due: Vec<(u64, usize, i8)>,
    deadlines: Vec<(u64, usize)>,
    /// Earlier gets, newest last: the priorities that had keys, and the one that was served.
    history: Vec<(BTreeSet<i8>, i8)>,
    failures: BTreeMap<usize, u32>,
    shut_down: bool,
    /// Whether a drain waits for workers.
    draining: bool,
}

impl Model {
    fn add(&mut self, key: usize, priority: i8) {
        if self.shut_down {
            return;
        }
        let old = self.dirty.get(&key).or_else(|| self.parked.get(&key));
        let priority = old.map_or(priority, |&old| priority.max(old));
        let before = self.dirty.insert(key, priority);
        if self.processing.contains_key(&key) || self.parked.contains_key(&key) {
            return;
        }
        if before != Some(priority) {
            self.line.retain(|other| *other != key);
            self.line.push(key);
        }
    }

    fn kept_priority(&self, key: usize) -> i8 {
        self.processing.get(&key).copied().unwrap_or(0)
    }

    fn add_after(&mut self, key: usize, delay: u64) {
        let (at, mut priority) = (self.now + delay, self.kept_priority(key));
        if delay == 0 {
            return self.add(key, priority);
        }
        if self.shut_down {
            return;
        }
        let earlier = self.due.iter_mut().find(|(_, other, _)| *other == key);
        if let Some((earlier, _, old)) = earlier {
            priority = priority.max(*old);
            *old = priority;
            if *earlier <= at {
                return;
            }
        }
        self.due.retain(|&(_, other, _)| other != key);
        self.due.push((at, key, priority));
        // A stable sort: keys with the same time keep their order.
        self.due.sort_by_key(|&(at, ..)| at);
    }

    fn fail(&mut self, key: usize) {
        let failures = self.failures.entry(key).or_default();
        let delay = 5u64 << *failures;
        *failures += 1;
        self.add_after(key, delay.min(1000));
    }

    fn get(&mut self) -> Option<usize> {
        let waiting: BTreeSet<i8> = self.line.iter().map(|key| self.dirty[key]).collect();
        let highest = *waiting.last()?;
        let others_turn = waiting.len() > 1
            && self.history.len() >= 7
            && self.history[self.history.len() - 7..]
                .iter()
                .all(|(waited, served)| waited.len() > 1 && Some(served) == waited.last());
        let served = if others_turn {
            // On a tie the higher priority wins.
            let others = waiting.iter().rev().skip(1);
            *others
                .rev()
                .max_by_key(|priority| self.passed(**priority))
                .unwrap()
        } else {
            highest
        };
        self.history.push((waiting, served));
        let place = self.line.iter().position(|key| self.dirty[key] == served);
        let key = self.line.remove(place.unwrap());
        self.dirty.remove(&key);
        assert!(
            self.processing.insert(key, served).is_none(),
            "{key} is handed out twice"
        );
        Some(key)
    }

    /// How often others were served since this priority was, while it had keys.
    fn passed(&self, priority: i8) -> usize {
        let since = self
            .history
            .iter()
            .rev()
            .take_while(|(_, served)| *served != priority);
        since.filter(|(waiting, _)| waiting.contains(&priority)).count()
    }

    fn done(&mut self, key: usize) {
        self.processing.remove(&key);
        // A finished drain does not restart when a key is handed out.
        self.draining &= !self.processing.is_empty();
        if self.dirty.contains_key(&key) {
            self.line.push(key);
        }
    }

    fn park(&mut self, key: usize, delay: u64) -> bool {
        if self.shut_down {
            self.done(key);
            return false;
        }
        let taken = self.processing.remove(&key).unwrap();
        let priority = self.dirty.get(&key).map_or(taken, |&dirty| dirty.max(taken));
        if let Some(dirty) = self.dirty.get_mut(&key) {
            *dirty = priority;
        }
        self.parked.insert(key, priority);
        self.deadlines.push((self.now + delay, key));
        self.deadlines.sort_by_key(|&(at, _)| at);
        self.advance(0);
        true
    }

    fn unpark(&mut self, key: usize) -> bool {
        let Some(priority) = self.parked.remove(&key) else {
            return false;
        };
        self.deadlines.retain(|&(_, other)| other != key);
        self.dirty.entry(key).or_insert(priority);
        self.line.push(key);
        true
    }

    fn advance(&mut self, by: u64) {
        self.now += by;
        loop {
            let due = self.due.first().map_or(u64::MAX, |&(at, ..)| at);
            let deadline = self.deadlines.first().map_or(u64::MAX, |&(at, _)| at);
            if due.min(deadline) > self.now {
                return;
            }
            if due <= deadline {
                let (_, key, priority) = self.due.remove(0);
                self.add(key, priority);
            } else {
                let (_, key) = self.deadlines[0];
                self.unpark(key);
            }
        }
    }

    fn shut_down(&mut self, drain: bool) {
        self.draining = drain && !self.processing.is_empty();
        self.shut_down = true;
        self.due.clear();
        self.deadlines.clear();
        for key in std::mem::take(&mut self.parked).into_keys() {
            self.dirty.remove(&key);
        }
    }
}

fn new_queue() -> WorkQueue<usize> {
    let limiter = ItemExponential::new(Duration::from_millis(5), Duration::from_secs(1));
    WorkQueue::new(Box::new(limiter))
}

/// The result of a get that does not wait; the outer option is `None` if it would wait.
async fn get_now(queue: &WorkQueue<usize>) -> Option<Option<usize>> {
    timeout(Duration::ZERO, queue.get()).await.ok()
}

async fn compare(steps: Vec<Step>) {
    let (queue, mut model) = (new_queue(), Model::default());
    let mut held = [None; WORKERS];
    let mut drains = Vec::new();
    for step in steps {
        match step {
            Step::Add(key, priority) => {
                queue.add_with_priority(key, Priority(priority));
                model.add(key, priority);
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
            Step::Park(worker, delay) => {
                if let Some(key) = held[worker].take() {
                    let deadline = Instant::now() + Duration::from_millis(delay);
                    assert_eq!(queue.park(&key, deadline), model.park(key, delay));
                }
            }
            Step::Unpark(key) => assert_eq!(queue.unpark(&key), model.unpark(key)),
            Step::Advance(by) => {
                advance(Duration::from_millis(by)).await;
                model.advance(by);
            }
            Step::ShutDown => {
                queue.shut_down();
                model.shut_down(false);
            }
            Step::Drain => {
                // Unconstrained: tokio's cooperative budget must not make it wait.
                drains.push(Box::pin(unconstrained(queue.shut_down_with_drain())));
                model.shut_down(true);
            }
            Step::Look | Step::Get(_) => {}
        }
        drains.retain_mut(|drain| drain.now_or_never().is_none());
        assert_eq!(!drains.is_empty(), model.draining, "after {step:?}");
        // Keys become due at an access.
        if matches!(step, Step::Look | Step::Advance(_) | Step::Park(..)) {
            check(&queue, &model);
        }
    }
    check(&queue, &model);
}

fn check(queue: &WorkQueue<usize>, model: &Model) {
    assert_eq!(queue.len(), model.line.len());
    let stats = queue.stats();
    assert_eq!(
        (stats.depth, stats.delayed, stats.parked, stats.processing),
        (
            model.dirty.len(),
            model.due.len(),
            model.parked.len(),
            model.processing.len()
        )
    );
    for (priority, depth) in stats.depths.iter() {
        let expected = model.dirty.values().filter(|other| **other == priority.0);
        assert_eq!(depth, expected.count(), "of priority {priority}");
    }
    let mut processing = queue.processing();
    processing.sort_unstable();
    assert!(processing.iter().eq(model.processing.keys()));
    for key in 0..KEYS {
        let failures = model.failures.get(&key).map_or(0, |&count| count as usize);
        assert_eq!(queue.num_requeues(&key), failures);
    }
}

/// Adds by time in milliseconds: key, and an optional delay.
type Script = Vec<(u64, usize, Option<u64>)>;

/// Runs a script with waiting workers, and returns when each key was handed out.
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
    #![proptest_config(property_cases(512))]

    #[test]
    fn queue_behaves_as_the_model(steps in vec(step(), 1..200)) {
        on_paused_clock(compare(steps));
    }

    /// With more workers than keys, each key is handed out at the times at which it was added or became due.
    #[test]
    fn idle_workers_get_each_key_when_it_is_due(
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
        // Sets, because an add and a due time at the same time may be one get or two.
        prop_assert_eq!(on_paused_clock(run_workers(script, KEYS + 1)), expected);
    }
}

/// On real threads, with priorities and parking: no key is processed by two workers, and the last add of each key is followed by a get.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_key_is_lost_or_processed_twice_on_threads() {
    const ROUNDS: usize = 2000;
    const SOON: Duration = Duration::from_micros(200);
    let queue = Arc::new(new_queue());
    let world: Arc<[(AtomicUsize, AtomicUsize, AtomicUsize); KEYS]> = Arc::default();
    let (mut producers, mut workers) = (JoinSet::new(), JoinSet::new());
    for _ in 0..WORKERS {
        let (queue, world) = (queue.clone(), world.clone());
        workers.spawn(async move {
            let mut turn = 0;
            while let Some(key) = queue.get().await {
                let (wanted, seen, hands) = &world[key];
                assert_eq!(hands.fetch_add(1, Ordering::SeqCst), 0, "{key} is in two hands");
                seen.store(wanted.load(Ordering::SeqCst), Ordering::SeqCst);
                yield_now().await;
                hands.fetch_sub(1, Ordering::SeqCst);
                turn += 1;
                if turn % 5 == 0 {
                    queue.park(&key, Instant::now() + SOON);
                } else {
                    queue.done(&key);
                }
            }
        });
    }
    for producer in 0..3 {
        let (queue, world) = (queue.clone(), world.clone());
        producers.spawn(async move {
            for round in 0..ROUNDS {
                let key = (round * (producer + 1)) % KEYS;
                world[key].0.fetch_add(1, Ordering::SeqCst);
                match round % 4 {
                    0 => queue.add_after(key, SOON),
                    1 => {
                        queue.add_rate_limited(key);
                        queue.forget(&key);
                    }
                    2 => queue.add_with_priority(key, Priority::LOW),
                    _ => queue.add(key),
                }
                queue.unpark(&(round % KEYS));
                if round % 64 == 0 {
                    yield_now().await;
                }
            }
        });
    }
    producers.join_all().await;
    while queue.stats().delayed + queue.stats().parked > 0 {
        sleep(Duration::from_millis(1)).await;
    }
    queue.shut_down_with_drain().await;
    workers.join_all().await;
    for (wanted, seen, _) in world.iter() {
        assert_eq!(wanted.load(Ordering::SeqCst), seen.load(Ordering::SeqCst));
    }
}
