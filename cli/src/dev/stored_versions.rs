//! Reads the versions in which a cluster may have stored objects of a kind.

use std::path::Path;

use serde_json::{Value, json};

use super::{apply::Applier, cluster::Cluster};
use crate::{Error, plan::IoError};

/// Returns `status.storedVersions` of a definition in the cluster of a context; empty if the cluster does not have it.
pub(crate) fn stored_versions(root: &Path, context: &str, definition: &str) -> Result<Vec<String>, Error> {
    let runtime =
        tokio::runtime::Runtime::new().map_err(|source| IoError::new("start", "threads", source))?;
    let document = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": definition},
    });
    let found = runtime.block_on(async {
        let cluster = Cluster::from_context(root, context).await?;
        Applier::new(cluster.client)
            .read(&document)
            .await
            .map_err(Error::from)
    });
    let found = found?.unwrap_or_default();
    let versions = found["status"]["storedVersions"].as_array().into_iter().flatten();
    Ok(versions.filter_map(Value::as_str).map(str::to_owned).collect())
}
