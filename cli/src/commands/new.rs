//! `kubewright new`: creates a project with a working operator.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cargo_metadata::semver::Version;
use kubewright_templates::{
    ApiRoot, CargoToml, ControllersRoot, Dockerignore, Gitignore, LibRs, MainRs, ProjectFile, Readme,
    RenderError, render,
};

use super::kind_files::NewKind;
use crate::{
    Context, Error,
    args::{Dev, New},
    format,
    generation::ManagedFiles,
    git,
    ownership::managed,
    plan::{IoError, Plan},
};

const CLI_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Creates the project.
pub fn run(args: &New, context: &mut Context<'_>) -> Result<(), Error> {
    let display_path = &args.path.path;
    let folder = context.cwd.join(display_path);
    check_folder(&folder, display_path)?;
    let dependency = Dependency::choose(args.kubewright_version.as_ref());
    let plan = plan(args, &dependency, context)?;
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
    if let Dependency::Path(path) = &dependency {
        context.message(format_args!(
            "note: the project uses the kubewright crate at {}, from which this command was built; to build a container \
             image, depend on the published version",
            path.join("runtime").display()
        ))?;
    }
    if let Some(workspace) = surrounding_workspace(&folder) {
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
        "\nnext:\n  cd {}\n  cargo test            # test the operator against an in-process API server\n  kubewright dev        \
         # run it against an in-memory API server",
        display_path.display()
    ))
}

/// Plans all files of a new project.
fn plan(args: &New, dependency: &Dependency, context: &Context<'_>) -> Result<Plan, RenderError> {
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
        module,
        plural: &args.kind.plural(),
        namespaced: !args.cluster_scoped,
    };
    let group = args.group.as_str();
    let others = [
        (
            "Cargo.toml",
            render(&CargoToml {
                name,
                dependency,
                testkit,
            })?,
        ),
        ("kubewright.toml", render(&ProjectFile { name, group })?),
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
    let managed = ManagedFiles {
        name,
        namespace: &format!("{name}-system"),
        watched: &[],
    };

    let mut plan = Plan::default();
    for (path, text) in paths
        .into_iter()
        .zip(format::format_rust(context, &texts))
        .chain(others)
    {
        plan.write(path, None, text);
    }
    for (path, text) in files {
        plan.write(path, None, text);
    }
    for (path, text) in managed.render()? {
        plan.write(Path::new(managed::BASE).join(&path), None, text.clone());
        plan.write(path, None, text);
    }
    Ok(plan)
}

/// How the project depends on the kubewright crate.
enum Dependency {
    /// On the source workspace that this command was built from.
    Path(PathBuf),
    /// On a published version.
    Version(String),
}

impl Dependency {
    /// Chooses the requested version; otherwise the source workspace if it exists and has this command's version;
    /// otherwise the published version of this command.
    fn choose(version: Option<&Version>) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        match (version, source) {
            (Some(version), _) => Self::Version(version.to_string()),
            (None, Some(path)) if is_source(path) => Self::Path(path.to_owned()),
            (None, _) => Self::Version(CLI_VERSION.to_owned()),
        }
    }

    /// Returns the TOML value of the dependency on the package in that folder of the workspace.
    fn to_toml(&self, folder: &str) -> String {
        match self {
            Self::Path(workspace) => {
                let path = slashed_absolute(&workspace.join(folder));
                format!("{{ path = {} }}", toml::Value::String(path))
            }
            // The command supports only its own version of the crate.
            Self::Version(version) => toml::Value::String(format!("={version}")).to_string(),
        }
    }
}

/// Whether `workspace` contains the kubewright crate in this command's version.
fn is_source(workspace: &Path) -> bool {
    let table = |path: PathBuf| fs::read_to_string(path).ok()?.parse::<toml::Table>().ok();
    let workspace_version = || {
        let table = table(workspace.join("Cargo.toml"))?;
        Some(table.get("workspace")?.get("package")?.get("version")?.as_str()? == CLI_VERSION)
    };
    let name = || {
        let table = table(workspace.join("runtime/Cargo.toml"))?;
        Some(table.get("package")?.get("name")?.as_str()? == "kubewright")
    };
    name() == Some(true) && workspace_version() == Some(true)
}

fn slashed_absolute(path: &Path) -> String {
    path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
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
