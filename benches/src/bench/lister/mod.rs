//! Measures reads of one store and the delay that they cause to its writer, within one process and with Pods from memory.

mod delay;
mod reads;

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Result;
use clap::Args;
use k8s_openapi::api::core::v1::Pod;
use kubewright::cache::{IndexSpec, IndexType, SharedInformer, SharedInformerFactory};
use kubewright_benches::{
    memory::MemorySource,
    pods::{APPS, DataSet, Pods},
    report,
};

/// Arguments of `bench lister`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Number of Pods
    #[arg(long, default_value_t = 100_000)]
    objects: u32,
    /// Seconds per round for each load
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Number of rounds
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Write the tables into this file, between its marks
    #[arg(long)]
    write: Option<PathBuf>,
}

/// A running informer of Pods from memory.
struct RunningInformer {
    pods: Pods,
    objects: u32,
    source: MemorySource,
    informer: SharedInformer<Pod>,
}

const BY_NODE: IndexSpec = IndexSpec {
    name: "by_node",
    path: "spec.nodeName",
    value_type: IndexType::String,
};

#[tokio::main]
pub(crate) async fn measure(arguments: &Arguments) -> Result<()> {
    let pods = Pods::new(APPS, 1, DataSet::Pods)?;
    let source = MemorySource::new(&pods, arguments.objects);
    let sources = source.clone();
    let informers = SharedInformerFactory::from_sources(move |_, _, _| Arc::new(sources.clone()));
    let informer = informers.indexed::<Pod>(&[BY_NODE])?;
    informers.start();
    informers.wait_for_cache_sync().await;
    let running = RunningInformer {
        pods,
        objects: arguments.objects,
        source,
        informer,
    };
    let text = format!(
        "{}\n\n{} objects in the store.\n\n{}\n{}",
        report::machine(),
        arguments.objects,
        reads::table(&running)?,
        delay::table(&running, Duration::from_secs(arguments.seconds), arguments.rounds).await,
    );
    println!("{text}");
    match &arguments.write {
        Some(file) => report::replace_section(file, "lister", &text),
        None => Ok(()),
    }
}
