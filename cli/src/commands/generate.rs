//! `kubewright generate`: updates the generated and managed files.

use crate::{
    Context, Error,
    args::Generate,
    cargo,
    generation::{self, Decisions},
    packaging::leader_election,
    project::Project,
};

/// Updates all generated files, or with `--check` fails if one is stale.
pub fn run(args: &Generate, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let manifests = cargo::manifests(context, &project)?;
    let decisions = Decisions::of_arguments(&project, &context.cwd, &args.overwrite, &args.keep);
    let outcome = generation::plan(&project, &manifests, &decisions)?;
    let replicas = leader_election::warning_after(&project, &outcome.plan);
    for warning in manifests
        .warnings
        .iter()
        .chain(&outcome.warnings)
        .chain(&replicas)
    {
        context.message(format_args!("warning: {warning}"))?;
    }
    if !outcome.edited.is_empty() {
        return Err(Error::Edited(outcome.edited));
    }
    if !outcome.conflicts.is_empty() {
        return Err(Error::Conflict(outcome.conflicts));
    }
    let plan = outcome.plan;
    if args.check && !plan.is_empty() {
        context.print(&plan.diff())?;
        let count = plan.changes().count();
        let files = if count == 1 {
            "1 file is".to_owned()
        } else {
            format!("{count} files are")
        };
        return Err(Error::Stale(files));
    }
    if args.dry_run {
        context.print(&plan.to_string())?;
    } else if !plan.is_empty() {
        plan.apply(&project.root)?;
        context.message(plan.to_string().trim_end())?;
    }
    // Samples are the user's. The other files are written nevertheless: a sample is changed to match the CRD that is written.
    let problems = outcome.problems;
    if !problems.is_empty() {
        let files = match (plan.is_empty(), args.dry_run) {
            (true, _) => "all other files are up to date",
            (false, true) => "nothing was written",
            (false, false) => "all other files were written",
        };
        return Err(Error::Samples { problems, files });
    }
    if plan.is_empty() {
        context.message("all files are up to date")?;
    }
    Ok(())
}
