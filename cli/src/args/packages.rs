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
    #[arg(long, value_name = "IMAGE", value_parser = image)]
    pub image: Option<String>,
    /// Overwrite this file although it was edited by hand
    #[arg(long, value_name = "PATH")]
    pub overwrite: Vec<PathBuf>,
    /// How to write files
    #[command(flatten)]
    pub write: WriteOptions,
}

/// Parses the image, which the file's header records.
fn image(text: &str) -> Result<String, &'static str> {
    let is_of_image = |c: char| !c.is_whitespace() && !c.is_control() && c != '`';
    if text.is_empty() || !text.chars().all(is_of_image) {
        return Err("it must be a reference without blanks and backticks, as in registry.example/shop:0.2.0");
    }
    Ok(text.to_owned())
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
