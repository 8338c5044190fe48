//! Applies the samples that are new or changed.

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::Value;

use super::{
    apply::Applier,
    cluster::ClusterError,
    console::{Console, LineOrigin},
};
use crate::{
    Error,
    manifests::Manifests,
    plan::slashed,
    project::Project,
    samples::{self, SampleFile},
};

/// Applies samples, and records them: unchanged samples are not applied again, so that changes made in the cluster persist.
pub(super) struct SampleApplier {
    /// Whether to create the namespaces of samples: in a cluster, namespaces are the user's.
    creates_namespaces: bool,
    console: Console,
    /// The applied objects of each file.
    applied: BTreeMap<PathBuf, Vec<Value>>,
}

impl SampleApplier {
    pub(super) fn new(creates_namespaces: bool, console: Console) -> Self {
        Self {
            creates_namespaces,
            console,
            applied: BTreeMap::new(),
        }
    }

    /// Applies the project's samples. An error of one is printed, and the others are applied. Returns whether there was no error.
    ///
    /// Files that do not parse and objects of removed kinds are skipped: the plan of `generate` reports them.
    pub(super) async fn apply(
        &mut self,
        applier: &mut Applier,
        project: &Project,
        manifests: &Manifests,
    ) -> Result<bool, Error> {
        let mut all_applied = true;
        for file in samples::read(&project.root)? {
            all_applied &= self.apply_file(applier, project, manifests, file).await;
        }
        Ok(all_applied)
    }

    async fn apply_file(
        &mut self,
        applier: &mut Applier,
        project: &Project,
        manifests: &Manifests,
        SampleFile { path, documents }: SampleFile,
    ) -> bool {
        let Ok(documents) = documents else { return true };
        let before = self.applied.remove(&path).unwrap_or_default();
        let (mut current, mut is_changed, mut has_failed) = (Vec::new(), false, false);
        for document in documents {
            if samples::is_of_removed_kind(project, manifests, &document.value) {
                continue;
            }
            if !before.contains(&document.value) {
                if let Err(error) = self.apply_object(applier, &document.value).await {
                    has_failed = true;
                    let line = document.line(error.field().unwrap_or("kind"));
                    let error = Error::from(error).at(&path, line);
                    self.log(format_args!("error: {error}")).await;
                    continue;
                }
                is_changed = true;
            }
            current.push(document.value);
        }
        if is_changed && !has_failed {
            self.log(format_args!("applied {}", slashed(&path))).await;
        }
        self.applied.insert(path, current);
        !has_failed
    }

    async fn apply_object(&self, applier: &mut Applier, object: &Value) -> Result<(), ClusterError> {
        if !object["apiVersion"].is_string() || !object["kind"].is_string() {
            let message = "cannot apply an object without `apiVersion` and `kind`".to_owned();
            return Err(ClusterError::UnexpectedState(message));
        }
        if let Some(namespace) = object["metadata"]["namespace"].as_str()
            && self.creates_namespaces
        {
            applier.apply_namespace(namespace).await?;
        }
        applier.apply(object).await
    }

    async fn log(&self, text: impl std::fmt::Display) {
        self.console.log(LineOrigin::Dev, text).await;
    }
}
