//! [`StorageMigration`]: has the API server store all objects of a kind in one version.

use std::time::Duration;

use futures::{StreamExt as _, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::{
    ListMeta,
    params::{GetParams, ListParams, Patch, PatchParams},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    ApiResource, CustomKind, Kind, NamespacedName, Scope,
    client::{ApiRequest, ClientError, Connection, DiscoveryError, storage_version_hash},
};

/// Objects in a page: their metadata alone is read.
const PAGE_SIZE: u32 = 500;
/// Objects that are rewritten side by side.
const WRITES: usize = 8;
/// How often the definition's status is patched while others write the definition.
const ATTEMPTS: usize = 5;
/// How many objects that cannot be rewritten are named.
const MAX_NAMED: usize = 10;
/// How often an operator looks whether there is something to migrate, or tries again.
const INTERVAL: Duration = Duration::from_secs(10);
/// How often the discovery document is read until it shows the version.
const DISCOVERY_INTERVAL: Duration = Duration::from_millis(200);
/// How long the API server may take to notice the definition.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long other API servers get to notice the definition after the one that answered.
const OTHER_SERVERS_DELAY: Duration = Duration::from_secs(2);

/// Has the API server rewrite the objects of a custom kind, so that none is stored in another version, and removes the other versions from
/// `status.storedVersions` of the definition. Only then can a version be removed from the definition.
///
/// - First it waits until the API server's discovery document shows that the API server stores the version: the server notices a changed
///   definition after a while, and until then would write nothing. Of several API servers one answers; the others get two seconds more.
/// - Every object gets a patch that changes nothing, on the condition that its uid and resource version are those that were listed. The API
///   server encodes it in the version that it stores now, and writes it if that differs. No version of this program decodes an object.
/// - An object that others wrote since it was listed needs nothing: that write stored it in the version. Neither does one that is gone.
/// - If the list expires, it goes on behind the last object with the token that the API server then offers. Objects that were created since
///   the first page are stored in the version.
/// - An interrupted run is repeated from the first object: one that is stored in the version costs a request, and no write. A continue
///   token on disk would save these requests, but it expires within minutes, and it says nothing about a definition that stored another
///   version between the runs. No API shows in which version an object is stored, and a mark in the object would be a change.
/// - `status.storedVersions` is changed only if every object was rewritten, and the definition did not change since before the list.
///
/// The source of this is Kubernetes' own storage version migrator.
#[derive(Clone)]
pub struct StorageMigration {
    connection: Connection,
    kind: ApiResource,
}

// ANCHOR: migration
/// The objects of a kind are not all stored in the wanted version.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageMigrationError {
    /// A request failed.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// New objects are stored in another version.
    #[error(
        "the API server stores {definition} in version {stored}, not {wanted}: apply the CustomResourceDefinition that stores {wanted}, then migrate"
    )]
    NotStored {
        /// The name of the definition.
        definition: String,
        /// The storage version of the definition.
        stored: String,
        /// The version to store.
        wanted: String,
    },
    /// The discovery document cannot be read.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// The API server does not follow the definition.
    #[error(
        "the definition stores {definition} in version {wanted}, and after {} seconds the API server still does not (`storageVersionHash` in its \
         discovery document): nothing was rewritten; look for a condition of the definition that is not True, then migrate again",
        DISCOVERY_TIMEOUT.as_secs()
    )]
    NotNoticed {
        /// The name of the definition.
        definition: String,
        /// The version to store.
        wanted: String,
    },
    /// The definition was written during the migration.
    #[error("the CustomResourceDefinition {definition} changed during the migration: migrate again")]
    Changed {
        /// The name of the definition.
        definition: String,
    },
    /// The API server refused to write objects.
    #[error("{count} objects cannot be rewritten, correct or delete them, then migrate again:\n{named}")]
    Refused {
        /// How many there are.
        count: usize,
        /// The first of them, each in a line with the reason.
        named: String,
    },
}
// ANCHOR_END: migration

impl StorageMigration {
    /// Returns the migration to the version of `K`. It sends nothing before it runs.
    pub fn to<K: CustomKind>(connection: Connection) -> Self {
        Self::to_version(connection, K::info())
    }

    /// As [`to`](Self::to), for a kind without a Rust type.
    #[doc(hidden)]
    pub fn to_version(connection: Connection, kind: ApiResource) -> Self {
        Self { connection, kind }
    }

