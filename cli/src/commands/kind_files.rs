//! The files of one kind, as `new` and `add kind` write them.

use std::path::PathBuf;

use kubewright_templates::{ApiModule, Controller, ControllerTest, Sample, render};

use crate::{
    Context, Error, format,
    names::{ApiVersion, Group, KindName},
};

/// Returns a note for the user if Kubernetes has a resource of the kind's name.
pub(super) fn built_in_note(kind: &KindName, group: &Group) -> Option<String> {
    let built_in = kind.built_in_resource()?;
    let resource = kind.kubectl_resource(group);
    Some(format!(
        "note: Kubernetes has the resource {built_in}, too: write {resource} for kubectl"
    ))
}

/// The names from which a kind's files are rendered.
pub(super) struct NewKind<'a> {
    /// The crate name in Rust code.
    pub(super) crate_name: &'a str,
    pub(super) kind: &'a KindName,
    pub(super) group: &'a Group,
    pub(super) version: &'a ApiVersion,
    pub(super) namespaced: bool,
}

impl NewKind<'_> {
    /// Returns the path of the file with the kind's struct.
    pub(super) fn api_path(&self) -> PathBuf {
        format!("src/api/{}.rs", self.kind.snake()).into()
    }

    /// Renders all files of the kind, formatted.
    pub(super) fn files(&self, context: &Context<'_>) -> Result<Vec<(PathBuf, String)>, Error> {
        let (group, version) = (self.group.as_str(), self.version.as_str());
        let (kind, snake) = (self.kind.as_str(), self.kind.snake());
        let (lower, plural) = (&*self.kind.lower(), &*self.kind.plural());
        let namespaced = self.namespaced;
        let api = render(&ApiModule {
            group,
            version,
            kind,
            resource: &self.kind.kubectl_resource(self.group),
            namespaced,
        })?;
        let controller = render(&Controller {
            kind,
            lower,
            snake,
            snakes: &self.kind.snake_plural(),
            namespaced,
        })?;
        let test = render(&ControllerTest {
            crate_name: self.crate_name,
            kind,
            plural,
            namespaced,
        })?;
        let sample = render(&Sample {
            group,
            version,
            kind,
            lower,
            namespaced,
        })?;
        let paths = [
            self.api_path(),
            format!("src/controllers/{snake}.rs").into(),
            format!("tests/{snake}.rs").into(),
        ];
        let mut files: Vec<_> = paths
            .into_iter()
            .zip(format::format_rust(context, &[api, controller, test])?)
            .collect();
        files.push((format!("manifests/samples/{snake}.yaml").into(), sample));
        Ok(files)
    }
}
