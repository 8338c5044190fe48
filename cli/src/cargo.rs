//! What cargo tells of the operator's crate, and what the operator tells of itself.

mod local;

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use cargo_metadata::{Message, Metadata, MetadataCommand, Package};

use crate::{Context, Error, exit, manifests::Manifests, plan::IoError, project::Project};

const OURS: &str = env!("CARGO_PKG_VERSION");

/// The operator does not build, or does not answer.
#[derive(Debug, thiserror::Error)]
pub enum CargoError {
    /// A program does not start.
    #[error("cannot run {}: {source}; is Rust installed? CARGO may name another cargo", .cargo.display())]
    NoCargo {
        /// What was called.
        cargo: PathBuf,
        /// Why that failed.
        source: std::io::Error,
    },
    /// Cargo does not understand the project.
    #[error("cargo cannot read the project{0}")]
    Metadata(String),
    /// The project's folder holds no package.
    #[error("{} defines no package: a project's kubewright.toml stands beside the Cargo.toml of its operator", .0.display())]
    NoPackage(PathBuf),
    /// The package depends on no kubewright.
    #[error("{package} does not depend on kubewright: `cargo add kubewright@{OURS}`")]
    NoLibrary {
        /// The package.
        package: String,
    },
    /// Library and command differ.
    #[error(
        "the project uses version {library} of the library kubewright, and this command is version {OURS}: \
         install the command for it, `cargo install kubewright-cli --version {library}`, or move the project to this \
         version, `cargo add kubewright@{OURS}`"
    )]
    Version {
        /// The library's.
        library: String,
    },
    /// Several binaries, none of them called like the operator.
    #[error(
        "{package} has the binaries {binaries}, and none is called {name}: say `default-run` in Cargo.toml"
    )]
    Binary {
        /// The package.
        package: String,
        /// Its binaries.
        binaries: String,
        /// The operator.
        name: String,
    },
    /// Cargo built something else.
    #[error("cargo build does not say where it put the binary {name}; nothing was written")]
    NoExecutable {
        /// The binary.
        name: String,
    },
    /// The compiler has said why.
    #[error("the operator does not compile (see above); nothing was written")]
    Compile,
    /// The operator has said why, as a rule.
    #[error("`{name} manifests` failed{}; nothing was written", if *.said { " (see above)" } else { "" })]
    Manifests {
        /// Whether it said something.
        said: bool,
        /// The binary.
        name: String,
    },
    /// The operator's answer is not readable.
    #[error(
        "`{name} manifests` printed what this command does not understand: {message}; nothing was written"
    )]
    Answer {
        /// The binary.
        name: String,
        /// What is wrong with it.
        message: String,
    },
}

impl CargoError {
    /// The exit code that stands for it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoCargo { .. } | Self::NoPackage(_) | Self::NoLibrary { .. } | Self::Version { .. } => {
                exit::PROJECT
            }
            Self::Metadata(_) | Self::Binary { .. } | Self::NoExecutable { .. } | Self::Compile => {
                exit::COMPILE
            }
            Self::Manifests { .. } | Self::Answer { .. } => exit::MANIFESTS,
        }
    }
}

/// Builds the operator and asks it for its manifests. The compiler's messages go to stderr as they come.
pub fn manifests(context: &mut Context<'_>, project: &Project) -> Result<Manifests, Error> {
    let target = Target::of(&context.cargo, project)?;
    let compiling = target.build(context.color).spawn();
    let built = finish(context, compiling, &context.cargo.clone())?;
    if !built.succeeded {
        return Err(CargoError::Compile.into());
    }
    let executable = target.executable(&built.stdout)?;
    let asking = target.ask(&executable).spawn();
    let answered = finish(context, asking, &executable)?;
    Ok(target.answer(answered.succeeded, answered.said, &answered.stdout)?)
}

/// What is built of a project: the operator's binary.
#[derive(Debug)]
pub struct Target {
    cargo: PathBuf,
    root: PathBuf,
    manifest: PathBuf,
    binary: String,
    sources: BTreeSet<PathBuf>,
}

impl Target {
    /// The project's, if its library fits this command.
    pub fn of(cargo: &Path, project: &Project) -> Result<Self, CargoError> {
        let metadata = question(cargo, project)
            .exec()
            .map_err(|error| unread(cargo, error))?;
        Self::read(cargo, project, &metadata)
    }

    /// How cargo is asked for what it is, for those who do not want to wait for the answer here: the first one takes downloads.
    pub fn question(cargo: &Path, project: &Project) -> Command {
        question(cargo, project).cargo_command()
    }

    /// The same as [`Target::of`] from what cargo answered to [`Target::question`].
    pub fn of_answer(
        cargo: &Path,
        project: &Project,
        succeeded: bool,
        stdout: &str,
    ) -> Result<Self, CargoError> {
        if !succeeded {
            return Err(CargoError::Metadata(" (see above)".to_owned()));
        }
        let metadata = MetadataCommand::parse(stdout).map_err(|error| unread(cargo, error))?;
        Self::read(cargo, project, &metadata)
    }

