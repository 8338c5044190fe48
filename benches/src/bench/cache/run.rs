//! Measures one subject once: a list, watch events, and a relist.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

use kubewright_benches::pods::DataSet;

use super::subjects::{CacheSubject, SubjectProgram};
use crate::process::Process;

/// Percentage of Pods that change before the relist.
const CHANGED_PERCENT: u32 = 10;
/// Minimum number of processed keys per object or event. A queue may merge two events of a key, but only a few; otherwise events were lost.
const MIN_WORKED_FRACTION: f64 = 0.95;

/// Paths of the programs, and of the Pods encoded as protobuf.
pub(crate) struct Programs {
    /// This program, which is also the load server and the Rust subjects.
    pub(crate) this: PathBuf,
    pub(crate) peers: PathBuf,
    pub(crate) protobuf: Option<PathBuf>,
}

/// Parameters of the load server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadParameters {
    pub(crate) objects: u32,
    pub(crate) events: u32,
    pub(crate) seed: u64,
    pub(crate) data: DataSet,
}

/// Figures of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheFigures {
    /// CPU µs per listed object.
    pub(crate) list_cpu: f64,
    /// CPU µs per watch event.
    pub(crate) event_cpu: f64,
    /// CPU µs per relisted object.
    pub(crate) relist_cpu: f64,
    /// Resident KB per object after the list.
    pub(crate) listed: f64,
    /// Resident KB per object after the events.
    pub(crate) watched: f64,
    /// Resident KB per object after a garbage collection that returns memory to the system; without a collector, the same as `watched`.
    pub(crate) collected: f64,
    /// Anonymous KB per object of `collected`: without pages of the program's file, whose number does not depend on the number of objects.
    pub(crate) anonymous: f64,
    /// Peak of resident KB per object during the first list.
    pub(crate) list_peak: f64,
    /// Peak of resident memory during the relist, as a multiple of the memory before it.
    pub(crate) relist_peak: f64,
}

pub(crate) fn start_server(
    programs: &Programs,
    load: LoadParameters,
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
    let address = server.expect_line("http://")?;
    Ok((server, format!("http://{address}")))
}

/// Measures one subject once. `program` is the executable of Rust subjects: this program, or another build of it.
pub(crate) fn run(
    programs: &Programs,
    program: &Path,
    subject: &CacheSubject,
    load: LoadParameters,
) -> Result<CacheFigures> {
    let (_server, url) = start_server(programs, load, subject.without_streaming)?;
    let mut command = match subject.program {
        SubjectProgram::Rust(name) => {
            let mut command = Command::new(program);
            command.args(["subject", name]);
            command
        }
        SubjectProgram::Go(encoding) => {
            let mut command = Command::new(&programs.peers);
            command.args(["subject", encoding]);
            command
        }
    };
    let mut process = Process::start(command.arg(&url))?;
    process.expect_line("ready")?;
    process.wait_until_idle()?;
    let (objects, events) = (f64::from(load.objects), f64::from(load.events));
    let (empty, anonymous, start) = (
        process.resident_kb()?,
        process.anonymous_kb()?,
        process.cpu_micros()?,
    );

    process.send_line("go")?;
    process.expect_line("marker")?;
    process.wait_until_idle()?;
    let listed_keys = worked_keys(&mut process)?;
    let (listed, after_list, list_peak) = (process.resident_kb()?, process.cpu_micros()?, process.peak_kb()?);

    post_command(&url, &format!("/events/{}", load.events))?;
    process.expect_line("marker")?;
    process.wait_until_idle()?;
    let event_keys = worked_keys(&mut process)? - listed_keys;
    let (watched, after_events) = (process.resident_kb()?, process.cpu_micros()?);
    if !subject.is_floor() {
        ensure!(
            listed_keys >= MIN_WORKED_FRACTION * objects && event_keys >= MIN_WORKED_FRACTION * events,
            "the worker processed only {listed_keys} keys for {objects} objects and {event_keys} for {events} events"
        );
    }
    let collected = match subject.program {
        SubjectProgram::Rust(_) => watched,
        SubjectProgram::Go(_) => {
            process.send_line("gc")?;
            process.expect_line("collected")?;
            process.resident_kb()?
        }
    };

    let anonymous = process.anonymous_kb()? - anonymous;
    process.reset_peak()?;
    let (steady, before_relist) = (process.resident_kb()?, process.cpu_micros()?);
    post_command(&url, &format!("/expire/{CHANGED_PERCENT}"))?;
    process.expect_line("marker")?;
    process.wait_until_idle()?;
    let relist_peak = (process.peak_kb()? - empty) / (steady - empty).max(1.0);
    Ok(CacheFigures {
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

/// Returns how many keys the worker has processed so far.
fn worked_keys(process: &mut Process) -> Result<f64> {
    process.send_line("count")?;
    Ok(process.expect_line("worked")?.parse()?)
}

/// Sends a command to the load server.
fn post_command(url: &str, path: &str) -> Result<()> {
    let address = url
        .strip_prefix("http://")
        .context("the URL does not start with http://")?;
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    ensure!(response.starts_with("HTTP/1.1 200"), "{path}: {response}");
    Ok(())
}
