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
