//! `kubewright upgrade`: the project to this command's version of kubewright.
//!
//! `generate` merges the templates of managed files already; this command does it without building the operator, which does not compile with
//! two versions at once, and changes what `generate` does not: the versions in `Cargo.toml`, and code that a new version needs.

use cargo_metadata::semver::Version;
use kubewright_templates::{CargoToml, render};

use super::{leftover_names::package_steps, library_changes, requirements, upgrade_files};
use crate::{
    Context, Error, UpgradeError,
    args::Upgrade,
    cli_version::CLI_VERSION,
    doctor::toolchain,
    format::keep_formatted,
    generation::{self, Decisions},
    git::{self, TreeState},
    ownership::managed,
    plan::{Plan, slashed},
    project::Project,
    source,
    versions::in_file,
};

/// Crates of this project, which have one version.
const OWN_CRATES: [&str; 2] = ["kubewright", "kubewright-testkit"];

/// Crates that must have the versions that kubewright re-exports.
const SHARED_CRATES: [&str; 3] = ["k8s-openapi", "kube", "schemars"];

/// Plans all changes, then applies them.
pub fn run(args: &Upgrade, context: &mut Context<'_>) -> Result<(), Error> {
    let args = &args.merge;
    let project = Project::find(&context.cwd)?;
    if !args.write.allow_dirty {
        match git::tree_state(context, &project.root) {
            TreeState::Clean => {}
            TreeState::Dirty(files) => return Err(UpgradeError::Uncommitted(files).into()),
            TreeState::NoRepository => return Err(Error::NoRepository),
        }
    }
    let mut plan = Plan::default();
    let mut notes = Vec::new();
    let from = plan_versions(&mut plan, &project, &mut notes)?;
    if let Some(from) = &from {
        plan_code(&mut plan, &project, from, &mut notes, context)?;
    }
    let decisions = Decisions::of_arguments(&project, &context.cwd, &args.overwrite, &args.keep);
    let mut outcome = generation::plan_managed_after(plan, &project, &decisions)?;
    upgrade_files::plan_packages(&mut outcome, &project, &decisions, &mut notes)?;
    upgrade_files::plan_imports(&mut outcome, &project, &decisions, &mut notes, context)?;
    let old_toolchain = toolchain::old_pin(&project)?;
    notes.extend(old_toolchain.map(|fix| format!("note: {fix}")));
    if !outcome.conflicts.is_empty() {
        let conflicts = outcome.conflicts.into_iter();
        let by_this = conflicts.map(|conflict| conflict.by("kubewright upgrade"));
        return Err(Error::Conflict(by_this.collect()));
    }
    let plan = outcome.plan;
    if !args.write.allow_dirty {
        let untracked = git::untracked(context, &project.root, &plan.existing_files());
        if !untracked.is_empty() {
            return Err(UpgradeError::Uncommitted(untracked).into());
        }
    }
    if args.write.dry_run {
        if !plan.is_empty() {
            // The merge bases change as their files do.
            let diff = plan.diff_of(|path| !path.starts_with(managed::BASE));
            context.print(&format!("{plan}\n{diff}"))?;
        }
    } else if !plan.is_empty() {
        plan.apply(&project.root)?;
        context.message(plan.to_string().trim_end())?;
    }
    for note in &notes {
        context.message(note)?;
    }
    if plan.is_empty() {
        return context.message(format_args!(
            "the project is up to date with kubewright {CLI_VERSION}"
        ));
    }
    let mut packages = package_steps(&project)?;
    if !packages.is_empty() {
        packages.insert_str(
            0,
            "  git commit --all  # the next commands change files of this upgrade\n",
        );
    }
    context.message(format_args!(
        "\nnext:\n  cargo check\n  kubewright generate\n{packages}  cargo test"
    ))
}

/// Plans the versions in `Cargo.toml`. Returns the version from which the project is upgraded; none if it has no version of kubewright.
fn plan_versions(
    plan: &mut Plan,
    project: &Project,
    notes: &mut Vec<String>,
) -> Result<Option<Version>, Error> {
    let before = project.read("Cargo.toml")?.unwrap_or_default();
    let read = |text: &str| requirements::read(text).map_err(UpgradeError::CargoToml);
    let template = CargoToml {
        name: &project.settings.name,
        dependency: "\"1\"",
        testkit: "\"1\"",
    };
    let template = read(&render(&template)?)?;
    let shared = |name: &str| {
        let found = template.iter().find(|found| found.name == name)?;
        let version = found.version.as_ref()?.get_ref().clone();
        SHARED_CRATES.contains(&name).then_some(version)
    };
    let (mut from, mut is_found) = (None, false);
    let (mut edits, mut changes) = (Vec::new(), Vec::new());
    for found in read(&before)? {
        let is_own = OWN_CRATES.contains(&&*found.name);
        is_found |= found.name == OWN_CRATES[0];
        let Some(version) = &found.version else {
            if is_own {
                notes.push(format!(
                    "note: Cargo.toml has no version of {}: change it where its path, repository or workspace has it",
                    found.name
                ));
            }
            continue;
        };
        let old = version.get_ref();
        if found.name == OWN_CRATES[0] {
            from = Some(check_version(old)?);
        }
        let new = if is_own {
            // The command supports only its own version of the library.
            format!("={CLI_VERSION}")
        } else if let Some(new) = shared(&found.name) {
            new
        } else {
            continue;
        };
        if *old != new {
            changes.push(format!("{} {old} → {new}", found.name));
            edits.push((version.span(), new));
        }
    }
    if !is_found {
        return Err(UpgradeError::NoDependency.into());
    }
    // A library from a path or repository has the versions that it has.
    if from.is_some() {
        let after = requirements::replace(&before, edits);
        plan.write_with_notes("Cargo.toml", Some(before), after, vec![changes.join(", ")]);
    }
    Ok(from)
}

/// Returns the version of a requirement, which this command must not be older than.
fn check_version(requirement: &str) -> Result<Version, UpgradeError> {
    let text = requirement.trim_start_matches(['=', '^', '~', ' ']);
    let version = Version::parse(text).map_err(|_| UpgradeError::Requirement(requirement.to_owned()))?;
    let newest = Version::parse(CLI_VERSION);
    if newest.is_ok_and(|newest| version > newest) {
        return Err(UpgradeError::Newer(version.to_string()));
    }
    Ok(version)
}

/// Plans the changes of the code, and notes those that the user must make.
fn plan_code(
    plan: &mut Plan,
    project: &Project,
    from: &Version,
    notes: &mut Vec<String>,
    context: &Context<'_>,
) -> Result<(), Error> {
    let Ok(to) = Version::parse(CLI_VERSION) else {
        return Ok(());
    };
    for path in source::package_files(&project.root)? {
        let before = project.read(&path)?.unwrap_or_default();
        let changed = library_changes::apply(&before, from, &to).map_err(|error| in_file(&path, error))?;
        for (line, advice) in changed.undecided {
            notes.push(format!("{}:{line}: {advice}", slashed(&path)));
        }
        if changed.text == before {
            continue;
        }
        let summary = vec![changed.notes.join(", ")];
        let text = keep_formatted(context, &before, changed.text)?;
        plan.write_with_notes(path, Some(before), text, summary);
    }
    Ok(())
}