    /// Migrates, and returns how many objects it looked at; none if there was nothing to migrate. `on_progress` is called after each page,
    /// with the number of objects that are done, and of all that the API server estimates.
    pub async fn run(
        &self,
        mut on_progress: impl FnMut(u64, u64),
    ) -> Result<Option<u64>, StorageMigrationError> {
        let before = self.definition().await?;
        self.check_stored(&before)?;
        if before["status"]["storedVersions"] == json!([self.kind.version]) {
            return Ok(None);
        }
        self.wait_until_noticed().await?;
        let mut done = 0;
        let mut refused = Refused::default();
        let mut params = ListParams::default().limit(PAGE_SIZE);
        loop {
            let page = match self.page(&params).await {
                Err(error) if error.is_expired() && params.continue_token.is_some() => {
                    params.continue_token = continue_token_of(&error);
                    if params.continue_token.is_none() {
                        (done, refused) = (0, Refused::default());
                    }
                    continue;
                }
                page => page?,
            };
            let items = page.items.unwrap_or_default();
            done += items.len() as u64;
            let mut written = stream::iter(items)
                .map(|item| async move {
                    let name = item.metadata.name();
                    self.rewrite(&item.metadata).await.map_err(|error| (name, error))
                })
                .buffer_unordered(WRITES);
            while let Some(result) = written.next().await {
                match result {
                    Err((name, error)) if is_of_object(&error) => refused.add(&name, &error),
                    result => result.map_err(|(_, error)| error)?,
                }
            }
            let remaining = u64::try_from(page.metadata.remaining_item_count.unwrap_or(0)).unwrap_or(0);
            on_progress(done, done + remaining);
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                break;
            }
        }
        refused.check()?;
        self.trim_stored_versions(&before).await?;
        Ok(Some(done))
    }

    /// Migrates once the definition stores the version, and retries after failures. Ends when all objects are stored in it.
    pub(crate) async fn run_in_operator(self, stop: CancellationToken) {
        let migrate = async {
            loop {
                match self.run(|_, _| {}).await {
                    Ok(None) => return,
                    Ok(Some(count)) => {
                        info!(definition = self.definition_name(), version = %self.kind.version, count, "all objects are stored in this version now");
                        return;
                    }
                    // The manifests are applied in an order of the user's.
                    Err(StorageMigrationError::NotStored { .. }) => {}
                    Err(error) => {
                        warn!(definition = self.definition_name(), %error, "stored objects are not migrated, trying again in 10 seconds");
                    }
                }
                tokio::time::sleep(INTERVAL).await;
            }
        };
        stop.run_until_cancelled(migrate).await;
    }

    fn definition_name(&self) -> String {
        self.kind.group_resource()
    }

    async fn definition(&self) -> Result<Value, ClientError> {
        let request = self.definition_request("get")?;
        let http_request = request.builder().get(request.name(), &GetParams::default());
        request.prepare(http_request)?.fetch(&self.connection).await
    }

    fn definition_request(&self, action: &'static str) -> Result<ApiRequest, ClientError> {
        let name = NamespacedName::in_scope(None, &self.definition_name());
        ApiRequest::object(CustomResourceDefinition::info(), action, &name)
    }

    /// Fails if the definition stores another version.
    fn check_stored(&self, definition: &Value) -> Result<(), StorageMigrationError> {
        let versions = definition["spec"]["versions"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let stored = versions.iter().find(|version| version["storage"] == true);
        let stored = stored
            .and_then(|version| version["name"].as_str())
            .unwrap_or_default();
        if stored == self.kind.version {
            return Ok(());
        }
        Err(StorageMigrationError::NotStored {
            definition: self.definition_name(),
            stored: stored.to_owned(),
            wanted: self.kind.version.to_string(),
        })
    }

    /// Waits until the API server stores what it writes in the version.
    async fn wait_until_noticed(&self) -> Result<(), StorageMigrationError> {
        let kind = &self.kind;
        let wanted = storage_version_hash::of(&kind.group, &kind.version, &kind.kind);
        let noticed = async {
            while storage_version_hash::discover(&self.connection, kind)
                .await?
                .as_ref()
                != Some(&wanted)
            {
                tokio::time::sleep(DISCOVERY_INTERVAL).await;
            }
            Ok(())
        };
        let noticed = tokio::time::timeout(DISCOVERY_TIMEOUT, noticed).await;
        noticed.unwrap_or_else(|_| {
            Err(StorageMigrationError::NotNoticed {
                definition: self.definition_name(),
                wanted: kind.version.to_string(),
            })
        })?;
        tokio::time::sleep(OTHER_SERVERS_DELAY).await;
        Ok(())
    }

    async fn page(&self, params: &ListParams) -> Result<Page, ClientError> {
        let request = ApiRequest::new(self.kind.clone(), "list", None)?;
        let http_request = request.builder().list_metadata(params);
        request.prepare(http_request)?.fetch(&self.connection).await
    }

    /// Patches an object without changing it.
    async fn rewrite(&self, listed: &Metadata) -> Result<(), ClientError> {
        let name = match self.kind.scope {
            Scope::Namespaced => NamespacedName::in_scope(listed.namespace.as_deref(), &listed.name),
            Scope::Cluster => NamespacedName::in_scope(None, &listed.name),
        };
        let request = ApiRequest::object(self.kind.clone(), "patch", &name)?;
        let condition = json!({"metadata": {"uid": listed.uid, "resourceVersion": listed.resource_version}});
        let http_request =
            request
                .builder()
                .patch_metadata(&listed.name, &PatchParams::default(), &Patch::Merge(condition));
        match request
            .prepare(http_request)?
            .fetch::<Item>(&self.connection)
            .await
        {
            Err(error) if error.is_not_found() => Ok(()),
            // A webhook may answer 409 as well.
            Err(error) if error.is_conflict() && self.is_written_since(&name, listed).await? => Ok(()),
            result => result.map(drop),
        }
    }

    /// Whether others wrote or deleted the object since it was listed.
    async fn is_written_since(&self, name: &NamespacedName, listed: &Metadata) -> Result<bool, ClientError> {
        let request = ApiRequest::object(self.kind.clone(), "get", name)?;
        let http_request = request
            .builder()
            .get_metadata(&listed.name, &GetParams::default());
        match request
            .prepare(http_request)?
            .fetch::<Item>(&self.connection)
            .await
        {
            Err(error) if error.is_not_found() => Ok(true),
            found => Ok(found?.metadata.resource_version != listed.resource_version),
        }
    }

    /// Leaves the version alone in `status.storedVersions`, if the definition is still the one that was migrated.
    async fn trim_stored_versions(&self, before: &Value) -> Result<(), StorageMigrationError> {
        let mut attempts = 0..ATTEMPTS;
        loop {
            let now = self.definition().await?;
            if now["metadata"]["uid"] != before["metadata"]["uid"]
                || now["metadata"]["generation"] != before["metadata"]["generation"]
            {
                let definition = self.definition_name();
                return Err(StorageMigrationError::Changed { definition });
            }
            let patch = json!({
                "metadata": {"resourceVersion": now["metadata"]["resourceVersion"]},
                "status": {"storedVersions": [self.kind.version]},
            });
            let (request, body) = self
                .definition_request("patch")?
                .subresource(Some("status"))
                .body(&patch)?;
            let http_request = request.patch(&PatchParams::default(), "application/merge-patch+json", body);
            match request
                .prepare(http_request)?
                .fetch::<Value>(&self.connection)
                .await
            {
                Err(error) if error.is_conflict() && attempts.next().is_some() => {}
                result => return Ok(result.map(drop)?),
            }
        }
    }
}

