//! `kubewright new`: creates a project with a working operator.

use std::{
    fs,
    path::{Path, PathBuf},
};

use kubewright_templates::{
    ApiRoot, CargoToml, ControllersRoot, Dockerignore, Gitignore, LibRs, MainRs, OperatorManifests,
    ProjectFile, Readme, RustToolchain, render,
};
use serde_json::Value;

use super::{
    dependency::Dependency,
    kind_files::{NewKind, built_in_note},
};
use crate::{
    Context, Error,
    args::{Dev, New},
    format,
    generation::{self, Decisions},
    git,
    manifests::Manifests,
    plan::{IoError, Plan},
    project::{self, Project},
};

/// Creates the project.
pub fn run(args: &New, context: &mut Context<'_>) -> Result<(), Error> {
    let display_path = &args.path.path;
    let folder = context.cwd.join(display_path);
    check_folder(&folder, display_path)?;
    let dependency = Dependency::choose(args.kubewright_version.as_ref());
    let plan = plan(args, &folder, &dependency, context)?;
    if args.dry_run {
        return context.print(&plan.to_string());
    }
    plan.apply(&folder)?;

    let count = plan.changes().count();
    context.message(format_args!(
        "created {} with {count} files",
        display_path.display()
    ))?;
    if let git::InitOutcome::GitUnavailable = git::init(context, &folder) {
        context.message("note: git is not available: the directory is not a repository yet")?;
    }
    let workspace = surrounding_workspace(&folder);
    // A member of a workspace has no lock file of its own.
    if workspace.is_none()
        && let Err(reason) = dependency.lock(context, &folder)
    {
        context.message(format_args!(
            "note: cargo did not write a complete Cargo.lock ({reason}): the next `cargo build` does; commit it for the container image"
        ))?;
    }
    if let Some(note) = built_in_note(&args.kind, &args.group) {
        context.message(note)?;
    }
    if let Dependency::Path(path) = &dependency {
        context.message(format_args!(
            "note: the project uses the kubewright crate at {}, from which this command was built; a container image or a CI runner \
             does not have that folder: depend on the published version for them",
            path.join("runtime").display()
        ))?;
    }
    if let Some(workspace) = workspace {
        context.message(format_args!(
            "note: the project is inside the workspace of {}: add it to `members` or `exclude` there",
            workspace.display()
        ))?;
    }
    if args.dev {
        // Paths are shown without the `..` of `new ../shop`.
        context.cwd = fs::canonicalize(&folder).unwrap_or(folder);
        return super::dev::run(&Dev::default(), context);
    }
    context.message(format_args!(
        "\nnext:\n  cd {}\n  cargo test            # test the operator against an in-process API server",
        shell_word(display_path)
    ))?;
    if let Dependency::Path(path) = &dependency {
        context.message(format_args!(
            "  cargo install --locked --path {}   # once: installs the command kubewright",
            shell_word(&path.join("cli"))
        ))?;
    }
    context.message("  kubewright dev        # run it against an in-memory API server")
}

/// Returns a path as a word of a command: in quotes if it has a space.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    if text.contains(' ') {
        format!("'{}'", text.replace('\'', "'\\''"))
    } else {
        text
    }
}

/// Plans all files of a new project, also those that `kubewright generate` writes: they must not be stale.
fn plan(args: &New, folder: &Path, dependency: &Dependency, context: &Context<'_>) -> Result<Plan, Error> {
    let (plan, settings) = plan_user_files(args, dependency, context)?;
    let project = Project {
        root: folder.to_owned(),
        settings: project::parse(Path::new(project::FILE), &settings)?,
    };
    let outcome = generation::plan_after(plan, &project, &manifests(args)?, &Decisions::default())?;
    Ok(outcome.plan)
}

