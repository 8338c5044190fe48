//! Components: parts of an operator that work by themselves, such as the controllers of kube-controller-manager.

use std::{mem, sync::Arc};

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::{PermissionScope, Setup};
use crate::{
    Kind,
    cache::InformerHandle,
    client::{Connection, TypedClient, Verbs},
};

/// A part of an operator; see [`Setup::component`].
pub(crate) struct Component {
    pub(crate) name: Arc<str>,
    /// The service account as which its clients act, where components act as such; none: they act as the operator.
    pub(crate) service_account: Option<Arc<str>>,
    /// The connection of its clients.
    pub(crate) connection: Connection,
    /// The informers that it asked for.
    pub(crate) informers: Vec<InformerHandle>,
}

impl Component {
    /// The name for its permissions; none: they are the operator's.
    fn role(&self) -> Option<&str> {
        self.service_account.as_ref().map(|_| &*self.name)
    }
}

/// The components of a setup that is complete.
pub(crate) struct RegisteredComponents {
    pub(crate) all: Vec<Component>,
    /// The namespace of their service accounts, if they act as such.
    pub(crate) service_accounts: Option<String>,
    /// The informers that were asked for outside of components.
    pub(crate) other_informers: Vec<InformerHandle>,
}

/// The components of a setup.
#[derive(Default)]
pub(super) struct Components {
    all: Vec<Component>,
    /// The index of the component that is being registered.
    pub(super) current: Option<usize>,
    /// The namespace of the service accounts as which the components' clients act; none: they act as the operator.
    service_accounts: Option<String>,
}

impl Setup {
    /// Registers a part of the operator that works by itself, for programs with many independent controllers: `register` is called with this
    /// setup. What it registers differs in these points from what is registered outside:
    ///
    /// - Its clients have a rate limit of their own, as high as the operator's, and with
    ///   [`component_service_accounts`](Self::component_service_accounts) credentials of their own. The manifests have a role for it.
    /// - Its events name it as the reporting controller.
    /// - It starts when the informers that it asked for have synced, and does not wait for those of others: a kind that the API server does
    ///   not serve only stops the components that read it. The readiness check `component-NAME` says so.
    /// - A runnable that fails or panics does not stop the operator: it is logged, and the readiness check fails from then on. Nothing can
    ///   wait for a runnable of a component.
    ///
    /// Informers are shared with the rest of the operator. They, the writer of events and leader election act as the operator.
    pub fn component(&mut self, name: impl Into<Arc<str>>, register: impl FnOnce(&mut Self)) {
        let name = name.into();
        let component = Component {
            service_account: Some(name.clone()),
            name,
            connection: self.operator_connection().for_component(),
            informers: Vec::new(),
        };
        let index = self.components.all.len();
        self.components.all.push(component);
        let outer = self.components.current.replace(index);
        let informers = self.informers().clone();
        let asked_for = informers.record_requests(Some(Vec::new()));
        register(self);
        let own = informers.record_requests(asked_for);
        self.components.all[index].informers = own.unwrap_or_default();
        self.components.current = outer;
    }

    /// Lets the clients of each component act as a service account in this namespace: that of the component's name, or of
    /// [`service_account`](Self::service_account). The operator creates the account where it does not exist, and requests tokens, which are
    /// renewed before they expire. Adds the permissions for both.
    pub fn component_service_accounts(&mut self, namespace: impl Into<String>) -> &mut Self {
        self.components.service_accounts = Some(namespace.into());
        self.needs(PolicyRule {
            api_groups: Some(vec![String::new()]),
            resources: Some(vec!["serviceaccounts".into(), "serviceaccounts/token".into()]),
            verbs: vec!["create".into()],
            ..PolicyRule::default()
        })
    }

    /// Sets the service account of the component that is being registered, for [`component_service_accounts`](Self::component_service_accounts).
    /// Call it first in [`component`](Self::component). None: the clients act as the operator, whose role has their permissions then.
    pub fn service_account(&mut self, name: Option<&str>) -> &mut Self {
        match self.components.current {
            Some(index) => self.components.all[index].service_account = name.map(Into::into),
            None => self.warn("`service_account` is called outside of a component and changes nothing"),
        }
        self
    }

    /// Returns a client that acts as the operator, also within a component, and whose permissions are the operator's: for reads in place of
    /// an informer, which acts as the operator as well.
    pub fn operator_client<K: Kind, V: Verbs<K>>(&mut self) -> TypedClient<K, V> {
        let current = self.components.current.take();
        let client = self.client();
        self.components.current = current;
        client
    }

    /// Adds a rule to the operator's permissions, also within a component: for informers of kinds that only the running operator knows, which
    /// act as the operator.
    pub fn operator_needs_in(&mut self, scope: PermissionScope, rule: PolicyRule) -> &mut Self {
        let component = self.components.current.take();
        self.needs_in(scope, rule);
        self.components.current = component;
        self
    }

    /// Takes the components. Informers are no longer recorded afterwards.
    pub(crate) fn take_components(&mut self) -> RegisteredComponents {
        let components = mem::take(&mut self.components);
        RegisteredComponents {
            all: components.all,
            service_accounts: components.service_accounts,
            other_informers: self.informers().record_requests(None).unwrap_or_default(),
        }
    }
}

impl Components {
    pub(super) fn current(&self) -> Option<&Component> {
        self.all.get(self.current?)
    }

    /// The name of the component that is being registered, if its clients have permissions of their own.
    pub(super) fn current_role(&self) -> Option<&str> {
        self.current().and_then(Component::role)
    }

    /// The name for the permissions of the component at the index.
    pub(super) fn role(&self, index: usize) -> Option<&str> {
        self.all[index].role()
    }

    /// The name of the component at the index.
    pub(super) fn name(&self, index: usize) -> &str {
        &self.all[index].name
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|component| &*component.name)
    }
}
