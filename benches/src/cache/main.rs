//! What a cached Pod costs: CPU time for each listed object and each watch event, and memory, beside kube-runtime.
//!
//! `cargo run --release -p kubewright-benches --bin cache` measures each [`Subject`] in a process of its own, in turn, several rounds,
//! and prints medians as a Markdown table. All subjects read the same bytes through the same `kube::Client`, each with the requests
//! that it sends by itself. Read `pod` → `server` → `subject` → `cost`.

#![expect(clippy::print_stdout, reason = "the table is this program's output")]

mod cost;
mod pod;
mod server;
mod subject;

use std::{process::Command, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, anyhow, ensure};
use kubewright_benches::median;
use tokio::sync::Notify;

use cost::{Cost, Moment};
use pod::Template;
use server::{EVENTS, OBJECTS, Server};
use subject::{Seen, Subject};

const ROUNDS: usize = 5;

fn main() -> Result<()> {
    match std::env::args().nth(1) {
        None => compare(),
        Some(index) => {
            let subject = Subject::ALL.get(index.parse::<usize>()?);
            measure(*subject.context("the table has no such row")?)
        }
    }
}

/// The parent: runs itself for each subject, round by round, and prints the table.
fn compare() -> Result<()> {
    let template = Template::new()?;
    println!(
        "{OBJECTS} Pods of {} bytes, {} of them managedFields; then {EVENTS} changes. Medians of {ROUNDS} rounds.\n",
        template.size, template.managed_fields
    );
    let mut costs = vec![Vec::new(); Subject::ALL.len()];
    for _ in 0..ROUNDS {
        for (index, costs) in costs.iter_mut().enumerate() {
            costs.push(measured(index)?);
        }
    }
    let medians: Vec<Cost> = costs
        .iter()
        .map(|costs| std::array::from_fn(|figure| median(costs.iter().map(|cost| cost[figure]))))
        .collect();
    println!("| | {} |", cost::FIGURES.join(" | "));
    println!("|---|{}", "---:|".repeat(cost::FIGURES.len()));
    for (subject, cost) in Subject::ALL.iter().zip(&medians) {
        let cells = cost.iter().zip(&medians[0]);
        let cells: Vec<String> = cells
            .map(|(value, base)| format!("{value:.1} ({:.2}×)", value / base))
            .collect();
        println!("| {} | {} |", subject.label(), cells.join(" | "));
    }
    Ok(())
}

fn measured(index: usize) -> Result<Cost> {
    let output = Command::new(std::env::current_exe()?)
        .arg(index.to_string())
        .output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "row {index} failed: {error}");
    cost::parse(&String::from_utf8(output.stdout)?)
}

/// The child: one subject. One thread, so that the CPU time of the thread is that of all work.
#[tokio::main(flavor = "current_thread")]
async fn measure(subject: Subject) -> Result<()> {
    let server = Arc::new(Server {
        template: Template::new()?,
        watch: Notify::new(),
    });
    let seen = Arc::new(Seen::default());
    let start = Moment::now()?;
    let running = tokio::spawn(subject.run(server.client(), seen.clone()));
    let steps = async {
        seen.wait_for(OBJECTS).await;
        let listed = settled().await?;
        server.watch.notify_one();
        seen.wait_for(OBJECTS + EVENTS).await;
        let watched = settled().await?;
        println!("{}", cost::line(cost::between(start, listed, watched)));
        Ok(())
    };
    tokio::select! {
        measured = steps => measured,
        ended = running => ended?.and(Err(anyhow!("the watch ended"))),
    }
}

/// What was told last may not be put away yet; waiting costs no CPU time.
async fn settled() -> Result<Moment> {
    tokio::time::sleep(Duration::from_millis(200)).await;
    Moment::now()
}
