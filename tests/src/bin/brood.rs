//! An operator that keeps as many Secrets as a ConfigMap asks for in its datum `children`. The API server names them, so that a
//! creation too many is a Secret too many: it counts them by expectations.

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

struct Brood {
    parents: Lister<ConfigMap>,
    children: Lister<Secret>,
    writer: TypedClient<Secret, (Create, Delete)>,
    expected: Expectations,
}

impl Brood {
    fn register(setup: &mut Setup) {
        let parents = setup.informers().of::<ConfigMap>();
        let children = setup.informers().of::<Secret>();
        let expected = Expectations::new();
        let reconciler = Self {
            parents: parents.lister(),
            children: children.lister(),
            writer: setup.client(),
            expected: expected.clone(),
        };
        setup
            .controller("brood", reconciler)
            .reconciles(&parents)
            .owns(Source::of(&children).with_expectations(&expected))
            .workers(2);
    }

    /// Uid and name of the parent's children that are not on their way out.
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

impl Reconciler for Brood {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let parent = match self.parents.get(key) {
            Ok(parent) => parent,
            Err(LookupError::NotFound { .. }) => {
                self.expected.forget(key);
                return Ok(Action::await_change());
            }
            Err(error) => return Err(error.into()),
        };
        let wanted = parent.data.as_ref().and_then(|data| data.get("children"));
        let (Some(wanted), Some(namespace)) = (wanted, key.namespace()) else {
            return Ok(Action::await_change());
        };
        let wanted: usize = wanted.parse()?;
        if !self.expected.are_satisfied(key) {
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
            self.expected
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
            self.expected.delete(key, uids, delete).await?;
        }
        Ok(Action::await_change())
    }
}

#[tokio::main]
async fn main() -> kubewright::Result<()> {
    Manager::from_args("brood").register(Brood::register).run().await
}
