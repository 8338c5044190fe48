//! Writers of objects of both versions. Each has an object that it patches, applies and updates, and another that it creates and deletes again
//! and again; it checks every response.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use kubewright_testkit::{Cluster, client};
use serde_json::{Value, json};
use tokio::{runtime::Runtime, task::JoinHandle};

use crate::{
    kept,
    load::{ApiVersions, Load, PAUSE},
    object::{OLD, Object},
    requests::Foos,
};

const WRITERS: usize = 16;
/// The steps after which a writer begins again. An odd number: if both versions are written, then each step is made in the other version.
const STEPS: u64 = 7;
/// Each of so many writers also writes the field that one version splits: the operator makes a Deployment of each name then, and leaves those before.
const RENAMING: usize = 4;
/// A writer that does not get this far in time is stuck.
const TIMEOUT: Duration = Duration::from_mins(2);

/// The running writers.
pub(crate) struct Writers {
    runtime: Runtime,
    foos: Foos,
    tasks: Vec<JoinHandle<()>>,
    load: Arc<Load>,
}

impl Writers {
    /// Creates the objects, and starts to write them.
    pub(crate) fn start(cluster: &Cluster, versions: ApiVersions) -> Self {
        let runtime = Runtime::new().unwrap();
        let client = runtime.block_on(async { client(cluster.admin().config().await.unwrap()).unwrap() });
        let foos = Foos::new(client);
        let load = Arc::new(Load::new(versions, WRITERS));
        let tasks = (0..WRITERS).map(|number| runtime.spawn(write(foos.clone(), load.clone(), number)));
        let tasks = tasks.collect();
        Self {
            runtime,
            foos,
            tasks,
            load,
        }
    }

    /// Creates the objects that have a value of the new version alone, and has them written in the old one.
    pub(crate) fn keep(&mut self) {
        for name in kept::names() {
            let (foos, load) = (self.foos.clone(), self.load.clone());
            let task = async move { kept::write(foos, &load, name).await };
            self.tasks.push(self.runtime.spawn(task));
        }
    }

    /// Changes the versions that are written, once no writer writes another.
    pub(crate) fn write(&mut self, versions: ApiVersions) {
        *self.load.versions.blocking_write() = versions;
    }

    /// Lets the writers write for this time, and at least once each kind of write.
    pub(crate) fn run_for(&mut self, time: Duration) {
        thread::sleep(time);
        self.wait_for_writes();
    }

    /// Runs `work` without writes beside it: the compiler needs the cores.
    pub(crate) fn pause_during<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let paused = self.load.versions.blocking_write();
        let result = work();
        drop(paused);
        self.wait_for_writes();
        result
    }

    /// Panics unless the objects in the cluster are those that the writers wrote, in all these versions.
    pub(crate) fn check(&self, versions: &[&str]) {
        let _paused = self.load.versions.blocking_write();
        let objects = self.load.objects();
        for version in versions {
            let list = self.runtime.block_on(self.foos.list(version));
            let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
            let mut found: BTreeMap<String, Value> =
                list.into_iter().map(|object| (name(&object), object)).collect();
            for (name, object) in &objects {
                let found = found.remove(name);
                let found = found.unwrap_or_else(|| panic!("{name} is not in the list of {version}"));
                object.assert_is(version, &found, "the object in the list");
            }
            found.retain(|name, _| is_written(name));
            assert!(
                found.is_empty(),
                "deleted objects are in the list of {version}: {found:?}"
            );
        }
    }

    /// Ends the writers, and checks their objects in these versions.
    pub(crate) fn stop(mut self, versions: &[&str]) {
        self.load.is_over.store(true, Ordering::Relaxed);
        for task in std::mem::take(&mut self.tasks) {
            self.runtime.block_on(task).unwrap();
        }
        let steps = self.steps();
        assert!(steps.iter().all(|steps| *steps > 10 * STEPS), "{steps:?}");
        println!("{} steps of the writers", steps.iter().sum::<u64>());
        self.check(versions);
    }

    fn steps(&self) -> Vec<u64> {
        let steps = self.load.steps.iter();
        steps.map(|steps| steps.load(Ordering::Relaxed)).collect()
    }

    /// Waits until each writer has made all its steps. Panics if a write of one was refused.
    fn wait_for_writes(&mut self) {
        let (before, start) = (self.steps(), Instant::now());
        loop {
            let now = self.steps();
            // The step that was under way, and those of a round.
            if now.iter().zip(&before).all(|(now, before)| *now > before + STEPS) {
                return;
            }
            if let Some(ended) = self.tasks.iter().position(JoinHandle::is_finished) {
                self.runtime.block_on(self.tasks.swap_remove(ended)).unwrap();
            }
            assert!(
                start.elapsed() < TIMEOUT,
                "writers are stuck: {before:?}, {now:?}"
            );
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Whether an object has the name of one of a writer.
fn is_written(name: &str) -> bool {
    ["foo-", "temporary-", "kept-"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// Writes two objects until the load is over. Any refusal is a panic.
async fn write(foos: Foos, load: Arc<Load>, number: usize) {
    let is_renaming = number.is_multiple_of(RENAMING);
    let mut app = if is_renaming { "renamed0" } else { "web" };
    let mut own = Object::new(&format!("foo-{number}"), app);
    let mut temporary = Object::new(&format!("temporary-{number}"), "temporary");
    let versions = load.versions.read().await;
    foos.apply_new(OLD, &mut own, "writer").await;
    load.record(&own);
    drop(versions);
    let mut step = 0;
    while !load.is_over() {
        let versions = load.versions.read().await;
        // In each step, half of the writers write the other version.
        let version = versions.of_step(step + number as u64);
        match step % STEPS {
            0 => {
                temporary = Object::new(&temporary.name, "temporary");
                temporary.labels = json!({"demo.dev/team": format!("team-{step}")});
                foos.create(version, &mut temporary).await;
                load.record(&temporary);
            }
            3 => {
                let before = temporary.clone();
                temporary.change(version, step, None);
                foos.replace(version, &before, &temporary).await;
                load.record(&temporary);
            }
            6 => {
                foos.delete(version, &temporary).await;
                load.forget(&temporary);
            }
            of_own => {
                let before = own.clone();
                if is_renaming && step.is_multiple_of(5) {
                    app = if app == "renamed0" { "renamed1" } else { "renamed0" };
                }
                let change = own.change(version, step, is_renaming.then_some(app));
                match of_own {
                    1 | 4 => foos.replace(version, &before, &own).await,
                    // A real API server refuses to apply an object with managed fields of a version that is not served any more.
                    5 if *versions == ApiVersions::Both => foos.apply(version, &own, &change).await,
                    _ => foos.patch(version, &own, &change).await,
                }
                load.record(&own);
            }
        }
        drop(versions);
        step += 1;
        load.steps[number].store(step, Ordering::Relaxed);
        tokio::time::sleep(PAUSE).await;
    }
}
