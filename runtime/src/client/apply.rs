//! Server-side apply.

use std::borrow::Cow;

use kube::core::params::PatchParams;
use serde::{Deserialize, Serialize, de::IgnoredAny};

use super::{
    ClientError, ResponseFuture, TypedClient,
    may::MayApply,
    request::{ApiRequest, PreparedRequest},
};
use crate::{ApiResource, Kind, NamespacedName};

/// How to apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyOptions {
    force: bool,
    field_manager: Option<String>,
    dry_run: bool,
}

impl Default for ApplyOptions {
    fn default() -> Self {
        Self {
            force: true,
            field_manager: None,
            dry_run: false,
        }
    }
}

impl ApplyOptions {
    /// What [`TypedClient::apply`] does: forced, with the connection's field manager.
    pub fn new() -> Self {
        Self::default()
    }

    /// A field that another manager owns with another value is a conflict instead of being taken over.
    pub fn without_force(self) -> Self {
        Self { force: false, ..self }
    }

    /// Applies as another field manager, to own two sets of fields of one object apart from each other.
    pub fn field_manager(self, name: impl Into<String>) -> Self {
        Self {
            field_manager: Some(name.into()),
            ..self
        }
    }

    /// Everything but keeping the result.
    pub fn dry_run(self) -> Self {
        Self {
            dry_run: true,
            ..self
        }
    }

    fn params(&self, field_manager: &str) -> PatchParams {
        PatchParams {
            dry_run: self.dry_run,
            force: self.force,
            field_manager: Some(self.field_manager.as_deref().unwrap_or(field_manager).to_owned()),
            field_validation: None,
        }
    }
}

impl<K: Kind, V> TypedClient<K, V> {
    /// Server-side apply: makes the operator the owner of the fields that `object` has, sets them, and creates the object if it is missing.
    ///
    /// Fields that an earlier apply had and this one has not are removed; the fields of others stay. `object` is anything that serialises
    /// to the part of the object that the operator wants, with `metadata.name`: `json!`, a struct of its own, or `K` itself, if all fields
    /// that `K` then writes are meant. `apiVersion` and `kind` are filled in.
    ///
    /// Forced, as Kubernetes advises for controllers: a field that another manager owns is taken over, because a conflict would come again
    /// at every reconcile. [`ApplyOptions::without_force`] does not.
    ///
    /// # When no request is sent
    ///
    /// A client of [`Setup::client`](crate::controller::Setup::client) answers from the informers' cache, without a request, if that shows
    /// that the apply would change nothing. All of this must hold:
    ///
    /// - writes may be sent (this replica leads, or there is no leader election), and it is no dry run;
    /// - kind, object, subresource, field manager, force and the SHA-256 of the body equal those of the last successful apply through the
    ///   setup's clients; no other write of theirs to the object came after it or is under way;
    /// - that answer had every value of the intent (a newer API server or CustomResourceDefinition may keep a field that an older one
    ///   dropped) and no `Warning` header;
    /// - an informer of the kind keeps whole objects, and the cached object has the uid and the resource version of that answer;
    /// - that answer is younger than [`Setup::set_apply_cache_ttl`](crate::controller::Setup::set_apply_cache_ttl), 10 minutes by default;
    ///   zero switches this off.
    ///
    /// The object that is returned then is the cached one: it lacks `metadata.managedFields`. It is no write: events, metrics of requests and
    /// whatever waits for the operator's own writes see none. `kubewright_client_applies_skipped_total` counts them.
    ///
    /// # Errors
    ///
    /// An object that was read from the API server is refused if it carries `managedFields`: applying it would make all its fields ours.
    pub fn apply<At>(&self, object: &impl Serialize) -> ResponseFuture<K>
    where
        V: MayApply<At>,
    {
        self.answer(self.applied(None, object, &ApplyOptions::new()))
    }

    /// [`apply`](Self::apply) with options.
    pub fn apply_with<At>(&self, object: &impl Serialize, options: &ApplyOptions) -> ResponseFuture<K>
    where
        V: MayApply<At>,
    {
        self.answer(self.applied(None, object, options))
    }

    pub(super) fn applied(
        &self,
        subresource: Option<&'static str>,
        object: &impl Serialize,
        options: &ApplyOptions,
    ) -> Result<PreparedRequest, ClientError> {
        let call = ApiRequest::new(K::info(), "apply", None)?.subresource(subresource);
        let (call, body) = call.body(object)?;
        let (name, body) = match complete(&call.info, body) {
            Ok(applied) => applied,
            Err(why) => return Err(call.refuse(why)),
        };
        let call = ApiRequest::object(call.info, "apply", &name)?.subresource(subresource);
        let params = options.params(self.connection.field_manager());
        let request = call.patch(&params, "application/apply-patch+yaml", body);
        let prepared = call.prepare(request)?;
        Ok(match params.field_manager {
            Some(field_manager) => prepared.skippable(field_manager),
            None => prepared,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    metadata: HeadMetadata<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct HeadMetadata<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
    managed_fields: Option<Vec<IgnoredAny>>,
}

/// The object's name, and its JSON with `apiVersion` and `kind`.
fn complete(info: &ApiResource, mut body: Vec<u8>) -> Result<(NamespacedName, Vec<u8>), String> {
    let head: Head<'_> = serde_json::from_slice(&body)
        .map_err(|error| format!("what is applied is no object of Kubernetes: {error}"))?;
    let Some(name) = head.metadata.name.as_deref() else {
        return Err("what is applied has no metadata.name".to_owned());
    };
    if head
        .metadata
        .managed_fields
        .is_some_and(|fields| !fields.is_empty())
    {
        return Err(
            "what is applied has metadata.managedFields, as objects that were read have: \
                    apply only the fields that the operator wants to own"
                .to_owned(),
        );
    }
    let name = match head.metadata.namespace.as_deref() {
        Some(namespace) => NamespacedName::namespaced(namespace, name),
        None => NamespacedName::cluster(name),
    };
    let api_version = info.api_version();
    let mut missing = String::new();
    for (field, given, wanted) in [
        ("apiVersion", head.api_version, api_version.as_str()),
        ("kind", head.kind, info.kind.as_ref()),
    ] {
        match given {
            Some(given) if given == wanted => {}
            Some(given) => {
                return Err(format!(
                    "what is applied has {field} {given}, the client's is {wanted}"
                ));
            }
            None => missing.extend(["\"", field, "\":\"", wanted, "\","]),
        }
    }
    // An object with a name is not empty: its first member follows.
    body.splice(1..1, missing.bytes());
    Ok((name, body))
}
