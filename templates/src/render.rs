//! From a typed context to a text.

use handlebars::{Handlebars, no_escape};
use include_dir::{Dir, include_dir};
use serde::Serialize;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/files");

/// A template: its context is the type itself.
pub trait Template: Serialize {
    /// The template's place under `files/`.
    const SOURCE: &'static str;
}

/// A template of ours is wrong. Its message names the template and the place.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// No such file was embedded.
    #[error("template {0} is not embedded")]
    Missing(&'static str),
    /// Handlebars refuses the template, or the context lacks a name that it uses.
    #[error("template {name} does not render: {source}")]
    Render {
        /// The template.
        name: &'static str,
        /// What handlebars says.
        source: Box<handlebars::RenderError>,
    },
}

/// The text of the file.
pub fn render<T: Template>(context: &T) -> Result<String, RenderError> {
    let name = T::SOURCE;
    let source = FILES
        .get_file(name)
        .and_then(include_dir::File::contents_utf8)
        .ok_or(RenderError::Missing(name))?;
    let mut handlebars = Handlebars::new();
    handlebars.set_strict_mode(true);
    handlebars.register_escape_fn(no_escape);
    handlebars
        .render_template(source, context)
        .map_err(|source| RenderError::Render {
            name,
            source: Box::new(source),
        })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        ApiModule, ApiRoot, CargoToml, Ci, Controller, ControllerTest, ControllersRoot, DeployKustomization,
        Dockerfile, Dockerignore, Gitignore, LibRs, MainRs, OperatorManifest, ProjectFile, Readme, Sample,
    };

    fn embedded(folder: &Dir<'_>, names: &mut BTreeSet<String>) {
        names.extend(folder.files().map(|file| file.path().display().to_string()));
        folder.dirs().for_each(|below| embedded(below, names));
    }

    #[test]
    fn every_file_has_its_context() {
        let mut names = BTreeSet::new();
        embedded(&FILES, &mut names);
        let sources = [
            ApiModule::SOURCE,
            ApiRoot::SOURCE,
            CargoToml::SOURCE,
            Ci::SOURCE,
            Controller::SOURCE,
            ControllerTest::SOURCE,
            ControllersRoot::SOURCE,
            DeployKustomization::SOURCE,
            Dockerfile::SOURCE,
            Dockerignore::SOURCE,
            Gitignore::SOURCE,
            LibRs::SOURCE,
            MainRs::SOURCE,
            OperatorManifest::SOURCE,
            ProjectFile::SOURCE,
            Readme::SOURCE,
            Sample::SOURCE,
        ];
        assert_eq!(names, sources.iter().map(ToString::to_string).collect());
    }

    #[test]
    fn nothing_is_escaped_and_actions_keep_their_braces() {
        let ci = render(&Ci {
            kubewright_version: "<1>",
        })
        .unwrap();
        assert!(
            ci.contains("--version <1>") && ci.contains("${{ runner.os }}"),
            "{ci}"
        );
    }

    #[test]
    fn a_name_that_the_context_lacks_is_an_error() {
        #[derive(Serialize)]
        struct Nothing {}
        impl Template for Nothing {
            const SOURCE: &'static str = Dockerfile::SOURCE;
        }
        let error = render(&Nothing {}).unwrap_err();
        assert!(error.to_string().contains("project/Dockerfile.hbs"), "{error}");
    }
}
