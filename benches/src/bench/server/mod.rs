//! The load server: an API server in memory that knows Pods only, with the lists and watches that informers ask for.
//!
//! `bench server --objects 10000` prints its address. `bench server --print-templates` prints the Pods' templates, one a line: what
//! another program makes protobuf of. Read `feed` → `answer` → `encoding` → `protobuf`.
//!
//! Beside the API it has two commands: `POST /events/{count}` sends as many events to those who watch, `POST /expire/{percent}` changes
//! so many of the Pods and ends all watches with 410.

mod answer;
mod encoding;
mod feed;
mod protobuf;

use std::{fs, path::PathBuf, sync::Arc};

use anyhow::{Context as _, Result};
use clap::Args;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use kubewright_benches::pods::{APPS, DataSet, Pods};
use tokio::net::TcpListener;

use answer::Server;
use feed::Feed;

/// What `bench server` is told.
#[derive(Args)]
pub(crate) struct Arguments {
    /// How many Pods there are
    #[arg(long, default_value_t = 10_000)]
    objects: u32,
    /// Of which random numbers they are made
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The templates as protobuf, each behind its length in four bytes, big-endian
    #[arg(long)]
    protobuf: Option<PathBuf>,
    /// Which objects there are
    #[arg(long, value_enum, default_value_t)]
    data: DataSet,
    /// Refuse streaming lists, as servers before 1.32 do
    #[arg(long)]
    refuse_streaming: bool,
    /// Events sent at a time
    #[arg(long, default_value_t = 100)]
    burst: u32,
    /// Milliseconds from one burst to the next
    #[arg(long, default_value_t = 10)]
    pause: u64,
    /// Print the templates and end
    #[arg(long)]
    print_templates: bool,
}

/// One thread: the other processors are left to who is measured.
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
        pods = pods.with_protobuf(records(&fs::read(path)?)?.into_iter())?;
    }
    let pods = Arc::new(pods);
    let feed = Feed::new(pods.clone(), arguments.objects, arguments.burst, arguments.pause);
    let server = Arc::new(Server {
        pods,
        feed,
        refuse_streaming: arguments.refuse_streaming,
    });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let server = server.clone();
        let service = service_fn(move |request| {
            let answer = server.answer(&request);
            async move { Ok::<_, std::convert::Infallible>(answer) }
        });
        // Who is measured goes away when it likes.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

fn records(mut bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut records = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let (record, rest) = rest
            .split_at_checked(length)
            .context("the protobuf file is cut")?;
        records.push(record.to_vec());
        bytes = rest;
    }
    Ok(records)
}
