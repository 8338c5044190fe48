//! One subject of the comparison: `bench subject SUBJECT URL` keeps the load server's Pods and works each change.
//!
//! It says `ready` before it sends anything and begins when it is sent a line. Whenever its worker comes to the marker it says `marker`;
//! sent a line it says `worked` and how many keys the worker was given. Who measures is outside: `cache`. Read [`Subject`], then a
//! module for each library.

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
use kubewright_benches::pods::MARKER_NAMESPACE;

/// Who keeps the Pods, and what its worker reads.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Subject {
    /// kubewright; the worker reads extracted metadata
    Kubewright,
    /// kubewright; the worker reads extracted metadata of custom resources
    KubewrightCustom,
    /// kubewright; the worker decodes each object
    KubewrightGets,
    /// kubewright, raw JSON kept
    KubewrightRaw,
    /// kubewright, always decoded; the worker gets each object
    KubewrightDecoded,
    /// kubewright, a struct of a few fields
    KubewrightProjected,
    /// kubewright, metadata only
    KubewrightMetadata,
    /// kube-runtime's watcher and reflector
    KubeRuntime,
    /// kube-runtime, managedFields dropped before the store
    KubeRuntimeTrimmed,
    /// kube-runtime, a struct of a few fields
    KubeRuntimeSlim,
    /// Nobody: the bytes are read and thrown away
    Floor,
}

/// What `bench subject` is told.
#[derive(Args)]
pub(crate) struct Arguments {
    subject: Subject,
    url: String,
}

/// Tokio as `#[tokio::main]` sets it up, as in an operator.
#[tokio::main]
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let config = kube::Config::new(arguments.url.parse()?);
    println!("ready");
    stdin().read_line(&mut String::new())?;
    std::thread::spawn(answer_questions);
    // What runs in the main task runs on a thread of its own, which costs a switch of threads for each chunk that is read.
    tokio::spawn(keep(arguments.subject, config)).await??;
    Err(anyhow!("the watch ended"))
}

async fn keep(subject: Subject, config: kube::Config) -> Result<()> {
    match subject {
        Subject::Kubewright => kubewright::whole(config, StorageMode::Compressed, Worker::Looks).await,
        Subject::KubewrightCustom => kubewright::custom(config).await,
        Subject::KubewrightGets => kubewright::whole(config, StorageMode::Compressed, Worker::Gets).await,
        Subject::KubewrightRaw => kubewright::whole(config, StorageMode::Raw, Worker::Looks).await,
        Subject::KubewrightDecoded => kubewright::whole(config, StorageMode::Decoded, Worker::Gets).await,
        Subject::KubewrightProjected => kubewright::projected(config).await,
        Subject::KubewrightMetadata => kubewright::metadata(config).await,
        Subject::KubeRuntime => kube_runtime::whole(config).await,
        Subject::KubeRuntimeTrimmed => kube_runtime::trimmed(config).await,
        Subject::KubeRuntimeSlim => kube_runtime::slim(config).await,
        Subject::Floor => floor::run(config).await,
    }
}

/// Keys that the worker was given.
static WORKED: AtomicUsize = AtomicUsize::new(0);

/// Counts a key, and tells of the marker.
fn worked(namespace: Option<&str>) {
    WORKED.fetch_add(1, Ordering::Relaxed);
    if namespace == Some(MARKER_NAMESPACE) {
        println!("marker");
    }
}

fn answer_questions() {
    for _ in stdin().lines().map_while(Result::ok) {
        println!("worked {}", WORKED.load(Ordering::Relaxed));
    }
}
