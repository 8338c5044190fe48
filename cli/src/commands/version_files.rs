//! The samples and tests of a kind with a new version.

use kubewright_templates::{VersionsTest, render};
use serde_json::Value;

use super::{registered_type, source_edits::crate_name};
use crate::{
    Context, Error,
    format::format_rust,
    plan::Plan,
    project::Project,
    samples,
    source::{self, SourceFile},
    versions::{VersionedKind, in_file},
};

/// The version to add.
pub(super) struct NewVersion<'a, 'c> {
    pub(super) kind: &'a VersionedKind,
    pub(super) version: &'a str,
    pub(super) project: &'a Project,
    pub(super) sources: &'a [SourceFile],
    pub(super) context: &'a Context<'c>,
}

/// Plans the new version in the samples of the hub before. Returns the spec of the first.
pub(super) fn plan_samples(new: &NewVersion<'_, '_>, plan: &mut Plan) -> Result<Option<Value>, Error> {
    let VersionedKind { kind, group, hub, .. } = new.kind;
    let [old, current] = [hub, new.version].map(|version| format!("{group}/{version}"));
    let mut spec = None;
    for file in samples::read(&new.project.root)? {
        let text = new.project.read(&file.path)?.unwrap_or_default();
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        // `generate` reports what does not parse.
        for document in file.documents.unwrap_or_default() {
            if document.value["kind"] != **kind || document.value["apiVersion"] != *old {
                continue;
            }
            spec = spec.or_else(|| document.value.get("spec").cloned());
            let line = usize::try_from(document.line("apiVersion")).unwrap_or_default();
            if let Some(line) = line.checked_sub(1).and_then(|at| lines.get_mut(at)) {
                *line = line.replacen(&old, &current, 1);
            }
        }
        plan.write(&file.path, Some(text), lines.join("\n"));
    }
    Ok(spec)
}

/// Plans the new version in the tests of the kind's controller and webhooks: both see objects of the hub.
pub(super) fn plan_tests_of_hub(new: &NewVersion<'_, '_>, plan: &mut Plan) -> Result<(), Error> {
    let VersionedKind { group, hub, .. } = new.kind;
    let [old, current] = [hub, new.version].map(|version| format!("{group}/{version}"));
    for registered in registered_type::ALL {
        let path = registered.test_path(&new.kind.module());
        if let Some(text) = new.project.read(&path)? {
            let edited = source::replace_literals(&text, &old, &current);
            let edited = edited.map_err(|error| in_file(&path, error))?;
            plan.write(path, Some(text), edited);
        }
    }
    Ok(())
}

/// Plans the tests of the conversion, unless there are some.
pub(super) fn plan_test(
    new: &NewVersion<'_, '_>,
    plan: &mut Plan,
    example: Option<&Value>,
) -> Result<(), Error> {
    let path = new.kind.test_path();
    if new.project.read(&path)?.is_some() {
        return Ok(());
    }
    let spec = example.map(|spec| format!("{spec:#}").replace('\n', "\n        "));
    let mut fields = example.and_then(Value::as_object).into_iter().flatten();
    let field = fields.find(|(_, value)| value.is_string() || value.is_i64() || value.is_boolean());
    let test = render(&VersionsTest {
        crate_name: &crate_name(new.project)?,
        path: new.kind.rust_path().trim_start_matches("crate::"),
        group: &new.kind.group,
        kind: &new.kind.kind,
        hub: new.version,
        other: &new.kind.hub,
        spec: spec.as_deref(),
        field: field.map(|(name, _)| name.as_str()),
    })?;
    plan.write(path, None, format_rust(new.context, &[test])?.concat());
    Ok(())
}
