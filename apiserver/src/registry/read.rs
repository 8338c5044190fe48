//! The get and list verbs.

use super::update::etcd_prefix;
use super::{API_SERVICES, DEFINITIONS, Registry, Target};
use crate::crd::invalid_ca_bundle;
use crate::kinds::Kind;
use crate::meta::{self, names};
use crate::quote::quoted;
use crate::request::{ContinueToken, ListOptions, RequestInfo, ResourceVersionMatch};
use crate::status::{ApiError, Cause};
use crate::storage::{Object, Page, RevisionError, Store};
use crate::strategy;
use serde_json::Value;
use std::sync::Arc;

/// A list of objects, or one page of it.
#[derive(Debug)]
pub struct Listing {
    /// The objects, ordered by key.
    pub objects: Vec<Arc<Object>>,
    /// The resource version of the list.
    pub revision: u64,
    /// Continues the list after this page; empty on the last page.
    pub continue_token: String,
    /// The number of objects after this page, if it is known.
    pub remaining: Option<usize>,
}

impl Registry {
    /// Returns the current state of an object, or 404.
    pub fn get(&self, target: &Target) -> Result<Arc<Object>, ApiError> {
        check_key(target)?;
        self.find(target)
            .ok_or_else(|| ApiError::not_found(&target.kind, &target.name))
    }

    /// Whether a group and version are those of an extension server.
    pub(crate) fn has_extension_server(&self, group: &str, version: &str) -> bool {
        let object = self.store.get(API_SERVICES, &format!("{version}.{group}"));
        object.is_some_and(|object| strategy::has_service(object.value()))
    }

    /// Returns 500 for a kind that kube-apiserver fails to serve: its names are accepted, but the CA bundle of its conversion is invalid.
    pub(crate) fn resolve(&self, info: &RequestInfo) -> Result<(), ApiError> {
        if self.is_unresolvable(info) {
            return Err(ApiError::internal("error resolving resource"));
        }
        Ok(())
    }

    fn is_unresolvable(&self, info: &RequestInfo) -> bool {
        let definition = self
            .store
            .get(DEFINITIONS, &format!("{}.{}", info.resource, info.group));
        let Some(definition) = definition else {
            return false;
        };
        let spec = &definition.value()["spec"];
        let versions = spec["versions"].as_array().into_iter().flatten();
        let is_served = |version: &Value| version["name"] == info.version && version["served"] == true;
        let fits_scope = if spec["scope"] == "Namespaced" {
            !info.namespace.is_empty() || matches!(info.verb.as_str(), "list" | "watch")
        } else {
            info.namespace.is_empty()
        };
        fits_scope
            && versions.into_iter().any(is_served)
            && meta::has_condition(definition.value(), "NamesAccepted")
            && invalid_ca_bundle(spec).is_some()
    }

    pub(super) fn find(&self, target: &Target) -> Option<Arc<Object>> {
        self.store.get(&target.kind.table(), &target.key())
    }

    /// Lists the objects of a resource in one namespace, or in all, at one resource version. Those that a webhook converts are as they are
    /// stored.
    pub fn list(&self, target: &Target, options: &ListOptions) -> Result<Listing, ApiError> {
        self.list_as(target, options, Ok)
    }

    /// Lists objects as requests to the kind see them. Selectors select by the fields of the requested version.
    pub(crate) fn list_converted(&self, target: &Target, options: &ListOptions) -> Result<Listing, ApiError> {
        self.list_as(target, options, |objects| {
            self.convert_by_webhook(&target.kind, objects)
        })
    }

    fn list_as(
        &self,
        target: &Target,
        options: &ListOptions,
        convert: impl FnOnce(Vec<Arc<Object>>) -> Result<Vec<Arc<Object>>, ApiError>,
    ) -> Result<Listing, ApiError> {
        target.kind.check_field_selector(&options.fields)?;
        check_key(target)?;
        let narrowed = in_selected_namespace(target, options);
        let target = narrowed.as_ref().unwrap_or(target);
        let token = match options.continue_token.as_str() {
            "" => None,
            text => Some(ContinueToken::decode(text)?),
        };
        if token.is_some() && options.revision.is_some_and(|revision| revision > 0) {
            let message = "specifying resource version is not allowed when using continue";
            return Err(ApiError::bad_request(message));
        }
        // resourceVersion=0: kube-apiserver answers from its watch cache, which has no events, and ignores the limit.
        let limit = match options.revision {
            Some(0) if !is_uncached(&target.kind) => 0,
            _ => options.limit,
        };
        // One object that is named is read at the newest version, whatever the limit.
        let is_one = named_object(target, options).is_some();
        let at = match (&token, options.revision) {
            (Some(token), _) => token.revision,
            (None, Some(_)) if is_one && options.version_match == ResourceVersionMatch::Unset => None,
            (None, Some(revision)) if options.requires_exact_version() => Some(revision),
            (None, Some(revision)) if revision > self.store.revision() => {
                return Err(too_large_resource_version(
                    &target.kind,
                    revision,
                    self.store.revision(),
                ));
            }
            _ => None,
        };
        let start = token.as_ref().map(|token| token.start.as_str());
        let page = self.read_page(target, options, start, at, limit);
        let mut page = page.map_err(|why| list_error(&target.kind, &why, at, token.as_ref()))?;
        page.objects = convert(page.objects)?;
        Ok(select_page(page, target, options, limit))
    }

