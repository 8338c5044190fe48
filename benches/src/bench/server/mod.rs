//! The load server: an in-memory API server for one kind of object, with the list and watch requests of informers.
//!
//! `bench server --objects 10000` prints its address. `bench server --print-templates` prints the templates of the Pods, one per line, for
//! the Go program that encodes them as protobuf. Read `state` → `handler` → `encoding` → `protobuf`.
//!
//! Besides the API it has two commands: `POST /events/{count}` sends that number of events to all watches; `POST /expire/{percent}` changes
//! that percentage of the Pods and ends all watches with 410.

mod encoding;
mod handler;
mod protobuf;
mod state;

use std::{fs, path::PathBuf, sync::Arc};

use anyhow::{Context as _, Result};
use clap::Args;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use kubewright_benches::pods::{APPS, DataSet, Pods};
use tokio::net::TcpListener;

use handler::LoadServer;
use state::ServerState;

/// Arguments of `bench server`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Number of objects
    #[arg(long, default_value_t = 10_000)]
    objects: u32,
    /// Random seed of the objects
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// File with the templates as protobuf, each preceded by its length as four big-endian bytes
    #[arg(long)]
    protobuf: Option<PathBuf>,
    /// Data set
    #[arg(long, value_enum, default_value_t)]
    data: DataSet,
    /// Reject streaming lists, as servers before 1.32 do
    #[arg(long)]
    refuse_streaming: bool,
    /// Number of events in a burst
    #[arg(long, default_value_t = 100)]
    burst: u32,
    /// Milliseconds between bursts
    #[arg(long, default_value_t = 10)]
    pause: u64,
    /// Print the templates and exit
    #[arg(long)]
    print_templates: bool,
}

/// Uses one thread, to leave the other processors to the measured subject.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn serve(arguments: &Arguments) -> Result<()> {
    let templates = match arguments.data {
        DataSet::Pods => APPS,
        DataSet::Custom => arguments.objects as usize,
    };
    let mut pods = Pods::new(templates, arguments.seed, arguments.data)?;
    if arguments.print_templates {
        for template in pods.templates() {
            println!("{}", String::from_utf8_lossy(template));
        }
        return Ok(());
    }
    if let Some(path) = &arguments.protobuf {
        pods = pods.with_protobuf(split_records(&fs::read(path)?)?.into_iter())?;
    }
    let pods = Arc::new(pods);
    let state = ServerState::new(pods.clone(), arguments.objects, arguments.burst, arguments.pause);
    let server = Arc::new(LoadServer {
        pods,
        state,
        refuse_streaming: arguments.refuse_streaming,
    });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let server = server.clone();
        let service = service_fn(move |request| {
            let response = server.respond(&request);
            async move { Ok::<_, std::convert::Infallible>(response) }
        });
        // The subject may close the connection at any time.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

fn split_records(mut bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut records = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let (record, rest) = rest
            .split_at_checked(length)
            .context("the protobuf file is truncated")?;
        records.push(record.to_vec());
        bytes = rest;
    }
    Ok(records)
}
