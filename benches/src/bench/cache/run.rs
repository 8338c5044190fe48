//! One run of one subject: a list, watch events, a relist.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

use kubewright_benches::pods::DataSet;

use super::subjects::{Program, Subject};
use crate::process::Process;

/// So many Pods of a hundred changed when the watch has expired.
const CHANGED_PERCENT: u32 = 10;
/// A queue may hand out a key once for two events; more than so few of them and not every event was worked.
const WORKED: f64 = 0.95;

/// The programs, and the Pods as protobuf.
pub(crate) struct Programs {
    /// This one: it is server and subject, too.
    pub(crate) this: PathBuf,
    pub(crate) peers: PathBuf,
    pub(crate) protobuf: Option<PathBuf>,
}

/// What the server is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) objects: u32,
    pub(crate) events: u32,
    pub(crate) seed: u64,
    pub(crate) data: DataSet,
}

/// What one run cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// CPU µs a listed object.
    pub(crate) list_cpu: f64,
    /// CPU µs a watch event.
    pub(crate) event_cpu: f64,
    /// CPU µs an object of the relist.
    pub(crate) relist_cpu: f64,
    /// Resident KB an object after the list.
    pub(crate) listed: f64,
    /// The same after the events.
    pub(crate) watched: f64,
    /// The same after a garbage collection that gives memory back, where there is one.
    pub(crate) collected: f64,
    /// What of that is no page of the program, which takes as much whatever number of objects there is.
    pub(crate) anonymous: f64,
    /// The most resident KB an object during the first list.
    pub(crate) list_peak: f64,
    /// The most during the relist, as a multiple of what was resident before.
    pub(crate) relist_peak: f64,
}

pub(crate) fn start_server(
    programs: &Programs,
    load: Load,
    without_streaming: bool,
) -> Result<(Process, String)> {
    let mut command = Command::new(&programs.this);
    command
        .arg("server")
        .args([
            "--objects",
            &load.objects.to_string(),
            "--seed",
            &load.seed.to_string(),
        ])
        .args([
            "--data",
            if load.data == DataSet::Pods {
                "pods"
            } else {
                "custom"
            },
        ]);
    if let Some(protobuf) = &programs.protobuf {
        command.arg("--protobuf").arg(protobuf);
    }
    if without_streaming {
        command.arg("--refuse-streaming");
    }
    let server = Process::start(&mut command)?;
    let address = server.said("http://")?;
    Ok((server, format!("http://{address}")))
}

/// `program` is the executable of Rust subjects: this one, or another build of it.
pub(crate) fn run(programs: &Programs, program: &Path, subject: &Subject, load: Load) -> Result<Figures> {
    let (_server, url) = start_server(programs, load, subject.without_streaming)?;
    let mut command = match subject.program {
        Program::Rust(name) => {
            let mut command = Command::new(program);
            command.args(["subject", name]);
            command
        }
        Program::Go(encoding) => {
            let mut command = Command::new(&programs.peers);
            command.args(["subject", encoding]);
            command
        }
    };
    let mut process = Process::start(command.arg(&url))?;
    process.said("ready")?;
    process.settle()?;
    let (objects, events) = (f64::from(load.objects), f64::from(load.events));
    let (empty, anonymous, start) = (process.resident()?, process.anonymous()?, process.cpu_micros()?);

    process.tell("go")?;
    process.said("marker")?;
    process.settle()?;
    let listed_keys = worked(&mut process)?;
    let (listed, after_list, list_peak) = (process.resident()?, process.cpu_micros()?, process.peak()?);

    post(&url, &format!("/events/{}", load.events))?;
    process.said("marker")?;
    process.settle()?;
    let event_keys = worked(&mut process)? - listed_keys;
    let (watched, after_events) = (process.resident()?, process.cpu_micros()?);
    if !subject.is_floor() {
        ensure!(
            listed_keys >= WORKED * objects && event_keys >= WORKED * events,
            "the worker was given {listed_keys} keys of {objects} objects, and {event_keys} of {events} events"
        );
    }
    let collected = match subject.program {
        Program::Rust(_) => watched,
        Program::Go(_) => {
            process.tell("gc")?;
            process.said("collected")?;
            process.resident()?
        }
    };

    let anonymous = process.anonymous()? - anonymous;
    process.forget_peak()?;
    let (steady, before_relist) = (process.resident()?, process.cpu_micros()?);
    post(&url, &format!("/expire/{CHANGED_PERCENT}"))?;
    process.said("marker")?;
    process.settle()?;
    let relist_peak = (process.peak()? - empty) / (steady - empty).max(1.0);
    Ok(Figures {
        list_cpu: (after_list - start) / objects,
        event_cpu: (after_events - after_list) / events,
        relist_cpu: (process.cpu_micros()? - before_relist) / objects,
        listed: (listed - empty) / objects,
        watched: (watched - empty) / objects,
        collected: (collected - empty) / objects,
        anonymous: anonymous / objects,
        list_peak: (list_peak - empty) / objects,
        relist_peak,
    })
}

/// How many keys the worker was given until now.
fn worked(process: &mut Process) -> Result<f64> {
    process.tell("count")?;
    Ok(process.said("worked")?.parse()?)
}

/// Gives the load server a command.
fn post(url: &str, path: &str) -> Result<()> {
    let address = url.strip_prefix("http://").context("no address")?;
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    Ok(())
}