    fn read_page(
        &self,
        target: &Target,
        options: &ListOptions,
        start: Option<&str>,
        at: Option<u64>,
        limit: usize,
    ) -> Result<Page, RevisionError> {
        let table = target.kind.table();
        if let (Some(name), None, None) = (named_object(target, options), at, start) {
            // Read the version first: the object may then be newer than the list's version, but never older.
            let revision = self.store.revision();
            let object = self.store.get(&table, &Store::key(&target.namespace, name));
            let objects = object.into_iter().collect();
            return Ok(Page {
                objects,
                remaining: 0,
                revision,
            });
        }
        let prefix = Store::key(&target.namespace, "");
        // With selectors the page is filled after filtering, so the store must not limit it.
        let limit = if limit == 0 || options.has_selectors() {
            usize::MAX
        } else {
            limit
        };
        let from = format!("{prefix}{}", start.unwrap_or_default());
        self.store.page(&table, &prefix, &from, at, limit)
    }
}

/// Returns the namespace that a field selector requires as the target, for a list of all namespaces. As in kube-apiserver, the pages after
/// the first one are lists of all namespaces again.
fn in_selected_namespace(target: &Target, options: &ListOptions) -> Option<Target> {
    if !target.kind.namespaced || !target.namespace.is_empty() || !options.continue_token.is_empty() {
        return None;
    }
    let namespace = options.fields.exact_value("metadata.namespace")?;
    names::is_label(namespace).then(|| Target::new(&target.kind, namespace, ""))
}

/// Refuses a namespace that would lead to another key in kube-apiserver's storage.
fn check_key(target: &Target) -> Result<(), ApiError> {
    let Target {
        kind,
        namespace,
        name,
    } = target;
    if !matches!(namespace.as_str(), "." | "..") {
        return Ok(());
    }
    let key = format!("/{}/{namespace}/{name}", etcd_prefix(kind));
    let why = format!("invalid key: {}", quoted(key.trim_end_matches('/')));
    Err(ApiError::new(500, "", why))
}

/// Whether kube-apiserver has no watch cache of a kind.
fn is_uncached(kind: &Kind) -> bool {
    kind.plural == "events" && kind.definition.is_none()
}

/// Returns the name of the object that a list is about, if its namespace is known.
fn named_object<'a>(target: &Target, options: &'a ListOptions) -> Option<&'a str> {
    let has_namespace = !target.namespace.is_empty() || !target.kind.namespaced;
    options
        .fields
        .exact_value("metadata.name")
        .filter(|_| has_namespace)
}

/// Applies the selectors and cuts the result to one page.
fn select_page(page: Page, target: &Target, options: &ListOptions, limit: usize) -> Listing {
    let Page {
        mut objects,
        remaining: beyond,
        revision,
    } = page;
    let has_selectors = options.has_selectors();
    let total = objects.len() + beyond;
    let selected = |object: &Arc<Object>| options.matches(&target.kind, object);
    let (mut continue_token, mut remaining) = (String::new(), None);
    if limit == 0 {
        objects.retain(selected);
    } else {
        let mut seen = 0;
        let of_page = objects.into_iter().inspect(|_| seen += 1);
        objects = of_page.filter(selected).take(limit).collect();
        // A full page may be followed by more objects, which may match the selectors or not.
        if let Some(last) = objects.last().filter(|_| objects.len() == limit && seen < total) {
            remaining = (!has_selectors).then_some(total - seen);
            let (namespace, name) = (meta::namespace(last.value()), meta::name(last.value()));
            let key = if target.namespace.is_empty() {
                Store::key(namespace, name)
            } else {
                name.to_owned()
            };
            continue_token = ContinueToken::after(&key, revision).encode();
        }
    }
    Listing {
        objects,
        revision,
        continue_token,
        remaining,
    }
}

fn list_error(kind: &Kind, why: &RevisionError, at: Option<u64>, token: Option<&ContinueToken>) -> ApiError {
    match (why, token) {
        (RevisionError::Future(newest), _) => too_large_resource_version(kind, at.unwrap_or(0), *newest),
        (RevisionError::Compacted(_), None) => {
            ApiError::expired("The resourceVersion for the provided list is too old.")
        }
        (RevisionError::Compacted(_), Some(token)) => {
            let message = "The provided continue parameter is too old to display a consistent list result. You can start a new list \
                without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. \
                Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted \
                between the time the first chunk was returned and now may show up in the list.";
            let token = ContinueToken {
                revision: None,
                start: token.start.clone(),
            };
            let mut error = ApiError::expired(message);
            error.continue_token = token.encode().into();
            error
        }
    }
}

/// The 504 for a resource version that is newer than the newest.
pub(crate) fn too_large_resource_version(kind: &Kind, revision: u64, newest: u64) -> ApiError {
    let message = format!("Timeout: Too large resource version: {revision}, current: {newest}");
    let cause = Cause::new(
        "ResourceVersionTooLarge",
        "",
        "Too large resource version".to_owned(),
    );
    let error = ApiError::new(504, "Timeout", message).with_cause(&cause);
    if is_uncached(kind) {
        return error;
    }
    error.with_retry_after(1)
}
