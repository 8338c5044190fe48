//! The arguments of `package`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{MergeOptions, WriteOptions};

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
    /// How to write files
    #[command(flatten)]
    pub write: WriteOptions,
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

/// Where a chart has the CRDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ChartCrds {
    /// In templates: upgrades change them, and values say whether they are installed and kept
    Templates,
    /// In the folder crds: Helm creates them, and never changes them
    Folder,
}
