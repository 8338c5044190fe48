//! `patches` of a kustomization: strategic merge patches and JSON patches, in files or in the kustomization itself.

use std::path::PathBuf;

use kubewright_apimachinery::{
    patch::{self, Decoding, PatchError, Patched},
    types,
};
use regex::Regex;
use serde_json::Value;

use super::build::{Kustomization, ManifestObject, ProjectFiles, invalid_yaml};
use crate::{
    Error,
    error::PackageError,
    yaml::{self, Document},
};

/// Applies all patches, in their order.
pub(super) fn apply(
    files: ProjectFiles<'_>,
    list: &Kustomization,
    objects: &mut Vec<ManifestObject>,
) -> Result<(), Error> {
    for (place, entry) in list.items("patches") {
        check_fields(list, &place, entry, &["path", "patch", "target"])?;
        let selector = Selector::parse(list, &format!("{place}.target"), &entry["target"])?;
        for body in bodies(files, list, &place, entry)? {
            if selector.is_none() && body.document.value.is_array() {
                return Err(list.error(&place, "a JSON patch needs a `target`").into());
            }
            let targets = objects.iter_mut().filter(|object| match &selector {
                Some(selector) => selector.matches(object),
                None => body.names(object),
            });
            let mut found = false;
            for object in targets {
                found = true;
                object.document.value = body.patched(object)?;
            }
            if !found && selector.is_none() {
                return Err(body
                    .error("no object of the kustomization has the patch's kind, name and namespace")
                    .into());
            }
            // `$patch: delete` at the top leaves nothing.
            objects.retain(|object| object.value().as_object().is_none_or(|fields| !fields.is_empty()));
        }
    }
    Ok(())
}

/// Fails for a field that is not in `known`.
pub(super) fn check_fields(
    list: &Kustomization,
    place: &str,
    entry: &Value,
    known: &[&str],
) -> Result<(), PackageError> {
    let mut fields = entry.as_object().into_iter().flat_map(|fields| fields.keys());
    let Some(key) = fields.find(|key| !known.contains(&key.as_str())) else {
        return Ok(());
    };
    let fix = format!(
        "`{key}` is not supported in packages; supported here: {}",
        known.join(", ")
    );
    Err(list.error(&format!("{place}.{key}"), fix))
}

/// Returns the documents of a patch.
fn bodies(
    files: ProjectFiles<'_>,
    list: &Kustomization,
    place: &str,
    entry: &Value,
) -> Result<Vec<Body>, Error> {
    let (path, first_line, text) = match (entry["path"].as_str(), entry["patch"].as_str()) {
        (Some(file), None) => {
            let path = list.resolve(place, file)?;
            let text = list.read_file(files, place, &path)?;
            (path, 0, text)
        }
        // The text begins on the line below its key.
        (None, Some(text)) => {
            let line = list.document.line(&format!("{place}.patch"));
            (list.path.clone(), line, text.to_owned())
        }
        _ => return Err(list.error(place, "a patch has either `path` or `patch`").into()),
    };
    let documents = yaml::documents(&text).map_err(|error| match first_line {
        0 => invalid_yaml(&path, &error),
        line => PackageError::new(&path, line, format!("the patch is invalid YAML: {error}; fix it")),
    })?;
    Ok(documents
        .into_iter()
        .map(|document| Body {
            path: path.clone(),
            first_line,
            document,
        })
        .collect())
}

/// A document of a patch.
struct Body {
    path: PathBuf,
    /// The line of the file before the patch's first one.
    first_line: u64,
    document: Document,
}

impl Body {
    /// Whether the patch has the object's kind, name and namespace.
    fn names(&self, object: &ManifestObject) -> bool {
        let (body, value) = (&self.document.value, object.value());
        let is_same = |pointer| body.pointer(pointer) == value.pointer(pointer);
        let namespace = "/metadata/namespace";
        is_same("/kind")
            && is_same("/apiVersion")
            && is_same("/metadata/name")
            && (body.pointer(namespace).is_none() || is_same(namespace))
    }

    fn patched(&self, object: &ManifestObject) -> Result<Value, PackageError> {
        let value = object.value();
        let body = self.document.value.to_string();
        let body = body.as_bytes();
        let patched = if self.document.value.is_array() {
            patch::json_patch(value, body, Decoding::Lenient)
        } else if self.document.value["$patch"] == "delete" {
            let nothing = Patched {
                object: Value::Object(serde_json::Map::new()),
                strict_errors: Vec::new(),
            };
            Ok(nothing)
        } else {
            match types::builtin(object.api_version(), object.kind()) {
                Some(ty) => patch::strategic_merge_patch(value, body, ty, Decoding::Lenient),
                None => patch::merge_patch(value, body, Decoding::Lenient),
            }
        };
        patched.map(|patched| patched.object).map_err(|error| {
            let cause = match error {
                PatchError::Unprocessable(cause) => cause,
                other => other.to_string(),
            };
            let (kind, name) = (object.kind(), object.name());
            self.error(&format!("the patch does not apply to {kind} {name}: {cause}"))
        })
    }

    fn error(&self, message: &str) -> PackageError {
        PackageError::new(&self.path, self.first_line + self.document.line(""), message)
    }
}

/// The `target` of a patch. Names are regular expressions.
struct Selector {
    group: Option<String>,
    version: Option<String>,
    kind: Option<String>,
    name: Option<Regex>,
    namespace: Option<Regex>,
}

impl Selector {
    fn parse(list: &Kustomization, place: &str, target: &Value) -> Result<Option<Self>, PackageError> {
        if target.is_null() {
            return Ok(None);
        }
        check_fields(
            list,
            place,
            target,
            &["group", "version", "kind", "name", "namespace"],
        )?;
        let text = |key: &str| target[key].as_str().map(str::to_owned);
        let pattern = |key: &str| {
            let text = target[key].as_str();
            let parsed = text.map(|text| Regex::new(&format!("^(?:{text})$"))).transpose();
            parsed.map_err(|error| {
                list.error(
                    &format!("{place}.{key}"),
                    format!("`{key}` is not a regular expression: {error}"),
                )
            })
        };
        Ok(Some(Self {
            group: text("group"),
            version: text("version"),
            kind: text("kind"),
            name: pattern("name")?,
            namespace: pattern("namespace")?,
        }))
    }

    fn matches(&self, object: &ManifestObject) -> bool {
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        let fits =
            |wanted: &Option<Regex>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted.is_match(found));
        let version = object.api_version().rsplit('/').next().unwrap_or_default();
        is(&self.group, object.group())
            && is(&self.version, version)
            && is(&self.kind, object.kind())
            && fits(&self.name, object.name())
            && fits(&self.namespace, object.namespace().unwrap_or_default())
    }
}
