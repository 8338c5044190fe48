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
#[path = "render_tests.rs"]
mod tests;
