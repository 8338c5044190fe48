//! Compares builds of this program in pairs: `bench pairs --other LABEL=PROGRAM …` measures this build and each other one in turn, all of
//! them once a round.
//!
//! The whole path is measured as `bench cache` does: socket, cache, work queue, worker. A difference counts only where it is greater than
//! the spread of the pairs, half the distance between their quartiles. One load server, of this build, serves both sides of a pair.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use kubewright_benches::{pods::DataSet, report};

use super::cache::{
    run::{self, CacheFigures, LoadParameters, Programs},
    subjects::{CacheSubject, SubjectProgram},
};

/// Arguments of `bench pairs`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Another build, as LABEL=PROGRAM; may be given several times
    #[arg(long, required = true)]
    other: Vec<String>,
    /// Numbers of objects; each one makes a table
    #[arg(long, value_delimiter = ',', default_value = "10000,100000")]
    objects: Vec<u32>,
    /// Data sets; each one makes a table
    #[arg(long, value_enum, value_delimiter = ',', default_value = "pods,custom")]
    data: Vec<DataSet>,
    /// The worker gets the first Pod of the same owner for each change, instead of reading the changed object's metadata
    #[arg(long)]
    get_owner: bool,
    /// Number of pairs
    #[arg(long, default_value_t = 7)]
    rounds: usize,
}

type Column = (&'static str, fn(&CacheFigures) -> f64);

const COLUMNS: [Column; 5] = [
    ("CPU µs per listed object", |figures| figures.list_cpu),
    ("CPU µs per watch event", |figures| figures.event_cpu),
    ("CPU µs per relisted object", |figures| figures.relist_cpu),
    ("KB per object after events", |figures| figures.watched),
    ("relist peak / before", |figures| figures.relist_peak),
];
/// Minimum number of watch events.
const MIN_EVENTS: u32 = 20_000;
const SEED: u64 = 1;

pub(crate) fn compare(arguments: &Arguments) -> Result<()> {
    let others: Vec<(&str, PathBuf)> = arguments
        .other
        .iter()
        .map(|other| {
            let (label, program) = other
                .split_once('=')
                .context("--other is not of the form LABEL=PROGRAM")?;
            ensure!(
                Path::new(program).is_file(),
                "{program} is not a file: build it first"
            );
            Ok((label, program.into()))
        })
        .collect::<Result<_>>()?;
    let this = std::env::current_exe()?;
    let programs = Programs {
        this: this.clone(),
        peers: PathBuf::new(),
        protobuf: None,
    };
    println!("{}", report::machine());
    for &data in &arguments.data {
        let subject = subject(data, arguments.get_owner);
        for &objects in &arguments.objects {
            let load = LoadParameters {
                objects,
                events: objects.max(MIN_EVENTS),
                seed: SEED,
                data,
            };
            let mut pairs: Vec<Vec<(CacheFigures, CacheFigures)>> = vec![Vec::new(); others.len()];
            for round in 1..=arguments.rounds {
                // The order rotates, so that no build is always measured first. This build is measured once a round: each other one is
                // paired with it.
                let mut figures = vec![None; others.len() + 1];
                for step in 0..=others.len() {
                    let position = (round + step) % (others.len() + 1);
                    let program = others.get(position).map_or(&this, |(_, program)| program);
                    figures[position] = Some(run::run(&programs, program, &subject, load)?);
                }
                let Some(base) = figures.pop().flatten() else {
                    continue;
                };
                for (((label, _), pairs), other) in others.iter().zip(&mut pairs).zip(figures) {
                    let Some(other) = other else { continue };
                    eprintln!(
                        "{data:?} {objects}, round {round}, {label}: event {:.2} and {:.2} µs",
                        base.event_cpu, other.event_cpu
                    );
                    pairs.push((base, other));
                }
            }
            print_table(data, load, &others, &pairs);
        }
    }
    println!("{}", report::conditions(arguments.rounds));
    Ok(())
}

fn subject(data: DataSet, gets_owner: bool) -> CacheSubject {
    CacheSubject {
        label: "kubewright",
        program: SubjectProgram::Rust(match data {
            DataSet::Pods if gets_owner => "kubewright-owner",
            DataSet::Pods => "kubewright",
            DataSet::Custom => "kubewright-custom",
        }),
        without_streaming: false,
    }
}

fn print_table(
    data: DataSet,
    load: LoadParameters,
    others: &[(&str, PathBuf)],
    pairs: &[Vec<(CacheFigures, CacheFigures)>],
) {
    println!(
        "\n### {data:?}: {} objects, {} events\n",
        load.objects, load.events
    );
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let rows = others.iter().zip(pairs).map(|((label, _), pairs)| {
        let cells = COLUMNS.iter().map(|(_, read)| cell(pairs, *read));
        ((*label).to_owned(), cells.collect())
    });
    print!("{}", report::table(&names, rows));
}

/// Formats the medians of both builds and of their ratio, with the spread of the ratio.
fn cell(pairs: &[(CacheFigures, CacheFigures)], read: fn(&CacheFigures) -> f64) -> String {
    let base = quantile(pairs.iter().map(|(base, _)| read(base)), 0.5);
    let other = quantile(pairs.iter().map(|(_, other)| read(other)), 0.5);
    let ratios = || pairs.iter().map(|(base, other)| read(other) / read(base));
    let ratio = quantile(ratios(), 0.5);
    let spread = (quantile(ratios(), 0.75) - quantile(ratios(), 0.25)) / 2.0;
    let note = if (ratio - 1.0).abs() <= spread {
        ", within the spread"
    } else {
        ""
    };
    format!("{base:.2} → {other:.2} ({ratio:.2} ± {spread:.2}{note})")
}

/// Returns the quantile of the values at `fraction`, with linear interpolation.
fn quantile(values: impl Iterator<Item = f64>, fraction: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "a few rounds")]
    let position = fraction * (values.len().saturating_sub(1)) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
    let below = position.floor() as usize;
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    let above = at((below + 1).min(values.len().saturating_sub(1)));
    at(below) + (above - at(below)) * position.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_interpolated() {
        let values = || [4.0, 1.0, 3.0, 2.0].into_iter();
        assert!((quantile(values(), 0.5) - 2.5).abs() < 1e-9);
        assert!((quantile(values(), 0.0) - 1.0).abs() < 1e-9);
        assert!((quantile([7.0].into_iter(), 0.75) - 7.0).abs() < 1e-9);
    }
}
