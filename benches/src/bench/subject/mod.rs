//! One subject of the cache comparison: `bench subject SUBJECT URL` caches the load server's Pods and processes each change.
//!
//! It prints `ready` before it sends a request, and starts when it reads a line. It prints `marker` each time its worker processes the end
//! marker, and answers each further line with `worked` and the number of keys that the worker has processed. The measurement is done from
//! outside, by `cache`. Read [`Subject`], then the module of each library.

mod floor;
mod kube_runtime;
mod kubewright;
mod slim;

use std::{
    io::stdin,
    sync::atomic::{AtomicUsize, Ordering},
};

use ::kubewright::cache::StorageMode;
use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use kubewright::Worker;
use kubewright_benches::pods::END_MARKER_NAMESPACE;

/// The library that caches the Pods, how it stores them, and what its worker reads.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Subject {
    /// kubewright, Pods; the worker reads extracted metadata
    Kubewright,
    /// kubewright, custom resources; the worker reads extracted metadata
    KubewrightCustom,
    /// kubewright; the worker decodes each object
    KubewrightGets,
    /// kubewright; the worker gets the first object of the same owner
    KubewrightOwner,
    /// kubewright, stored as raw JSON
    KubewrightRaw,
    /// kubewright, stored decoded; the worker gets each object
    KubewrightDecoded,
    /// kubewright, a struct of a few fields
    KubewrightProjected,
    /// kubewright, metadata only
    KubewrightMetadata,
    /// kube-runtime's watcher and reflector
    KubeRuntime,
    /// kube-runtime, without managedFields
    KubeRuntimeTrimmed,
    /// kube-runtime, a struct of a few fields
    KubeRuntimeSlim,
    /// No cache: the bytes are read and discarded
    Floor,
}

/// Arguments of `bench subject`.
#[derive(Args)]
pub(crate) struct Arguments {
    subject: Subject,
    url: String,
}

/// Uses tokio's default runtime, as operators do.
#[tokio::main]
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let config = kube::Config::new(arguments.url.parse()?);
    println!("ready");
    stdin().read_line(&mut String::new())?;
    std::thread::spawn(answer_count_requests);
    // The main task runs on a thread of its own, which would cost a thread switch for each received chunk.
    tokio::spawn(run_subject(arguments.subject, config)).await??;
    Err(anyhow!("the watch ended"))
}

async fn run_subject(subject: Subject, config: kube::Config) -> Result<()> {
    match subject {
        Subject::Kubewright => {
            kubewright::whole_pods(config, StorageMode::Compressed, Worker::ReadsMetadata).await
        }
        Subject::KubewrightCustom => kubewright::custom_resources(config).await,
        Subject::KubewrightGets => {
            kubewright::whole_pods(config, StorageMode::Compressed, Worker::Decodes).await
        }
        Subject::KubewrightOwner => {
            kubewright::whole_pods(config, StorageMode::Compressed, Worker::DecodesFirstOfOwner).await
        }
        Subject::KubewrightRaw => {
            kubewright::whole_pods(config, StorageMode::Raw, Worker::ReadsMetadata).await
        }
        Subject::KubewrightDecoded => {
            kubewright::whole_pods(config, StorageMode::Decoded, Worker::Decodes).await
        }
        Subject::KubewrightProjected => kubewright::projected_pods(config).await,
        Subject::KubewrightMetadata => kubewright::pod_metadata(config).await,
        Subject::KubeRuntime => kube_runtime::whole_pods(config).await,
        Subject::KubeRuntimeTrimmed => kube_runtime::pods_without_managed_fields(config).await,
        Subject::KubeRuntimeSlim => kube_runtime::slim_pods(config).await,
        Subject::Floor => floor::run(config).await,
    }
}

/// The number of keys that the worker has processed.
static WORKED_KEYS: AtomicUsize = AtomicUsize::new(0);

/// Counts a processed key, and reports the end marker.
fn count_key(namespace: Option<&str>) {
    WORKED_KEYS.fetch_add(1, Ordering::Relaxed);
    if namespace == Some(END_MARKER_NAMESPACE) {
        println!("marker");
    }
}

fn answer_count_requests() {
    for _ in stdin().lines().map_while(Result::ok) {
        println!("worked {}", WORKED_KEYS.load(Ordering::Relaxed));
    }
}
