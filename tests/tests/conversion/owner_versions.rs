//! The API version of owner references while the hub and the stored version of the owner's kind change.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::ObjectMeta;
use kubewright::{CustomKind, prelude::*, testing::TestOperator};
use kubewright_testkit::{Cluster, Identity, eventually};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::TIMEOUT;

const NAMESPACE: &str = "owner-versions";

/// Both versions are equal, so that nothing calls a webhook.
mod v1 {
    use kubewright::{CustomResource, Informer};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "owners.demo.dev", version = "v1", kind = "Depot", namespaced)]
    pub(super) struct DepotSpec {
        pub(super) size: i64,
    }
}

mod v1alpha1 {
    use kubewright::{Convert, CustomResource, Informer};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, Informer, Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "owners.demo.dev", version = "v1alpha1", kind = "Depot", namespaced)]
    #[convert(hub = super::v1::DepotSpec)]
    pub(super) struct DepotSpec {
        size: i64,
    }
}

/// Applies a ConfigMap with the size of each Depot.
struct Sizes {
    depots: Lister<v1::Depot>,
    config_maps: TypedClient<ConfigMap, (Apply,)>,
}

impl Reconciler for Sizes {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let depot = match self.depots.get(key) {
            Ok(depot) => depot,
            Err(LookupError::NotFound { .. }) => return Ok(Action::await_change()),
            Err(error) => return Err(error.into()),
        };
        let config_map = ConfigMap {
            metadata: ObjectMeta {
                name: depot.metadata.name.clone(),
                namespace: depot.metadata.namespace.clone(),
                owner_references: Some(vec![controller_reference(&*depot)]),
                ..ObjectMeta::default()
            },
            data: Some([("size".to_owned(), depot.spec.size.to_string())].into()),
            ..ConfigMap::default()
        };
        self.config_maps.apply(&config_map).await?;
        Ok(Action::await_change())
    }
}

fn register_controller(setup: &mut Setup) {
    let depots = setup.informers().custom::<v1::Depot>();
    let config_maps = setup.informers().of::<ConfigMap>();
    let reconciler = Sizes {
        depots: depots.lister(),
        config_maps: setup.client(),
    };
    setup
        .controller("sizes", reconciler)
        .reconciles(&depots)
        .owns(&config_maps);
}

/// The first release with v1.
fn first(setup: &mut Setup) {
    setup
        .versions::<v1::Depot>()
        .other::<v1alpha1::Depot>()
        .stored::<v1alpha1::Depot>();
    register_controller(setup);
}

/// The release after the storage migration.
fn migrated(setup: &mut Setup) {
    setup.versions::<v1::Depot>().other::<v1alpha1::Depot>();
    register_controller(setup);
}

/// The release without v1alpha1.
fn last(setup: &mut Setup) {
    setup.versions::<v1::Depot>();
    register_controller(setup);
}

type Register = fn(&mut Setup);

/// Creates the operator's identity with its permissions, but for those of owner references if `may_change_owners` is false.
fn identity(cluster: &Cluster, name: &str, register: Register, may_change_owners: bool) -> Identity {
    let mut permissions = TestOperator::permissions(TestOperator::converting(register));
    if !may_change_owners {
        permissions.retain(|permission| permission.unit != "owned ConfigMap");
    }
    cluster.operator(name, &permissions).unwrap()
}

fn object(api_version: &str, kind: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"namespace": NAMESPACE, "name": "a"}})
}

/// Sets the size, and returns the version in the owner reference once the operator has applied it.
fn owner_version_after(cluster: &Cluster, size: i64) -> Value {
    let mut depot = object("owners.demo.dev/v1", "Depot");
    depot["spec"] = json!({"size": size});
    cluster.apply(&depot).unwrap();
    let size = json!(size.to_string());
    let applied = eventually("the operator applies the ConfigMap", TIMEOUT, || {
        let found = cluster
            .get(&object("v1", "ConfigMap"))
            .unwrap()
            .unwrap_or_default();
        if found["data"]["size"] == size {
            Ok(found)
        } else {
            Err(found.to_string())
        }
    });
    let owners = applied["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.len(), 1, "{owners:?}");
    assert_eq!(owners[0]["kind"], "Depot");
    owners[0]["apiVersion"].clone()
}

/// A real API server and the embedded one have the admission plugin OwnerReferencesPermissionEnforcement.
pub(super) fn owner_references_have_the_stored_version(cluster: &Cluster) {
    let runtime = Runtime::new().unwrap();
    let _guard = runtime.enter();
    cluster.create_namespace(NAMESPACE).unwrap();
    let install = |register: Register| {
        let definitions = TestOperator::definitions(register);
        cluster.install_crd(&definitions[0]).unwrap();
    };
    let start = |identity: &Identity, register: Register| {
        let config = runtime.block_on(identity.config()).unwrap();
        TestOperator::start(config, TestOperator::converting(register))
    };
    let forbidden = |identity: &Identity| {
        let audit = cluster.audit().unwrap().by_user(identity.user());
        audit.on_resource("", "configmaps").forbidden()
    };

    // What the release before v1 has written.
    cluster.install_crd(&v1alpha1::Depot::definition()).unwrap();
    let mut depot = object("owners.demo.dev/v1alpha1", "Depot");
    depot["spec"] = json!({"size": 0});
    let depot = cluster.apply(&depot).unwrap();
    let mut config_map = object("v1", "ConfigMap");
    config_map["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "owners.demo.dev/v1alpha1", "kind": "Depot", "name": "a", "uid": depot["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    }]);
    cluster.apply(&config_map).unwrap();

    // The hub changes: the reference does not, which needs no permission.
    install(first);
    let restricted = identity(cluster, "owner-versions-first", first, false);
    let operator = start(&restricted, first);
    assert_eq!(owner_version_after(cluster, 1), "owners.demo.dev/v1alpha1");
    assert!(forbidden(&restricted).is_empty());
    drop(operator);

    // The stored version changes: this needs the permission that the manifests have.
    install(migrated);
    let restricted = identity(cluster, "owner-versions-restricted", migrated, false);
    let operator = start(&restricted, migrated);
    eventually("the change is forbidden", TIMEOUT, || {
        let forbidden = forbidden(&restricted);
        let events: Vec<String> = forbidden.iter().map(ToString::to_string).collect();
        let reason = "cannot set an ownerRef on a resource you can't delete";
        if events.iter().any(|event| event.contains(reason)) {
            Ok(())
        } else {
            Err(format!("{events:?}"))
        }
    });
    drop(operator);
    let granted = identity(cluster, "owner-versions-migrated", migrated, true);
    let operator = start(&granted, migrated);
    assert_eq!(owner_version_after(cluster, 2), "owners.demo.dev/v1");
    assert!(forbidden(&granted).is_empty());
    drop(operator);

    // The old version is removed, and with it its type: no reference has it.
    let definition = &TestOperator::definitions(migrated)[0];
    cluster
        .patch_status(definition, &json!({"storedVersions": ["v1"]}))
        .unwrap();
    install(last);
    let granted = identity(cluster, "owner-versions-last", last, true);
    let _operator = start(&granted, last);
    assert_eq!(owner_version_after(cluster, 3), "owners.demo.dev/v1");
    assert!(forbidden(&granted).is_empty());
}
