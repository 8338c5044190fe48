//! `kubewright package`: packages of the operator, made of the project's manifests.

use super::source_edits;
use crate::{
    Context, Error,
    args::Package,
    generation::Decisions,
    packaging::{
        build::{self, ProjectFiles},
        bundle, chart,
        format::PackageFormat,
        install, leader_election,
    },
    plan::Plan,
    project::Project,
};

/// Writes the package.
pub fn run(args: &Package, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let (format, overwrite, keep, options) = match args {
        Package::Install(args) => {
            let image = args.image.clone();
            let format = PackageFormat::Install { image };
            (format, &args.overwrite, [].as_slice(), args.write)
        }
        Package::Helm(args) => {
            let (format, merge) = (PackageFormat::Helm { crds: args.crds }, &args.merge);
            (format, &merge.overwrite, &*merge.keep, merge.write)
        }
        Package::Bundle(args) => {
            let merge = &args.merge;
            (PackageFormat::Bundle, &merge.overwrite, &*merge.keep, merge.write)
        }
    };
    let decisions = Decisions::of_arguments(&project, &context.cwd, overwrite, keep);
    let objects = build::build(ProjectFiles {
        root: &project.root,
        plan: &Plan::default(),
    })?;
    let files = format.plan(&project, &objects, &decisions)?;
    if !files.edited.is_empty() {
        return Err(Error::Edited(files.edited));
    }
    if !files.conflicts.is_empty() {
        return Err(Error::Conflict(files.conflicts));
    }
    let replicas = leader_election::warning(&objects, &project.settings.name);
    for warning in files.warnings.iter().chain(&replicas) {
        context.message(format_args!("warning: {warning}"))?;
    }
    if files.plan.is_empty() && !options.dry_run {
        return context.message("all files are up to date");
    }
    if source_edits::apply(&files.plan, &project, options, context)? {
        context.message(format_args!("\nnext:\n  {}", next(&format, &project)))?;
    }
    Ok(())
}

/// Returns what the user does with the package.
fn next(format: &PackageFormat, project: &Project) -> String {
    match format {
        PackageFormat::Install { .. } => format!("kubectl apply --server-side -f {}", install::PATH),
        PackageFormat::Helm { .. } => {
            let (name, namespace) = (&project.settings.name, &project.settings.namespace);
            let chart = chart::FOLDER;
            format!("helm install {name} {chart} --namespace {namespace} --create-namespace")
        }
        PackageFormat::Bundle => format!("docker build -f {} -t IMAGE .", bundle::DOCKERFILE),
    }
}
