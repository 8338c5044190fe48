//! The formats of packages, and the plan of each.

use std::path::Path;

use super::{
    build::{self, ManifestObject, ProjectFiles},
    bundle::{self, Bundle},
    chart::{self, Chart},
    files::{self, PackageFiles},
    install,
    operator::OperatorContainer,
    package,
};
use crate::{
    Error,
    args::ChartCrds,
    error::PackageError,
    generation::Decisions,
    ownership::{generated, managed},
    plan::{self, IoError},
    project::Project,
};

const INSTALL: &str = "kubewright package install";
/// The option of [`INSTALL`], which the file's header records.
const IMAGE: &str = " --image ";

/// A format, with the options that change a package's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageFormat {
    /// One file for kubectl.
    Install {
        /// The operator's image, in place of that in the manifests.
        image: Option<String>,
    },
    /// A Helm chart.
    Helm {
        /// Where the CRDs are; where the chart has them by default.
        crds: Option<ChartCrds>,
    },
    /// A bundle for OLM.
    Bundle,
}

impl PackageFormat {
    /// Returns the formats of the packages that a project has. A package that `kubewright package` did not write is the user's own.
    pub fn existing(root: &Path) -> Result<Vec<Self>, IoError> {
        let text = plan::read(&root.join(install::PATH))?.unwrap_or_default();
        let options = generated::command(&text).and_then(|command| command.strip_prefix(INSTALL));
        let install = options.map(|options| Self::Install {
            image: options.strip_prefix(IMAGE).map(str::to_owned),
        });
        let is_managed =
            |path: &str| root.join(path).exists() && root.join(managed::BASE).join(path).exists();
        let helm = is_managed(chart::FILE).then_some(Self::Helm { crds: None });
        let bundle = is_managed(bundle::ANNOTATIONS).then_some(Self::Bundle);
        Ok(install.into_iter().chain(helm).chain(bundle).collect())
    }

    /// Returns the file or folder of the package.
    pub fn path(&self) -> &'static str {
        match self {
            Self::Install { .. } => install::PATH,
            Self::Helm { .. } => chart::FOLDER,
            Self::Bundle => bundle::FOLDER,
        }
    }

    /// Returns the command that writes the package.
    pub fn command(&self) -> String {
        match self {
            Self::Install { image: Some(image) } => format!("{INSTALL}{IMAGE}{image}"),
            Self::Install { image: None } => INSTALL.to_owned(),
            Self::Helm { .. } => "kubewright package helm".to_owned(),
            Self::Bundle => "kubewright package bundle".to_owned(),
        }
    }

    /// Plans the files of a package of these objects.
    pub fn plan(
        &self,
        project: &Project,
        objects: &[ManifestObject],
        decisions: &Decisions,
    ) -> Result<PackageFiles, Error> {
        let (root, settings) = (&project.root, &project.settings);
        let command = self.command();
        if let Self::Install { image } = self {
            let mut objects = objects.to_vec();
            if let Some(image) = image {
                OperatorContainer::find(&objects, &settings.name)?.set_image(&mut objects, image);
            }
            let warnings = install::warnings(&objects);
            let text = install::text(objects)?;
            let mut files =
                files::plan_generated(root, &command, Path::new(install::PATH), &text, decisions)?;
            files.warnings = warnings;
            return Ok(files);
        }
        let operator = OperatorContainer::find(objects, &settings.name)?;
        let package = &package(root)?;
        let (renderings, warnings) = if let Self::Helm { crds } = *self {
            let base = root.join(managed::BASE).join(chart::CRDS_FOLDER);
            let present = if plan::files(&base)?.is_empty() {
                ChartCrds::Templates
            } else {
                ChartCrds::Folder
            };
            let chart = Chart {
                objects,
                operator,
                settings,
                package,
                crds: crds.unwrap_or(present),
            };
            (chart.files()?, chart.warnings())
        } else {
            let bundle = Bundle {
                objects,
                operator,
                settings,
                package,
            };
            let mut warnings = Vec::new();
            (bundle.files(root, &mut warnings)?, warnings)
        };
        let mut files = files::plan_managed(root, &command, Path::new(self.path()), &renderings, decisions)?;
        files.warnings.extend(warnings);
        Ok(files)
    }
}

/// A package that a project has, and its plan.
pub type PlannedPackage = (PackageFormat, Result<PackageFiles, PackageError>);

/// Plans the packages that a project has, of its manifests in these files. A format may not be able to express the manifests.
pub fn plan_existing(
    project: &Project,
    files: ProjectFiles<'_>,
    decisions: &Decisions,
) -> Result<Vec<PlannedPackage>, Error> {
    let formats = PackageFormat::existing(&project.root)?;
    if formats.is_empty() {
        return Ok(Vec::new());
    }
    let objects = build::build(files)?;
    let plan = |format: PackageFormat| match format.plan(project, &objects, decisions) {
        Err(Error::Package(error)) => Ok((format, Err(error))),
        files => Ok((format, Ok(files?))),
    };
    formats.into_iter().map(plan).collect()
}
