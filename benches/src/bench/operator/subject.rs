//! The operators in Rust. For each line that one reads it says how often it has reconciled; it ends with its input.

use std::{
    io::stdin,
    process::exit,
    sync::atomic::{AtomicUsize, Ordering},
};

use anyhow::{Result, anyhow};
use clap::ValueEnum;

use super::{kube_runtime, kubewright};

/// Who is the operator.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Subject {
    /// A manager with one controller
    Kubewright,
    /// `kube::runtime::Controller`
    KubeRuntime,
}

static RECONCILES: AtomicUsize = AtomicUsize::new(0);

/// Counts a reconcile.
pub(crate) fn reconciling() {
    RECONCILES.fetch_add(1, Ordering::Relaxed);
}

/// Tokio as `#[tokio::main]` sets it up, as in an operator.
#[tokio::main]
pub(crate) async fn run(subject: Subject) -> Result<()> {
    std::thread::spawn(|| {
        for _ in stdin().lines().map_while(Result::ok) {
            println!("reconciles {}", RECONCILES.load(Ordering::Relaxed));
        }
        exit(0);
    });
    match subject {
        Subject::Kubewright => kubewright::run().await?,
        Subject::KubeRuntime => kube_runtime::run().await?,
    }
    Err(anyhow!("the operator ended"))
}