    fn read(cargo: &Path, project: &Project, metadata: &Metadata) -> Result<Self, CargoError> {
        let manifest = project.root.join("Cargo.toml");
        let package = package(metadata, &manifest)?;
        check_version(metadata, package)?;
        let binary = binary(package, &project.settings.name)?;
        Ok(Self {
            cargo: cargo.to_owned(),
            root: project.root.clone(),
            sources: local::sources(metadata, &package.id),
            manifest,
            binary,
        })
    }

    /// The files of which it is built, and the folders of which every file matters, as far as they are written on this machine.
    pub fn sources(&self) -> impl Iterator<Item = &Path> {
        self.sources.iter().map(PathBuf::as_path)
    }

    /// How it is built, with both outputs piped.
    pub fn build(&self, color: bool) -> Command {
        let mut command = self.command(&self.cargo);
        command
            .args(["build", "--manifest-path"])
            .arg(&self.manifest)
            .args(["--bin", &self.binary])
            .args(["--message-format", "json-render-diagnostics"])
            .args(["--color", if color { "always" } else { "never" }]);
        command
    }

    /// Where cargo put the binary, by what it says of its artifacts.
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

    /// How it is asked for its manifests, with both outputs piped.
    pub fn ask(&self, executable: &Path) -> Command {
        let mut command = self.command(executable);
        command.arg("manifests");
        command
    }

    /// What it answered.
    pub fn answer(&self, succeeded: bool, said: bool, stdout: &str) -> Result<Manifests, CargoError> {
        let name = self.binary.clone();
        if !succeeded {
            return Err(CargoError::Manifests { said, name });
        }
        Manifests::parse(stdout).map_err(|message| CargoError::Answer { name, message })
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

fn question(cargo: &Path, project: &Project) -> MetadataCommand {
    let mut question = MetadataCommand::new();
    question
        .cargo_path(cargo)
        .current_dir(&project.root)
        .manifest_path(project.root.join("Cargo.toml"))
        // What other platforms alone need is neither built nor downloaded.
        .other_options(["--filter-platform".to_owned(), "host-tuple".to_owned()]);
    question
}

fn unread(cargo: &Path, error: cargo_metadata::Error) -> CargoError {
    match error {
        cargo_metadata::Error::CargoMetadata { stderr } => CargoError::Metadata(format!(":\n{stderr}")),
        cargo_metadata::Error::Io(source) => CargoError::NoCargo {
            cargo: cargo.to_owned(),
            source,
        },
        other => CargoError::Metadata(format!(":\n{other}")),
    }
}

fn package<'a>(metadata: &'a Metadata, manifest: &Path) -> Result<&'a Package, CargoError> {
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

/// The scaffold, the derive and the manifests are made for each other: their versions are one.
fn check_version(metadata: &Metadata, package: &Package) -> Result<(), CargoError> {
    let missing = || CargoError::NoLibrary {
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
    if library == OURS {
        Ok(())
    } else {
        Err(CargoError::Version { library })
    }
}

fn binary(package: &Package, name: &str) -> Result<String, CargoError> {
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
            .ok_or_else(|| CargoError::Binary {
                package: package.name.to_string(),
                binaries: binaries.join(", "),
                name: name.to_owned(),
            }),
    }
}

/// How a child ended.
struct Finished {
    succeeded: bool,
    /// Whether it wrote to stderr.
    said: bool,
    stdout: String,
}

/// Waits for a child, and passes on what it says.
fn finish(
    context: &mut Context<'_>,
    child: std::io::Result<Child>,
    program: &Path,
) -> Result<Finished, Error> {
    let failed = |source| CargoError::NoCargo {
        cargo: program.to_owned(),
        source,
    };
    let mut child = child.map_err(failed)?;
    let mut pipe = child.stdout.take();
    let mut stdout = String::new();
    let said = std::thread::scope(|scope| {
        // Both pipes are read at once: neither may fill up.
        let reader = scope.spawn(|| {
            pipe.as_mut()
                .map_or(Ok(0), |pipe| pipe.read_to_string(&mut stdout))
        });
        let said = child
            .stderr
            .take()
            .map_or(Ok(false), |mut pipe| copy(&mut pipe, context.stderr));
        match reader.join() {
            Ok(result) => result.and(said),
            Err(_) => said,
        }
    });
    let said = said.map_err(|source| IoError::new("read the output of", program, source))?;
    let succeeded = child.wait().map_err(failed)?.success();
    Ok(Finished {
        succeeded,
        said,
        stdout,
    })
}

/// Copies as it comes: a first build takes a while, and its progress is worth seeing.
fn copy(from: &mut impl Read, to: &mut dyn Write) -> std::io::Result<bool> {
    let mut buffer = [0; 4096];
    let mut any = false;
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => return Ok(any),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            length => length?,
        };
        any = true;
        to.write_all(&buffer[..length])?;
        to.flush()?;
    }
}
