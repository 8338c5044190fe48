//! Writers of objects of both versions. Each writes an object of its own, and checks every response against the expected spec.

use std::{
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use kube::api::{Patch, PatchParams};
use kubewright_testkit::{Cluster, client};
use serde_json::{Value, json};
use tokio::{runtime::Runtime, task::JoinHandle};

use crate::kept::{self, Kept};
use crate::load::{ApiVersions, Load, PAUSE, apis};

const WRITERS: usize = 16;
/// Each of so many writers also writes the field that one version splits: the operator makes a Deployment of each name then, and leaves those before.
const RENAMING: usize = 4;
/// A writer that does not get this far in time is stuck.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The running writers.
pub(crate) struct Writers {
    runtime: Runtime,
    client: kube::Client,
    tasks: Vec<JoinHandle<Written>>,
    kept: Vec<JoinHandle<Kept>>,
    load: Arc<Load>,
}

/// An object's name, its number of writes, and the spec that it must have in the new version.
pub(crate) type Written = (String, u64, Value);

impl Writers {
    /// Creates the objects, and starts to write them.
    pub(crate) fn start(cluster: &Cluster, versions: ApiVersions) -> Self {
        let runtime = Runtime::new().unwrap();
        let client = runtime.block_on(async { client(cluster.admin().config().await.unwrap()).unwrap() });
        let load = Arc::new(Load::new(versions, WRITERS));
        let tasks = (0..WRITERS).map(|number| runtime.spawn(write(client.clone(), load.clone(), number)));
        let tasks = tasks.collect();
        Self {
            runtime,
            client,
            tasks,
            kept: Vec::new(),
            load,
        }
    }

    /// Creates the objects that have a value of the new version alone, and has them written in the old one.
    pub(crate) fn keep(&mut self) {
        for name in kept::names() {
            let (client, load) = (self.client.clone(), self.load.clone());
            let task = async move { kept::write(client, &load, name).await };
            self.kept.push(self.runtime.spawn(task));
        }
    }

    /// Changes the versions that are written, and waits until no writer writes another.
    pub(crate) fn write(&mut self, versions: ApiVersions) {
        *self.load.versions.lock().unwrap() = versions;
        self.wait_for_writes();
        while versions == ApiVersions::New && self.load.old_writes.load(Ordering::SeqCst) > 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Lets the writers write for this time, and at least once.
    pub(crate) fn run_for(&mut self, time: Duration) {
        thread::sleep(time);
        self.wait_for_writes();
    }

    /// Runs `work` without writes beside it: the compiler needs the cores.
    pub(crate) fn pause_during<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.load.is_paused.store(true, Ordering::Relaxed);
        let result = work();
        self.load.is_paused.store(false, Ordering::Relaxed);
        self.wait_for_writes();
        result
    }

    /// Ends the writers.
    pub(crate) fn stop(self) -> (Vec<Written>, Vec<Kept>) {
        self.load.is_over.store(true, Ordering::Relaxed);
        let (tasks, kept) = (self.tasks.into_iter(), self.kept.into_iter());
        (
            tasks.map(|task| self.runtime.block_on(task).unwrap()).collect(),
            kept.map(|task| self.runtime.block_on(task).unwrap()).collect(),
        )
    }

    /// Waits until each writer has begun and ended a write. Panics if a write of one was refused.
    fn wait_for_writes(&mut self) {
        let count = |load: &Load| {
            load.writes
                .iter()
                .map(|writes| writes.load(Ordering::Relaxed))
                .collect::<Vec<_>>()
        };
        let (before, start) = (count(&self.load), Instant::now());
        // The write that was under way, and one more.
        while count(&self.load)
            .iter()
            .zip(&before)
            .any(|(now, before)| *now < before + 2)
        {
            if let Some(ended) = self.tasks.iter().position(JoinHandle::is_finished) {
                self.runtime.block_on(self.tasks.swap_remove(ended)).unwrap();
            }
            if let Some(ended) = self.kept.iter().position(JoinHandle::is_finished) {
                self.runtime.block_on(self.kept.swap_remove(ended)).unwrap();
            }
            assert!(
                start.elapsed() < TIMEOUT,
                "writers are stuck: {:?}",
                count(&self.load)
            );
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Writes one object until the load is over. Any refusal is a panic.
async fn write(client: kube::Client, load: Arc<Load>, number: usize) -> Written {
    let name = format!("foo-{number}");
    let (old, new) = apis(&client);
    let is_renaming = number.is_multiple_of(RENAMING);
    let mut app = if is_renaming { "renamed0" } else { "web" };
    let object = json!({
        "apiVersion": "demo.dev/v1alpha1", "kind": "Foo", "metadata": {"name": name},
        "spec": {"deploymentName": format!("{app}-{name}"), "replicas": 0},
    });
    let created = old
        .patch(&name, &PatchParams::apply("writer"), &Patch::Apply(&object))
        .await;
    created.unwrap_or_else(|error| panic!("{name} is not created: {error}"));
    let mut writes = 1_u64;
    let mut spec = json!({"app": app, "instance": name, "size": 0});
    while !load.is_over() {
        if load.is_paused() {
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        let versions = load.versions();
        let is_new = match versions {
            ApiVersions::Old => false,
            ApiVersions::New => true,
            ApiVersions::Both => writes.is_multiple_of(2),
        };
        spec["size"] = json!(writes % 10);
        if is_renaming && writes.is_multiple_of(5) {
            app = if app == "renamed0" { "renamed1" } else { "renamed0" };
            spec["app"] = json!(app);
        }
        let (api, version, mut change) = if is_new {
            spec["note"] = json!(format!("note {writes}"));
            (&new, "v1", json!({"size": spec["size"], "note": spec["note"]}))
        } else {
            (&old, "v1alpha1", json!({"replicas": spec["size"]}))
        };
        if is_renaming && is_new {
            change["app"] = json!(app);
        } else if is_renaming {
            change["deploymentName"] = json!(format!("{app}-{name}"));
        }
        // A real API server refuses to apply an object with managed fields of a version that is not served any more.
        let is_applied = writes.is_multiple_of(7) && versions == ApiVersions::Both;
        let written = if is_applied {
            // A part of the object; of what the API server converts of it, required fields are missing.
            let object = json!({
                "apiVersion": format!("demo.dev/{version}"), "kind": "Foo", "metadata": {"name": name}, "spec": change,
            });
            let params = PatchParams::apply(&format!("applying-{version}")).force();
            api.patch(&name, &params, &Patch::Apply(&object)).await
        } else {
            let patch = Patch::Merge(json!({ "spec": change }));
            api.patch(&name, &PatchParams::default(), &patch).await
        };
        let written = written
            .unwrap_or_else(|error| panic!("write {writes} of {name}, {versions:?}, is refused: {error}"));
        let expected = if is_new {
            spec.clone()
        } else {
            json!({"deploymentName": format!("{app}-{name}"), "replicas": spec["size"]})
        };
        assert_eq!(written.data["spec"], expected, "write {writes} of {name}");
        writes += 1;
        load.writes[number].store(writes, Ordering::Relaxed);
        tokio::time::sleep(PAUSE).await;
    }
    (name, writes, spec)
}
