//! The registration of the versions of kinds.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::{
    RegistrationError, Setup,
    permissions::{Permission, PermissionScope},
};
use crate::{
    CustomKind, Kind,
    conversion::{Converters, RegisteredVersions, StorageMigration, VersionError, Versioned, Versions},
};

/// Why the storage migration needs its permissions.
const MIGRATION: &str = "storage migration";

impl Setup {
    /// Registers the versions of a kind. `H` is the hub: the version that controllers use. The definition in the manifests has all versions,
    /// and the operator converts between them; see [`conversion`](crate::conversion).
    ///
    /// The versions need no [`kind`](Self::kind); their informers can be made as well.
    pub fn versions<H: Versioned>(&mut self) -> Versions<'_, H> {
        self.kind::<H>();
        self.versions.push(RegisteredVersions::of::<H>());
        let last = self.versions.len() - 1;
        let owner_versions = self.connection().owner_versions().clone();
        Versions::new(&mut self.versions[last], &mut self.kinds, owner_versions)
    }

    /// Migrates the stored objects of a kind to the version of `K`, once the applied definition stores it: a task of the leading replica, which
    /// ends when it has nothing to do. See [`StorageMigration`]. It lists and patches the kind's objects in all
    /// namespaces, whatever the operator watches, and writes the status of the definition.
    ///
    /// It neither changes which version the API server stores nor counts replicas: `kubewright migrate storage` does both. Who applies the definition
    /// decides which version is stored; a task that changed it would undo the change of a tool that applies manifests all the time. Once it is
    /// applied, the API server writes objects in the version whatever the replicas do. To count replicas, the operator would
    /// need to read Deployments. While no replica converts, the API server refuses the patches, and the task tries again.
    pub fn storage_migration<K: CustomKind>(&mut self) -> &mut Self {
        let kind = K::info();
        let name = kind.group_resource();
        let unit = format!("storage migration {name}");
        let all_namespaces = |permission: Permission| Permission {
            scope: PermissionScope::Cluster,
            ..permission
        };
        let objects = Permission::on(&kind, None, &["get", "list", "patch"], &unit, MIGRATION);
        let definition = CustomResourceDefinition::info();
        let of_definition = |subresource, verb| Permission {
            resource_names: vec![name.clone()],
            ..Permission::on(
                &definition,
                subresource,
                &[verb],
                &format!("stored versions {name} {verb}"),
                MIGRATION,
            )
        };
        self.add_permission(all_namespaces(objects));
        self.add_permission(of_definition(None, "get"));
        self.add_permission(of_definition(Some("status"), "patch"));
        let migration = StorageMigration::to::<K>(self.connection().clone());
        self.runnable(format!("storage-migration-{name}"), |stop| async {
            migration.run_in_operator(stop).await;
            Ok(())
        })
        .leader_only();
        self
    }

    /// Does not serve the conversion: definitions in tests have one version, that of the hub, unless the test asks for more.
    pub(crate) fn leave_conversion_out(&mut self) {
        let is_served = self.converts_in_tests;
        if !is_served {
            self.connection().owner_versions().clear();
        }
        self.versions
            .iter_mut()
            .for_each(|versions| versions.is_served = is_served);
    }

    /// Serves the conversion in tests, too.
    pub(crate) fn convert_in_tests(&mut self) {
        self.converts_in_tests = true;
    }

    /// Whether the conversion is served in tests.
    pub(crate) fn converts_in_tests(&self) -> bool {
        self.converts_in_tests
    }

    /// Returns the kinds with several versions.
    pub(crate) fn registered_versions(&self) -> &[RegisteredVersions] {
        &self.versions
    }

    /// Returns what converts between the versions.
    #[doc(hidden)]
    pub fn converters(&self) -> Converters {
        Converters::new(self.versions.iter().map(|versions| versions.converter.clone()))
    }

    /// Returns the errors in the versions of kinds.
    pub(super) fn versions_errors(&self) -> impl Iterator<Item = RegistrationError> {
        let is_second = |index: &usize| {
            let info = &self.versions[*index].converter.info;
            let mut earlier = self.versions[..*index].iter();
            earlier.any(|other| other.converter.info.is_version_of(info))
        };
        let second = (0..self.versions.len()).filter(is_second);
        let second = second.map(|index| VersionError::second_hub(&self.versions[index].converter.info));
        let errors = self.versions.iter().flat_map(RegisteredVersions::errors);
        errors.chain(second).map(RegistrationError::Version)
    }
}
