//! Applies the samples that are new or changed.

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::Value;

use super::{
    apply::Applier,
    console::{Console, LineOrigin},
};
use crate::{
    Error,
    error::ClusterError,
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

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    use kube::Api;
    use serde_json::json;
    use tokio::time::{sleep, timeout};

    use super::*;
    use crate::dev::cluster::Cluster;

    const PROJECT: &str = "version = 1\nname = \"shop\"\nnamespace = \"shop-system\"\ngroup = \"demo.dev\"\n";

    fn crd() -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "backups.demo.dev"},
            "spec": {
                "group": "demo.dev",
                "names": {"kind": "Backup", "plural": "backups"},
                "scope": "Namespaced",
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}}}],
            },
        })
    }

    fn manifests(kinds: &Value) -> Manifests {
        let text = json!({"manifestsVersion": 1, "operator": "shop", "kinds": kinds, "permissions": []});
        Manifests::parse(&text.to_string()).unwrap()
    }

    #[tokio::test]
    async fn failed_samples_are_tried_again_and_applied_ones_are_not_until_their_kind_returns() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("kubewright.toml", PROJECT);
        write(
            "manifests/samples/backup.yaml",
            "apiVersion: demo.dev/v1\nkind: Backup\nmetadata: {name: a}\n",
        );
        write(
            "manifests/samples/broken.yaml",
            "# two\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: new}\n---\napiVersion: other.dev/v1\nkind: Other\n",
        );
        write("manifests/samples/unreadable.yaml", "a: [");
        let project = Project::find(folder.path()).unwrap();
        let cluster = Cluster::embedded(folder.path(), false).await.unwrap();
        let (console, mut lines) = Console::new();
        let mut applier = Applier::new(cluster.client.clone());
        let crds: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
        let mut samples = SampleApplier::new(true, console);
        let without = manifests(&json!([]));
        let with = manifests(
            &json!([{"group": "demo.dev", "kind": "Backup", "plural": "backups",
            "namespaced": true, "crd": crd()}]),
        );

        let error = "error: manifests/samples/broken.yaml:7: the cluster has no kind Other in other.dev/v1: install its CRD, or \
                     correct the object";
        let success = "applied manifests/samples/backup.yaml";
        for (manifests, expected) in [
            (&without, vec![error]),
            (&with, vec![success, error]),
            (&with, vec![error]),
            (&without, vec![error]),
            (&with, vec![success, error]),
        ] {
            if manifests.kinds.is_empty() {
                applier.delete_crd("backups.demo.dev").await.unwrap();
                // The server deletes the objects first.
                let deleted = async {
                    while crds.get_opt("backups.demo.dev").await.unwrap().is_some() {
                        sleep(Duration::from_millis(10)).await;
                    }
                };
                timeout(Duration::from_secs(10), deleted).await.unwrap();
            } else {
                applier.apply_crd(&crd()).await.unwrap();
            }
            // A sample whose kind is gone is not waited for.
            let round = samples.apply(&mut applier, &project, manifests);
            let are_all_applied = timeout(Duration::from_secs(5), round).await.unwrap().unwrap();
            assert!(!are_all_applied);
            let mut printed = Vec::new();
            while let Ok(line) = lines.try_recv() {
                printed.push(line.render(false));
            }
            let expected: Vec<_> = expected.iter().map(|line| format!("     dev | {line}")).collect();
            assert_eq!(printed, expected);
        }
        cluster.stop().await;
    }
}
