//! `kubewright doctor`: checks the toolchain, the project, and with `--cluster` a cluster.

use crate::{
    Context, Error,
    args::Doctor,
    doctor::{Report, cluster, files, packages, toolchain},
    project::Project,
};

/// Prints a line for each finding. Fails if there is a problem. Changes nothing.
pub fn run(args: &Doctor, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let mut report = Report::new(context);
    toolchain::check_cargo(&mut report, &project)?;
    let manifests = if toolchain::check_versions(&mut report, &project)? {
        files::check(&mut report, &project)?
    } else {
        None
    };
    packages::check(&mut report, &project)?;
    match (&args.cluster, &manifests) {
        (Some(context), Some(manifests)) => cluster::check(&mut report, &project, manifests, context)?,
        (Some(_), None) => report.warning(
            "cluster",
            "not checked, since the operator prints no manifests: fix the problems above",
        )?,
        (None, _) => {}
    }
    report.finish()
}
