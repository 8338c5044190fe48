//! Renders templates.

use handlebars::{Handlebars, no_escape};
use include_dir::{Dir, include_dir};
use serde::Serialize;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/files");

/// A template; the implementing type is its context.
pub trait Template: Serialize {
    /// The template's path below `files/`.
    const SOURCE: &'static str;
}

/// A template cannot be rendered: a bug of this crate. The message names the template and the position.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The file is not embedded.
    #[error("template {0} is not embedded")]
    Missing(&'static str),
    /// The template is invalid, or uses a name that the context lacks.
    #[error("cannot render template {name}: {source}")]
    Render {
        /// The template.
        name: &'static str,
        /// The error of handlebars.
        source: Box<handlebars::RenderError>,
    },
}

/// Renders the context's template.
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
    fn every_template_has_a_context() {
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
    fn nothing_is_escaped_and_escaped_braces_are_kept() {
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
    fn missing_context_names_are_errors() {
        #[derive(Serialize)]
        struct Nothing {}
        impl Template for Nothing {
            const SOURCE: &'static str = Dockerfile::SOURCE;
        }
        let error = render(&Nothing {}).unwrap_err();
        assert!(error.to_string().contains("project/Dockerfile.hbs"), "{error}");
    }
}
