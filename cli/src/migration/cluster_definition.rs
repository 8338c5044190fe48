//! A CustomResourceDefinition in a cluster: its stored versions, and the change of its storage version.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, ServiceReference,
};
use kube::{
    Api,
    api::{DynamicObject, ListParams},
};
use kubewright::{
    ApiResource, NamespacedName, Scope,
    client::{Connection, Get, Patch, PatchBody, TypedClient},
};
use serde_json::{Value, json};

use crate::error::MigrationError;

type Client = TypedClient<CustomResourceDefinition, (Get, Patch)>;

/// A definition as it was read.
pub(super) struct ClusterDefinition {
    name: String,
    found: CustomResourceDefinition,
}

impl ClusterDefinition {
    /// Reads it; none if it is not installed.
    pub(super) async fn read(connection: &Connection, name: &str) -> Result<Option<Self>, MigrationError> {
        let found = Client::new(connection.clone())
            .get(&NamespacedName::cluster(name))
            .await;
        match found {
            Ok(found) => Ok(Some(Self {
                name: name.to_owned(),
                found,
            })),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The whole definition.
    pub(super) fn to_value(&self) -> Value {
        json!(self.found)
    }

    /// The version that new objects are stored in.
    pub(super) fn stored(&self) -> &str {
        let mut versions = self.found.spec.versions.iter();
        versions
            .find(|version| version.storage)
            .map_or("", |version| &version.name)
    }

    /// The versions that objects may be stored in.
    pub(super) fn stored_versions(&self) -> &[String] {
        let status = self.found.status.as_ref();
        status
            .and_then(|status| status.stored_versions.as_deref())
            .unwrap_or_default()
    }

    /// The Service of the conversion webhook; none without a webhook, or if its configuration has a URL.
    pub(super) fn conversion_service(&self) -> Option<&ServiceReference> {
        let webhook = self.found.spec.conversion.as_ref()?.webhook.as_ref()?;
        webhook.client_config.as_ref()?.service.as_ref()
    }

    /// The kind in a version.
    pub(super) fn resource(&self, version: &str) -> ApiResource {
        let (spec, names) = (&self.found.spec, &self.found.spec.names);
        ApiResource {
            group: spec.group.clone().into(),
            version: version.to_owned().into(),
            kind: names.kind.clone().into(),
            plural: names.plural.clone().into(),
            scope: if spec.scope == "Namespaced" {
                Scope::Namespaced
            } else {
                Scope::Cluster
            },
        }
    }

    /// Fails if the version is not served.
    pub(super) fn check_served(&self, version: &str) -> Result<(), MigrationError> {
        if self.served().any(|served| served == version) {
            return Ok(());
        }
        Err(MigrationError::NotServed {
            definition: self.name.clone(),
            version: version.to_owned(),
        })
    }

    /// Fails if the API server cannot read an object in a version, for which it calls the operator.
    pub(super) async fn check_readable(&self, connection: &Connection) -> Result<(), MigrationError> {
        for version in self.served() {
            let names = &self.found.spec.names;
            let resource = kube::core::ApiResource {
                group: self.found.spec.group.clone(),
                version: version.to_owned(),
                api_version: format!("{}/{version}", self.found.spec.group),
                kind: names.kind.clone(),
                plural: names.plural.clone(),
            };
            let objects: Api<DynamicObject> = Api::all_with(connection.kube_client(), &resource);
            let read = objects.list(&ListParams::default().limit(1)).await;
            read.map_err(|error| MigrationError::NotConverted {
                definition: self.name.clone(),
                version: version.to_owned(),
                reason: match error {
                    kube::Error::Api(status) => status.message,
                    other => other.to_string(),
                },
            })?;
        }
        Ok(())
    }

    /// Has the API server store this version, if the definition is still the one that was read.
    pub(super) async fn store(&self, connection: &Connection, version: &str) -> Result<(), MigrationError> {
        let resource_version = &self.found.metadata.resource_version;
        let mut operations =
            vec![json!({"op": "replace", "path": "/metadata/resourceVersion", "value": resource_version})];
        let versions = self.found.spec.versions.iter().enumerate();
        operations.extend(versions.map(|(index, found)| {
            let path = format!("/spec/versions/{index}/storage");
            json!({"op": "replace", "path": path, "value": found.name == version})
        }));
        let name = NamespacedName::cluster(&*self.name);
        Client::new(connection.clone())
            .patch(&name, &PatchBody::Json(operations))
            .await?;
        Ok(())
    }

    fn served(&self) -> impl Iterator<Item = &str> {
        let served = self.found.spec.versions.iter().filter(|version| version.served);
        served.map(|version| version.name.as_str())
    }
}
