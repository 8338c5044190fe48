//! `kubewright package`: packages of the operator, made of the project's manifests.

use std::path::{Path, PathBuf};

use super::source_edits;
use crate::{
    Context, Error,
    args::{ChartCrds, MergeOptions, Package, PackageBundle, PackageHelm, PackageInstall, WriteOptions},
    generation::Decisions,
    ownership::managed,
    packaging::{
        build::{self, ManifestObject},
        bundle::{self, Bundle},
        chart::{self, Chart},
        files::{self, PackageFiles},
        install,
        operator::OperatorContainer,
        package,
    },
    plan,
    project::Project,
};

/// Writes the package.
pub fn run(args: &Package, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let objects = build::build(&project.root)?;
    match args {
        Package::Install(args) => install(args, &project, objects, context),
        Package::Helm(args) => helm(args, &project, &objects, context),
        Package::Bundle(args) => bundle(args, &project, &objects, context),
    }
}

fn install(
    args: &PackageInstall,
    project: &Project,
    mut objects: Vec<ManifestObject>,
    context: &mut Context<'_>,
) -> Result<(), Error> {
    if let Some(image) = &args.image {
        OperatorContainer::find(&objects, &project.settings.name)?.set_image(&mut objects, image);
    }
    let warnings = install::warnings(&objects);
    let text = install::text(objects)?;
    let decisions = Decisions::of_arguments(project, &context.cwd, &args.overwrite, &[]);
    let path = Path::new(install::PATH);
    let mut files = files::plan_generated(
        &project.root,
        "kubewright package install",
        path,
        &text,
        &decisions,
    )?;
    files.warnings.extend(warnings);
    let next = format!("kubectl apply --server-side -f {}", install::PATH);
    apply(&files, project, args.write, &next, context)
}

fn helm(
    args: &PackageHelm,
    project: &Project,
    objects: &[ManifestObject],
    context: &mut Context<'_>,
) -> Result<(), Error> {
    let settings = &project.settings;
    let base = project.root.join(managed::BASE).join(chart::CRDS_FOLDER);
    let present = if plan::files(&base)?.is_empty() {
        ChartCrds::Templates
    } else {
        ChartCrds::Folder
    };
    let chart = Chart {
        objects,
        operator: OperatorContainer::find(objects, &settings.name)?,
        settings,
        package: &package(&project.root)?,
        crds: args.crds.unwrap_or(present),
    };
    let next = format!(
        "helm install {} {} --namespace {} --create-namespace",
        settings.name,
        chart::FOLDER,
        settings.namespace
    );
    let renderings = chart.files()?;
    let command = "kubewright package helm";
    merge(
        command,
        (chart::FOLDER, &renderings),
        chart.warnings(),
        &args.merge,
        project,
        &next,
        context,
    )
}

fn bundle(
    args: &PackageBundle,
    project: &Project,
    objects: &[ManifestObject],
    context: &mut Context<'_>,
) -> Result<(), Error> {
    let settings = &project.settings;
    let bundle = Bundle {
        objects,
        operator: OperatorContainer::find(objects, &settings.name)?,
        settings,
        package: &package(&project.root)?,
    };
    let mut warnings = Vec::new();
    let renderings = bundle.files(&project.root, &mut warnings)?;
    let next = format!("docker build -f {} -t IMAGE .", bundle::DOCKERFILE);
    let command = "kubewright package bundle";
    merge(
        command,
        (bundle::FOLDER, &renderings),
        warnings,
        &args.merge,
        project,
        &next,
        context,
    )
}

/// Merges the renderings into the files of a folder.
fn merge(
    command: &'static str,
    (folder, renderings): (&str, &[(PathBuf, String)]),
    warnings: Vec<String>,
    options: &MergeOptions,
    project: &Project,
    next: &str,
    context: &mut Context<'_>,
) -> Result<(), Error> {
    let decisions = Decisions::of_arguments(project, &context.cwd, &options.overwrite, &options.keep);
    let folder = Path::new(folder);
    let mut files = files::plan_managed(&project.root, command, folder, renderings, &decisions)?;
    files.warnings.extend(warnings);
    apply(&files, project, options.write, next, context)
}

fn apply(
    files: &PackageFiles,
    project: &Project,
    options: WriteOptions,
    next: &str,
    context: &mut Context<'_>,
) -> Result<(), Error> {
    for warning in &files.warnings {
        context.message(format_args!("warning: {warning}"))?;
    }
    if files.plan.is_empty() && !options.dry_run {
        return context.message("all files are up to date");
    }
    if source_edits::apply(&files.plan, project, options, context)? {
        context.message(format_args!("\nnext:\n  {next}"))?;
    }
    Ok(())
}
