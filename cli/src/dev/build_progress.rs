//! Builds the operator, and shows the progress of a long build.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    convert::Infallible,
    time::{Duration, Instant},
};

use cargo_metadata::{Message, PackageId};
use tokio::time::sleep;

use super::{
    console::{Console, LineOrigin},
    process::Process,
};
use crate::{
    cargo::{CommandOutput, OperatorTarget},
    error::CargoError,
};

/// Time between two lines: only a first build takes longer.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Builds the operator. Cargo's messages for users go to the console, those for programs are returned.
pub(super) async fn build(
    target: &OperatorTarget,
    color: bool,
    console: &Console,
) -> Result<CommandOutput, CargoError> {
    let progress = RefCell::new(BuildProgress::new(target.crates()));
    let command = target.build_command(color);
    let built = Process::run_observed(&command, LineOrigin::Cargo, console, |line| {
        progress.borrow_mut().record(line);
    });
    tokio::select! {
        built = built => built,
        never = report(&progress, console) => match never {},
    }
}

async fn report(progress: &RefCell<BuildProgress<'_>>, console: &Console) -> Infallible {
    let started = Instant::now();
    loop {
        sleep(REPORT_INTERVAL).await;
        let text = progress.borrow().text(started.elapsed());
        console.log(LineOrigin::Dev, text).await;
    }
}

/// The crates that are built, of all that `cargo metadata` lists for the operator: a few are not built.
struct BuildProgress<'a> {
    crates: &'a BTreeSet<PackageId>,
    done: BTreeSet<PackageId>,
}

impl<'a> BuildProgress<'a> {
    fn new(crates: &'a BTreeSet<PackageId>) -> Self {
        Self {
            crates,
            done: BTreeSet::new(),
        }
    }

    /// Records a line of cargo's messages. A crate is done with its library or binary; a build script is only a step towards it.
    fn record(&mut self, line: &str) {
        if let Ok(Message::CompilerArtifact(artifact)) = serde_json::from_str(line)
            && !artifact.target.is_custom_build()
            && self.crates.contains(&artifact.package_id)
        {
            self.done.insert(artifact.package_id);
        }
    }

    fn text(&self, elapsed: Duration) -> String {
        let (done, all) = (self.done.len(), self.crates.len());
        format!("building: {done} of {all} crates after {} s", elapsed.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn artifact(package: &str, kind: &str) -> String {
        json!({
            "reason": "compiler-artifact", "package_id": package, "manifest_path": "/Cargo.toml",
            "target": {"name": "x", "kind": [kind], "crate_types": [kind], "src_path": "/src.rs", "edition": "2024",
                "doctest": false, "test": true, "doc": true},
            "profile": {"opt_level": "0", "debuginfo": 1, "debug_assertions": true, "overflow_checks": true, "test": false},
            "features": [], "filenames": [], "executable": null, "fresh": false,
        })
        .to_string()
    }

    #[test]
    fn each_crate_is_counted_once_and_without_its_build_script() {
        let package = |name: &str| PackageId {
            repr: name.to_owned(),
        };
        let crates = BTreeSet::from(["shop", "serde", "kube"].map(package));
        let mut progress = BuildProgress::new(&crates);
        for line in [
            &artifact("serde", "custom-build"),
            &artifact("kube", "lib"),
            &artifact("kube", "lib"),
            &artifact("stranger", "lib"),
            r#"{"reason": "build-finished", "success": true}"#,
            "no JSON",
        ] {
            progress.record(line);
        }
        let elapsed = Duration::from_millis(20_500);
        assert_eq!(progress.text(elapsed), "building: 1 of 3 crates after 20 s");
        progress.record(&artifact("serde", "proc-macro"));
        progress.record(&artifact("shop", "bin"));
        assert_eq!(progress.text(elapsed), "building: 3 of 3 crates after 20 s");
    }
}
