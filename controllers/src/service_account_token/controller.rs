//! The controller of token Secrets.

use std::{collections::HashMap, sync::Arc};

use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kubewright::{
    NamespacedName,
    cache::{IndexSpec, IndexType, InformerOptions, Items, Lister, Metadata},
    client::{Delete, DeleteParams, Get, Preconditions, TypedClient, Update, retry_on_conflict},
    controller::{Action, OwnEvents, ReconcileError, Reconciler, Setup},
};
use parking_lot::Mutex;

use super::{
    plan::{AccountReference, fill, needs_update},
    signer::TokenSigner,
};
use crate::{
    Options,
    shared::{
        ended::ended,
        service_account::{ServiceAccountView, TOKEN_TYPE},
    },
};

const BY_ACCOUNT: IndexSpec = IndexSpec {
    name: "service account",
    path: "metadata.annotations['kubernetes.io/service-account.name']",
    value_type: IndexType::String,
};

struct TokenSecrets {
    secrets: Lister<Secret>,
    accounts: Lister<ServiceAccountView>,
    secret_client: TypedClient<Secret, (Get, Update, Delete)>,
    account_client: TypedClient<ServiceAccount, (Get, Update)>,
    signer: TokenSigner,
    root_ca: Option<Arc<[u8]>>,
    /// The accounts of the Secrets that were reconciled: a deleted Secret does not name its account any more.
    references: Mutex<HashMap<NamespacedName, AccountReference>>,
}

/// Registers the controller. Its keys are Secrets. Without a valid key it is not registered, and says so.
pub(crate) fn register(setup: &mut Setup, options: &Options) {
    const NAME: &str = "serviceaccount-token-controller";
    let Some(pem) = &options.service_account_private_key else {
        tracing::warn!(
            controller = NAME,
            "controller is disabled: it needs --service-account-private-key-file"
        );
        return;
    };
    let signer = match TokenSigner::from_pem(pem) {
        Ok(signer) => signer,
        Err(error) => {
            let error = format!("--service-account-private-key-file: {error}");
            tracing::error!(controller = NAME, error, "controller does not start");
            setup.readiness_check(NAME, move || Err(error.clone()));
            return;
        }
    };
    let secrets = setup.informers().with::<Secret>(InformerOptions {
        field_selector: Some(format!("type={TOKEN_TYPE}")),
        ..InformerOptions::default()
    });
    if let Err(error) = secrets.add_index(&BY_ACCOUNT) {
        tracing::error!(controller = NAME, %error, "controller does not start");
        setup.readiness_check(NAME, move || Err(error.to_string()));
        return;
    }
    let accounts = setup.informers().projected::<ServiceAccountView>();
    let reconciler = TokenSecrets {
        secrets: secrets.lister(),
        accounts: accounts.lister(),
        secret_client: setup.client(),
        account_client: setup.client(),
        signer,
        root_ca: options.root_ca.clone(),
        references: Mutex::default(),
    };
    let by_account = secrets.lister();
    setup
        .controller(NAME, reconciler)
        .reconciles(&secrets)
        .watches(&accounts, move |change| {
            let Some(account) = ended(change) else {
                return Vec::new();
            };
            secrets_of(&by_account, account)
        })
        .own_events(OwnEvents::Ignore)
        .workers(options.concurrent_serviceaccount_token_syncs);
}

fn secrets_of(secrets: &Lister<Secret>, account: &Metadata) -> Vec<NamespacedName> {
    let namespace = account.name().namespace().unwrap_or_default();
    let found = secrets
        .namespace(namespace)
        .by_index(BY_ACCOUNT.name, account.name().name());
    let found = found.into_iter().flat_map(Items::objects);
    found.map(|secret| secret.name().clone()).collect()
}

impl Reconciler for TokenSecrets {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let Some(secret) = self.secrets.object(key) else {
            let reference = self.references.lock().remove(key);
            if let Some(reference) = reference
                && let Err(error) = self.remove_reference(key, &reference).await
            {
                self.references.lock().insert(key.clone(), reference);
                return Err(error);
            }
            return Ok(Action::await_change());
        };
        let secret = secret.decode()?;
        let Some(reference) = AccountReference::of(&secret) else {
            return Ok(Action::await_change());
        };
        self.references.lock().insert(key.clone(), reference.clone());
        match self
            .account_uid(&key.sibling(reference.name.as_str()), &reference)
            .await?
        {
            None => self.delete(key, &secret).await?,
            Some(uid) if needs_update(&secret, self.root_ca.as_deref()) => {
                self.fill(key, &secret, &uid).await?;
            }
            Some(_) => {}
        }
        Ok(Action::await_change())
    }
}

impl TokenSecrets {
    /// Returns the uid of the Secret's account; none if it does not exist, which only the API server can say.
    async fn account_uid(
        &self,
        name: &NamespacedName,
        reference: &AccountReference,
    ) -> Result<Option<String>, ReconcileError> {
        if let Some(account) = self.accounts.object(name)
            && reference.is_of(Some(account.metadata().uid()))
        {
            return Ok(Some(account.metadata().uid().to_owned()));
        }
        match self.account_client.get(name).await {
            Ok(account) => Ok(account.metadata.uid.filter(|uid| reference.is_of(Some(uid)))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn delete(&self, key: &NamespacedName, secret: &Secret) -> Result<(), ReconcileError> {
        tracing::info!(secret = %key, "deleting the token of a service account that does not exist");
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: secret.metadata.uid.clone(),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match self.secret_client.delete(key, &params).await {
            Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Fills the Secret as the API server has it, since an update replaces all of it. If it changed since, its event leads to another call.
    async fn fill(
        &self,
        key: &NamespacedName,
        cached: &Secret,
        account_uid: &str,
    ) -> Result<(), ReconcileError> {
        let mut live = match self.secret_client.get(key).await {
            Ok(live) => live,
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let root_ca = self.root_ca.as_deref();
        let is_current = live.metadata.resource_version == cached.metadata.resource_version;
        if !is_current || !needs_update(&live, root_ca) {
            return Ok(());
        }
        fill(&mut live, account_uid, root_ca, |claims| self.signer.sign(claims))
            .map_err(|_| ReconcileError::new("signing the token failed: the system has no random numbers"))?;
        match self.secret_client.update(&live).await {
            Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Removes a deleted Secret from the list of its account.
    async fn remove_reference(
        &self,
        key: &NamespacedName,
        reference: &AccountReference,
    ) -> Result<(), ReconcileError> {
        let name = key.sibling(reference.name.as_str());
        let is_cached = self.accounts.object(&name);
        if !is_cached.is_some_and(|account| reference.is_of(Some(account.metadata().uid()))) {
            return Ok(());
        }
        let removed = retry_on_conflict(async || {
            let mut account = match self.account_client.get(&name).await {
                Ok(account) if reference.is_of(account.metadata.uid.as_deref()) => account,
                Ok(_) => return Ok(()),
                Err(error) if error.is_not_found() => return Ok(()),
                Err(error) => return Err(error),
            };
            let is_removed = |secret: &k8s_openapi::api::core::v1::ObjectReference| {
                secret.name.as_deref() == Some(key.name())
            };
            let Some(secrets) = account
                .secrets
                .as_mut()
                .filter(|secrets| secrets.iter().any(is_removed))
            else {
                return Ok(());
            };
            secrets.retain(|secret| !is_removed(secret));
            match self.account_client.update(&account).await {
                Err(error) if !error.is_not_found() => Err(error),
                _ => Ok(()),
            }
        });
        removed.await.map_err(Into::into)
    }
}