/// The token in the API server's answer to one that expired: the rest of the list at the newest revision.
fn continue_token_of(expired: &ClientError) -> Option<String> {
    let metadata = expired.status()?.metadata.as_ref()?;
    metadata.continue_.clone().filter(|token| !token.is_empty())
}

/// Whether the error is about this object, and not about the request or our permissions.
fn is_of_object(error: &ClientError) -> bool {
    // Webhooks and admission plugins deny with 403 as well.
    let is_denied = error.is_forbidden() && !error.lacks_permission();
    is_denied
        || error.is_invalid()
        || error.is_conflict()
        || error.status().is_some_and(|status| status.code == 400)
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: ListMeta,
    // A Go server may write an empty list as null.
    items: Option<Vec<Item>>,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    namespace: Option<String>,
    uid: String,
    resource_version: String,
}

impl Metadata {
    fn name(&self) -> String {
        NamespacedName::in_scope(self.namespace.as_deref(), &self.name).to_string()
    }
}

/// The objects that the API server refused to write.
#[derive(Default)]
struct Refused {
    count: usize,
    lines: Vec<String>,
}

impl Refused {
    fn add(&mut self, name: &str, error: &ClientError) {
        self.count += 1;
        if self.lines.len() < MAX_NAMED {
            self.lines.push(format!("{name}: {error}"));
        }
    }

    fn check(self) -> Result<(), StorageMigrationError> {
        match self.count {
            0 => Ok(()),
            count => Err(StorageMigrationError::Refused {
                count,
                named: self.lines.join("\n"),
            }),
        }
    }
}

#[cfg(test)]
#[path = "storage_migration_tests.rs"]
mod tests;