/// Returns what the new project's operator would print as its manifests, without building it.
fn manifests(args: &New) -> Result<Manifests, Error> {
    let kind = &args.kind;
    let text = render(&OperatorManifests {
        name: args.path.name.as_str(),
        group: args.group.as_str(),
        version: args.api_version.as_str(),
        kind: kind.as_str(),
        lower: &kind.lower(),
        plural: &kind.plural(),
    })?;
    let scope = if args.cluster_scoped {
        "cluster"
    } else {
        "namespaced"
    };
    let manifests = serde_json::from_str::<Value>(&text).map_err(|error| error.to_string());
    manifests
        .and_then(|mut scopes| Manifests::from_json(scopes[scope].take()))
        .map_err(Error::ScaffoldManifests)
}

/// Plans the files that belong to the user. Returns the text of the project file, too.
fn plan_user_files(
    args: &New,
    dependency: &Dependency,
    context: &Context<'_>,
) -> Result<(Plan, String), Error> {
    let (name, kind) = (args.path.name.as_str(), args.kind.as_str());
    let (crate_name, module) = (&*args.path.name.crate_name(), args.kind.snake());
    let (dependency, testkit) = (&dependency.to_toml("runtime"), &dependency.to_toml("testkit"));
    let rust = [
        (
            "src/main.rs",
            render(&MainRs {
                name,
                crate_name,
                kind,
            })?,
        ),
        ("src/lib.rs", render(&LibRs { name })?),
        ("src/api/mod.rs", render(&ApiRoot { module })?),
        (
            "src/controllers/mod.rs",
            render(&ControllersRoot { module, kind })?,
        ),
    ];
    let (paths, texts): (Vec<_>, Vec<_>) = rust.into_iter().unzip();
    let readme = Readme {
        name,
        kind,
        lower: &args.kind.lower(),
        module,
        resource: &args.kind.kubectl_resource(&args.group),
        namespaced: !args.cluster_scoped,
    };
    let group = args.group.as_str();
    let settings = render(&ProjectFile { name, group })?;
    let others = [
        (
            "Cargo.toml",
            render(&CargoToml {
                name,
                dependency,
                testkit,
            })?,
        ),
        (project::FILE, settings.clone()),
        ("rust-toolchain.toml", render(&RustToolchain {})?),
        (".gitignore", render(&Gitignore {})?),
        (".dockerignore", render(&Dockerignore {})?),
        ("README.md", render(&readme)?),
    ];
    let files = NewKind {
        crate_name,
        kind: &args.kind,
        group: &args.group,
        version: &args.api_version,
        namespaced: !args.cluster_scoped,
    }
    .files(context)?;

    let mut plan = Plan::default();
    for (path, text) in paths
        .into_iter()
        .zip(format::format_rust(context, &texts)?)
        .chain(others)
    {
        plan.write(path, None, text);
    }
    for (path, text) in files {
        plan.write(path, None, text);
    }
    Ok((plan, settings))
}

fn check_folder(folder: &Path, display_path: &Path) -> Result<(), Error> {
    match fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(Error::NotEmpty(display_path.to_owned())),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            Err(Error::NotADirectory(display_path.to_owned()))
        }
        Err(source) => Err(IoError::new("read", display_path, source).into()),
    }
}

/// Returns the manifest of the enclosing workspace, which would claim the project as a member. `folder` must exist.
fn surrounding_workspace(folder: &Path) -> Option<PathBuf> {
    // Resolve `..`: a sibling of a workspace is not inside it.
    let folder = fs::canonicalize(folder).ok()?;
    folder
        .ancestors()
        .skip(1)
        .map(|above| above.join("Cargo.toml"))
        .find(|path| {
            let text = fs::read_to_string(path).unwrap_or_default();
            text.parse::<toml::Table>()
                .is_ok_and(|table| table.contains_key("workspace"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_spaces_are_quoted_for_the_shell() {
        for (path, word) in [
            ("../shop", "../shop"),
            ("my projects/shop", "'my projects/shop'"),
            ("Ann's projects/shop", r"'Ann'\''s projects/shop'"),
        ] {
            assert_eq!(shell_word(Path::new(path)), word);
        }
    }
}
