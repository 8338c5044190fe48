//! Measures the time of single calls, with one reader.

use std::{hint::black_box, time::Instant};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::Pod;
use kube::core::{Expression, Selector};
use kubewright::{NamespacedName, cache::Items};
use kubewright_benches::median;

use super::RunningInformer;

/// Number of timed batches of calls; the figure is their median.
const BATCHES: usize = 15;

pub(super) fn table(running: &RunningInformer) -> Result<String> {
    let lister = running.informer.lister();
    let objects: Vec<_> = lister.list().objects().collect();
    let first = objects.first().context("the store is empty")?;
    let hot = first.name().clone();
    let absent = NamespacedName::namespaced("nowhere", "nothing");
    let every: Vec<&NamespacedName> = objects.iter().map(kubewright::cache::Object::name).collect();
    let pod = lister.get(&hot)?;
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    let node = kubewright::cache::IndexKey::from(&*node.context("the Pod has no node")?);
    let team = pod.metadata.namespace.clone().unwrap_or_default();
    let selector = Selector::from(Expression::Equal(
        "app.kubernetes.io/part-of".into(),
        team.clone(),
    ));
    let (of_node, of_team) = (
        lister.by_index("by_node", node.clone())?.len(),
        lister.select(&selector).len(),
    );
    let mut turn = every.iter().cycle();
    let mut next = || turn.next().copied().unwrap_or(&hot);
    let rows = [
        (
            "get of a hot object",
            nanos(10_000, || drop(black_box(lister.get(&hot)))),
        ),
        (
            "get of each object in turn",
            nanos(2000, || drop(black_box(lister.get(next())))),
        ),
        (
            "get of a missing object",
            nanos(10_000, || drop(black_box(lister.get(&absent)))),
        ),
        (
            "metadata of a hot object",
            nanos(10_000, || drop(black_box(lister.object(&hot)))),
        ),
        (
            "index lookup",
            nanos(10_000, || {
                let found = lister.by_index("by_node", node.clone());
                drop(black_box(found.ok().and_then(|found| found.objects().next())));
            }),
        ),
        (
            "index lookup, metadata of all matches",
            nanos(1000, || {
                if let Ok(found) = lister.by_index("by_node", node.clone()) {
                    walk(found);
                }
            }),
        ),
        (
            "sorted names from an index",
            nanos(1000, || {
                drop(black_box(lister.index_keys("by_node", &node)));
            }),
        ),
        (
            "list by label, nothing decoded",
            nanos(1, || drop(black_box(lister.select(&selector)))),
        ),
        (
            "list a namespace, nothing decoded",
            nanos(10, || walk(lister.namespace(&team).list())),
        ),
        (
            "list everything, nothing decoded",
            nanos(1, || walk(lister.list())),
        ),
    ];
    let rows = rows.map(|(name, nanos)| format!("| {name} | {} |\n", format_time(nanos)));
    Ok(format!(
        "The index value matches {of_node} objects, the label {of_team}.\n\n| | time |\n|---|---:|\n{}",
        rows.concat()
    ))
}

/// Reads the metadata of each object.
pub(super) fn walk(items: Items<Pod>) {
    for object in items.objects() {
        black_box(object.metadata().generation());
    }
}

/// Returns the nanoseconds per call.
fn nanos(calls: u32, mut call: impl FnMut()) -> f64 {
    let batches = (0..BATCHES).map(|_| {
        let start = Instant::now();
        for _ in 0..calls {
            call();
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
    });
    let batches: Vec<f64> = batches.collect();
    median(batches)
}

fn format_time(nanos: f64) -> String {
    if nanos < 1000.0 {
        format!("{nanos:.0} ns")
    } else if nanos < 1_000_000.0 {
        format!("{:.1} µs", nanos / 1000.0)
    } else {
        format!("{:.1} ms", nanos / 1_000_000.0)
    }
}
