//! An operator that keeps as many Secrets as the `children` entry of a ConfigMap requests, as a ReplicaSet does with Pods.
//!
//! The API server generates the names of the Secrets, so a duplicate create would leave an extra Secret. The reconciler avoids that
//! with expectations.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::ObjectMeta;
use kubewright::{
    Manager, NamespacedName,
    cache::{Lister, LookupError},
    client::{Create, Delete, DeleteParams, TypedClient},
    controller::{
        Action, Expectations, ReconcileError, Reconciler, Setup, Source, controller_reference,
        is_controlled_by,
    },
};

struct SecretSet {
    parents: Lister<ConfigMap>,
    children: Lister<Secret>,
    writer: TypedClient<Secret, (Create, Delete)>,
    expectations: Expectations,
}

impl SecretSet {
    fn register(setup: &mut Setup) {
        let parents = setup.informers().of::<ConfigMap>();
        let children = setup.informers().of::<Secret>();
        let expectations = Expectations::new();
        let reconciler = Self {
            parents: parents.lister(),
            children: children.lister(),
            writer: setup.client(),
            expectations: expectations.clone(),
        };
        setup
            .controller("secret-set", reconciler)
            .reconciles(&parents)
            .owns(Source::of(&children).with_expectations(&expectations))
            .workers(2);
    }

    /// Returns uid and name of the parent's children that are not being deleted.
    fn alive(&self, parent: &ConfigMap, namespace: &str) -> Result<Vec<(String, String)>, ReconcileError> {
        let mut alive = Vec::new();
        for child in self.children.namespace(namespace).list() {
            let metadata = child?.metadata.clone();
            if metadata.deletion_timestamp.is_none() && is_controlled_by(&metadata, parent) {
                alive.extend(metadata.uid.zip(metadata.name));
            }
        }
        Ok(alive)
    }
}

impl Reconciler for SecretSet {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let parent = match self.parents.get(key) {
            Ok(parent) => parent,
            Err(LookupError::NotFound { .. }) => {
                self.expectations.forget(key);
                return Ok(Action::await_change());
            }
            Err(error) => return Err(error.into()),
        };
        let wanted = parent.data.as_ref().and_then(|data| data.get("children"));
        let (Some(wanted), Some(namespace)) = (wanted, key.namespace()) else {
            return Ok(Action::await_change());
        };
        let wanted: usize = wanted.parse()?;
        if !self.expectations.are_satisfied(key) {
            return Ok(Action::await_change());
        }
        let alive = self.alive(&parent, namespace)?;
        let child = Secret {
            metadata: ObjectMeta {
                generate_name: Some(format!("{}-", key.name())),
                namespace: Some(namespace.to_owned()),
                owner_references: Some(vec![controller_reference(&*parent)]),
                ..ObjectMeta::default()
            },
            ..Secret::default()
        };
        if alive.len() < wanted {
            let missing = wanted - alive.len();
            self.expectations
                .create(key, missing, |_| self.writer.create(&child))
                .await?;
        } else if alive.len() > wanted {
            let surplus = &alive[wanted..];
            let uids = surplus.iter().map(|(uid, _)| uid.as_str());
            let delete = |uid: &str| {
                let name = surplus
                    .iter()
                    .find(|(known, _)| known == uid)
                    .map(|(_, name)| name.as_str());
                let name = key.sibling(name.unwrap_or_default());
                self.writer.delete(&name, &DeleteParams::default())
            };
            self.expectations.delete(key, uids, delete).await?;
        }
        Ok(Action::await_change())
    }
}

#[tokio::main]
async fn main() -> kubewright::Result<()> {
    Manager::from_args("secret-set")
        .register(SecretSet::register)
        .run()
        .await
}
