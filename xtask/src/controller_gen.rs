//! Records what controller-gen makes of the Go types in tests/controller-gen, with which a test compares the derive's definitions.

use crate::api_files::write_or_check;
use crate::yaml;
use anyhow::{Context as _, Result, ensure};
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = "sigs.k8s.io/controller-tools/cmd/controller-gen@v0.20.1";
/// The folders, each with a kind.
const KINDS: [&str; 3] = ["bucket", "cronjob", "foo"];

pub(crate) fn run(check: bool) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/controller-gen");
    for kind in KINDS {
        let output = Command::new("go")
            .args(["run", PROGRAM, "crd:maxDescLen=0", "output:crd:stdout"])
            .arg(format!("paths=./{kind}/..."))
            .current_dir(&root)
            .output()
            .context("cannot run go, which builds controller-gen: install Go")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "controller-gen of {kind}: {errors}");
        let definition = yaml::parse(&String::from_utf8(output.stdout)?)
            .with_context(|| format!("controller-gen of {kind}: its output is not one YAML document"))?;
        let text = serde_json::to_string(&definition)? + "\n";
        write_or_check(&root.join(kind).join("definition.json"), &text, check)?;
    }
    Ok(())
}
