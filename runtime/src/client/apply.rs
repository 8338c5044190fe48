//! Server-side apply of an object or its status.

use std::borrow::Cow;

use kube::core::params::PatchParams;
use serde::{Deserialize, Serialize, de::IgnoredAny};

use super::{
    ClientError, ResponseFuture, TypedClient,
    may::MayApply,
    request::{ApiRequest, PreparedRequest},
};
use crate::{ApiResource, Kind, NamespacedName};

/// Options of a server-side apply: force, field manager, dry run.
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
    /// The options of [`TypedClient::apply`]: with force, and with the connection's field manager.
    pub fn new() -> Self {
        Self::default()
    }

    /// Fails with a conflict if another field manager owns a field with another value, instead of taking it over.
    pub fn without_force(self) -> Self {
        Self { force: false, ..self }
    }

    /// Applies as another field manager, to own two separate sets of fields of one object.
    pub fn field_manager(self, name: impl Into<String>) -> Self {
        Self {
            field_manager: Some(name.into()),
            ..self
        }
    }

    /// Does everything except storing the result.
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
    /// Server-side apply: sets the fields of `object`, with the operator as their field manager, and creates the object if it is missing.
    ///
    /// Fields of an earlier apply that this one lacks are removed, unless others own them. `object` is the intent, anything that serializes
    /// to the fields that the operator wants to own, with `metadata.name`: an [`ObjectApply`](crate::ObjectApply) of
    /// `#[derive(ApplyConfiguration)]`, `json!`, or `K` itself if all its serialized fields are intended. `apiVersion` and `kind` are added.
    ///
    /// With force, as Kubernetes advises for controllers: a field that another manager owns is taken over, because a conflict would occur
    /// again at every reconcile. [`ApplyOptions::without_force`] is the alternative.
    ///
    /// # When no request is sent
    ///
    /// A client of [`Setup::client`](crate::controller::Setup::client) answers from the informers' cache, without a request, if that shows
    /// that the apply would change nothing. All of this must hold:
    ///
    /// - writes may be sent (this replica leads, or leader election is off), and it is not a dry run;
    /// - kind, object, subresource, field manager, force and the SHA-256 of the body equal those of the last successful apply through the
    ///   setup's clients; no other write of theirs to the object came after it or is under way;
    /// - that answer had every value of the intent (a newer API server or CustomResourceDefinition may keep a field that an older one
    ///   dropped) and no `Warning` header;
    /// - an informer of the kind keeps whole objects, and the cached object has the uid and the resource version of that answer;
    /// - that answer is younger than [`Setup::set_apply_cache_ttl`](crate::controller::Setup::set_apply_cache_ttl), 10 minutes by default;
    ///   zero switches this off.
    ///
    /// The returned object is the cached one then: it lacks `metadata.managedFields`. A skipped apply does not count as a write: the
    /// reconcile does not wait for it, and no metric of requests counts it. `kubewright_client_applies_skipped_total` does.
    ///
    /// # Objects of a removed version
    ///
    /// The API server refuses applies of an object whose `metadata.managedFields` name a version that was removed from the definition. Then
    /// the client drops `metadata.managedFields` by a patch that changes nothing else, and applies once more.
    ///
    /// # Errors
    ///
    /// An object with `metadata.managedFields`, as read from the API server, is refused: applying it would make the operator the owner of all
    /// its fields.
    pub fn apply<At>(&self, object: &impl Serialize) -> ResponseFuture<K>
    where
        V: MayApply<At>,
    {
        self.send(self.prepare_apply(None, object, &ApplyOptions::new()))
    }

    /// [`apply`](Self::apply) with options.
    pub fn apply_with<At>(&self, object: &impl Serialize, options: &ApplyOptions) -> ResponseFuture<K>
    where
        V: MayApply<At>,
    {
        self.send(self.prepare_apply(None, object, options))
    }

    pub(super) fn prepare_apply(
        &self,
        subresource: Option<&'static str>,
        object: &impl Serialize,
        options: &ApplyOptions,
    ) -> Result<PreparedRequest, ClientError> {
        let request = ApiRequest::new(K::info(), "apply", None)?.subresource(subresource);
        let (request, body) = request.body(object)?;
        let (name, body) = match complete_intent(&request.info, body) {
            Ok(completed) => completed,
            Err(why) => return Err(request.refuse(why)),
        };
        let request = ApiRequest::object(request.info, "apply", &name)?.subresource(subresource);
        let params = options.params(self.connection.field_manager());
        let http_request = request.patch(&params, "application/apply-patch+yaml", body);
        let prepared = request.prepare(http_request)?;
        Ok(match params.field_manager {
            Some(field_manager) => prepared.skippable(field_manager),
            None => prepared,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IntentHead<'a> {
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    metadata: IntentMetadata<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct IntentMetadata<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
    managed_fields: Option<Vec<IgnoredAny>>,
}

/// Checks the intent. Returns the object's name, and the JSON with `apiVersion` and `kind`.
fn complete_intent(info: &ApiResource, mut body: Vec<u8>) -> Result<(NamespacedName, Vec<u8>), String> {
    let head: IntentHead<'_> = serde_json::from_slice(&body)
        .map_err(|error| format!("the intent is not a Kubernetes object: {error}"))?;
    let Some(name) = head.metadata.name.as_deref() else {
        return Err("the intent has no metadata.name".to_owned());
    };
    if head
        .metadata
        .managed_fields
        .is_some_and(|fields| !fields.is_empty())
    {
        return Err(
            "the intent has metadata.managedFields, as objects that were read have: \
                    apply only the fields that the operator wants to own"
                .to_owned(),
        );
    }
    let name = NamespacedName::in_scope(head.metadata.namespace.as_deref(), name);
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
                    "the intent has {field} {given}, but the client is for {wanted}"
                ));
            }
            None => missing.extend(["\"", field, "\":\"", wanted, "\","]),
        }
    }
    // The object has a name: a member follows after the brace.
    body.splice(1..1, missing.bytes());
    Ok((name, body))
}
