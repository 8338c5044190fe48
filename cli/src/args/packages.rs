//! The arguments of `package`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Subcommands of `kubewright package`.
#[derive(Debug, Subcommand)]
pub enum Package {
    /// Write all manifests into dist/install.yaml, for `kubectl apply -f`
    Install(PackageInstall),
    /// Write a Helm chart into chart; later runs merge their changes with yours
    Helm(PackageHelm),
    /// Write a bundle for the Operator Lifecycle Manager (OLM) into bundle; later runs merge their changes with yours
    Bundle(PackageBundle),
}

/// Arguments of `kubewright package install`.
#[derive(Debug, Args)]
pub struct PackageInstall {
    /// Image of the operator, in place of that in the manifests
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// Overwrite this file although it was edited by hand
    #[arg(long, value_name = "PATH")]
    pub overwrite: Vec<PathBuf>,
    /// Print the planned changes and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Also change files that have uncommitted changes
    #[arg(long)]
    pub allow_dirty: bool,
}

/// Arguments of `kubewright package helm`.
#[derive(Debug, Args)]
pub struct PackageHelm {
    /// Where the chart has the CRDs [default: where it has them, `templates` in a new chart]
    #[arg(long, value_enum, value_name = "PLACE")]
    pub crds: Option<ChartCrds>,
    /// How to write managed files
    #[command(flatten)]
    pub merge: MergeOptions,
}

/// Arguments of `kubewright package bundle`.
#[derive(Debug, Args)]
pub struct PackageBundle {
    /// How to write managed files
    #[command(flatten)]
    pub merge: MergeOptions,
}

/// How a command writes managed files.
#[derive(Debug, Args)]
pub struct MergeOptions {
    /// Overwrite your version of this file (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub overwrite: Vec<PathBuf>,
    /// Resolve the merge conflict of this file with your version (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub keep: Vec<PathBuf>,
    /// Print the planned changes and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Also change files that have uncommitted changes
    #[arg(long)]
    pub allow_dirty: bool,
}

/// Where a chart has the CRDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ChartCrds {
    /// In templates: upgrades change them, and values say whether they are installed and kept
    Templates,
    /// In the folder crds: Helm creates them, and never changes them
    Folder,
}
