//! Builds the operator with cargo and runs `<operator> manifests`.

mod attribute_help;
mod conversion_help;
mod environment;
mod kind_places;
mod source_paths;

use std::{
    collections::BTreeSet,
    env,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use cargo_metadata::{Message, Metadata, MetadataCommand, Package, PackageId};

use crate::{
    Context, Error, cli_version::CLI_VERSION, error::CargoError, manifests::Manifests, plan::IoError,
    project::Project,
};

/// Builds the operator and returns what `<operator> manifests` prints. The compiler's messages go to stderr as they
/// are printed.
pub fn manifests(context: &mut Context<'_>, project: &Project) -> Result<Manifests, Error> {
    let target = OperatorTarget::resolve(&context.cargo, project)?;
    let child = target.build_command(context.color).spawn();
    let built = run_command(context, child, &context.cargo.clone())?;
    if !built.succeeded {
        return Err(target.compile_error(&built).into());
    }
    let executable = target.executable(&built.stdout)?;
    let child = target.manifests_command(&executable).spawn();
    let printed = run_command(context, child, &executable)?;
    Ok(target.parse_manifests(&printed)?)
}

/// The operator's binary target in a project.
#[derive(Debug)]
pub struct OperatorTarget {
    cargo: PathBuf,
    root: PathBuf,
    manifest: PathBuf,
    binary: String,
    /// The operator's namespace.
    namespace: String,
    source_paths: BTreeSet<PathBuf>,
    crates: BTreeSet<PackageId>,
}

impl OperatorTarget {
    /// Resolves the target with `cargo metadata`. Fails if the version of the kubewright crate is not this command's.
    pub fn resolve(cargo: &Path, project: &Project) -> Result<Self, CargoError> {
        let metadata = metadata_command(cargo, project)
            .exec()
            .map_err(|error| metadata_error(cargo, error))?;
        Self::from_metadata(cargo, project, &metadata)
    }

    /// Returns the `cargo metadata` command, for callers that run it themselves: the first run downloads crates.
    pub fn metadata_command(cargo: &Path, project: &Project) -> Command {
        metadata_command(cargo, project).cargo_command()
    }

    /// Resolves the target from the output of [`OperatorTarget::metadata_command`], as [`OperatorTarget::resolve`] does.
    pub fn from_metadata_output(
        cargo: &Path,
        project: &Project,
        succeeded: bool,
        stdout: &str,
    ) -> Result<Self, CargoError> {
        if !succeeded {
            return Err(CargoError::Metadata(" (see above)".to_owned()));
        }
        let metadata = MetadataCommand::parse(stdout).map_err(|error| metadata_error(cargo, error))?;
        Self::from_metadata(cargo, project, &metadata)
    }

    fn from_metadata(cargo: &Path, project: &Project, metadata: &Metadata) -> Result<Self, CargoError> {
        let manifest = project.root.join("Cargo.toml");
        let package = find_package(metadata, &manifest)?;
        check_version(metadata, package)?;
        let binary = find_binary(package, &project.settings.name)?;
        let crates = source_paths::build_dependencies(metadata, &package.id);
        Ok(Self {
            cargo: cargo.to_owned(),
            root: project.root.clone(),
            source_paths: source_paths::source_paths(metadata, &crates),
            crates,
            manifest,
            binary,
            namespace: project.settings.namespace.clone(),
        })
    }

    /// Returns the local files and directories that the binary is built from; every file of a directory counts.
    pub fn source_paths(&self) -> impl Iterator<Item = &Path> {
        self.source_paths.iter().map(PathBuf::as_path)
    }

    /// Returns the operator's package and its dependencies, without those for tests. Features of dev-dependencies may add some that the
    /// operator does not need.
    pub fn crates(&self) -> &BTreeSet<PackageId> {
        &self.crates
    }

    /// Returns the build command, with both outputs piped.
    pub fn build_command(&self, color: bool) -> Command {
        let mut command = self.command(&self.cargo);
        environment::remove_variables_of_cargo_run(&mut command, env::vars_os().map(|(name, _)| name));
        command
            .args(["build", "--manifest-path"])
            .arg(&self.manifest)
            .args(["--bin", &self.binary])
            .args(["--message-format", "json-render-diagnostics"])
            .args(["--color", if color { "always" } else { "never" }]);
        command
    }

    /// Returns the error of a build that failed.
    pub fn compile_error(&self, built: &CommandOutput) -> CargoError {
        let mut help = attribute_help::attribute_help(&built.stderr);
        help.extend(conversion_help::conversion_help(&self.root, &built.stderr));
        CargoError::Compile { help }
    }

    /// Returns the path of the binary, from cargo's artifact messages.
    pub fn executable(&self, messages: &str) -> Result<PathBuf, CargoError> {
        let found = Message::parse_stream(messages.as_bytes())
            .filter_map(Result::ok)
            .find_map(|message| match message {
                Message::CompilerArtifact(artifact)
                    if artifact.target.is_bin() && artifact.target.name == self.binary =>
                {
                    artifact.executable.map(Into::into)
                }
                _ => None,
            });
        found.ok_or_else(|| CargoError::NoExecutable {
            name: self.binary.clone(),
        })
    }

    /// Returns the command `<operator> manifests`, with both outputs piped.
    pub fn manifests_command(&self, executable: &Path) -> Command {
        let mut command = self.command(executable);
        command.arg("manifests");
        command
    }

    /// Parses the output of [`OperatorTarget::manifests_command`].
    pub fn parse_manifests(&self, output: &CommandOutput) -> Result<Manifests, CargoError> {
        let name = self.binary.clone();
        if !output.succeeded {
            let wrote_stderr = !output.stderr.is_empty();
            let help = kind_places::find(&self.root, &output.stderr);
            return Err(CargoError::Manifests {
                wrote_stderr,
                name,
                help,
            });
        }
        let parsed = Manifests::parse(&output.stdout);
        let mut manifests = parsed.map_err(|message| CargoError::InvalidManifests { name, message })?;
        manifests.set_namespace(&self.namespace);
        Ok(manifests)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

fn metadata_command(cargo: &Path, project: &Project) -> MetadataCommand {
    let mut command = MetadataCommand::new();
    command
        .cargo_path(cargo)
        .current_dir(&project.root)
        .manifest_path(project.root.join("Cargo.toml"))
        // Without the dependencies of other platforms: they would be downloaded for nothing.
        .other_options(["--filter-platform".to_owned(), "host-tuple".to_owned()]);
    command
}

fn metadata_error(cargo: &Path, error: cargo_metadata::Error) -> CargoError {
    match error {
        cargo_metadata::Error::CargoMetadata { stderr } => CargoError::Metadata(format!(":\n{stderr}")),
        cargo_metadata::Error::Io(source) => CargoError::Spawn {
            cargo: cargo.to_owned(),
            source,
        },
        other => CargoError::Metadata(format!(":\n{other}")),
    }
}

fn find_package<'a>(metadata: &'a Metadata, manifest: &Path) -> Result<&'a Package, CargoError> {
    let same = |package: &&Package| {
        let found = package.manifest_path.as_std_path();
        found == manifest || found.canonicalize().ok() == manifest.canonicalize().ok()
    };
    metadata
        .packages
        .iter()
        .find(same)
        .ok_or_else(|| CargoError::NoPackage(manifest.to_owned()))
}

/// Checks that the crate has this command's version: scaffold, derive and manifest format match only within a version.
fn check_version(metadata: &Metadata, package: &Package) -> Result<(), CargoError> {
    let missing = || CargoError::MissingDependency {
        package: package.name.to_string(),
    };
    let resolve = metadata.resolve.as_ref().ok_or_else(missing)?;
    let node = resolve
        .nodes
        .iter()
        .find(|node| node.id == package.id)
        .ok_or_else(missing)?;
    let library = metadata
        .packages
        .iter()
        .find(|found| found.name.as_str() == "kubewright" && node.dependencies.contains(&found.id))
        .ok_or_else(missing)?;
    let library = library.version.to_string();
    if library == CLI_VERSION {
        Ok(())
    } else {
        Err(CargoError::VersionMismatch { library })
    }
}

fn find_binary(package: &Package, name: &str) -> Result<String, CargoError> {
    let binaries: Vec<_> = package
        .targets
        .iter()
        .filter(|target| target.is_bin())
        .map(|target| target.name.as_str())
        .collect();
    match binaries.as_slice() {
        [only] => Ok((*only).to_owned()),
        _ => package
            .default_run
            .as_deref()
            .or_else(|| binaries.contains(&name).then_some(name))
            .map(str::to_owned)
            .ok_or_else(|| CargoError::AmbiguousBinary {
                package: package.name.to_string(),
                binaries: binaries.join(", "),
                name: name.to_owned(),
            }),
    }
}

/// Exit status and output of a command.
#[derive(Debug)]
pub struct CommandOutput {
    /// Whether the exit status was success.
    pub succeeded: bool,
    /// The output on stdout.
    pub stdout: String,
    /// The output on stderr, which was printed.
    pub stderr: String,
}

/// Waits for a child process and copies its stderr to ours.
fn run_command(
    context: &mut Context<'_>,
    child: std::io::Result<Child>,
    program: &Path,
) -> Result<CommandOutput, Error> {
    let failed = |source| CargoError::Spawn {
        cargo: program.to_owned(),
        source,
    };
    let mut child = child.map_err(failed)?;
    let mut pipe = child.stdout.take();
    let mut stdout = String::new();
    let stderr = std::thread::scope(|scope| {
        // Read both pipes concurrently: the child would block on a full one.
        let reader = scope.spawn(|| {
            pipe.as_mut()
                .map_or(Ok(0), |pipe| pipe.read_to_string(&mut stdout))
        });
        let stderr = child.stderr.take().map_or(Ok(String::new()), |mut pipe| {
            copy_stream(&mut pipe, context.stderr)
        });
        match reader.join() {
            Ok(result) => result.and(stderr),
            Err(_) => stderr,
        }
    });
    let stderr = stderr.map_err(|source| IoError::new("read the output of", program, source))?;
    let succeeded = child.wait().map_err(failed)?.success();
    Ok(CommandOutput {
        succeeded,
        stdout,
        stderr,
    })
}

/// Copies a stream unbuffered, so that the progress of a long build shows. Returns what it copied.
fn copy_stream(from: &mut impl Read, to: &mut dyn Write) -> std::io::Result<String> {
    let mut buffer = [0; 4096];
    let mut copied = Vec::new();
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => return Ok(String::from_utf8_lossy(&copied).into_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            length => length?,
        };
        copied.extend_from_slice(&buffer[..length]);
        to.write_all(&buffer[..length])?;
        to.flush()?;
    }
}
