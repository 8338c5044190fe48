//! Getting and listing.

use super::page::Token;
use super::{ListOptions, Registry, Target, VersionMatch};
use crate::status::{ApiError, Cause};
use crate::store::{Object, Page, Store, Unserved};
use std::sync::Arc;

/// A list, or a page of one.
#[derive(Debug)]
pub struct Listing {
    /// In the order of their keys.
    pub objects: Vec<Arc<Object>>,
    /// Of which moment.
    pub revision: u64,
    /// Where to go on; empty at the end.
    pub continue_token: String,
    /// How many there are beyond this page, where that is known.
    pub remaining: Option<usize>,
}

impl Registry {
    /// An object as it is now.
    pub fn get(&self, target: &Target) -> Result<Arc<Object>, ApiError> {
        self.find(target)
            .ok_or_else(|| ApiError::not_found(&target.kind, &target.name))
    }

    pub(super) fn find(&self, target: &Target) -> Option<Arc<Object>> {
        self.store.get(&target.kind.table(), &target.key())
    }

    /// The objects of a resource, in one namespace or in all, of one moment.
    pub fn list(&self, target: &Target, options: &ListOptions) -> Result<Listing, ApiError> {
        target.kind.check_fields(&options.fields)?;
        let token = match options.continue_token.as_str() {
            "" => None,
            text => Some(Token::read(text)?),
        };
        if token.is_some() && options.revision.is_some_and(|revision| revision > 0) {
            let message = "specifying resource version is not allowed when using continue";
            return Err(ApiError::bad_request(message));
        }
        // Any version will do: the real server answers from its cache, and whole.
        let limit = match options.revision {
            Some(0) if options.version_match == VersionMatch::Unset => 0,
            _ => options.limit,
        };
        let at = match (&token, options.revision) {
            (Some(token), _) => token.revision,
            (None, Some(revision)) if is_exact(options) => Some(revision),
            (None, Some(revision)) if revision > self.store.revision() => {
                return Err(too_large(revision, self.store.revision()));
            }
            _ => None,
        };
        let after = token.as_ref().map_or("", |token| token.after.as_str());
        let page = self.page(target, options, after, at, limit);
        let page = page.map_err(|why| refusal(&why, at, token.as_ref()))?;
        Ok(cut(page, target, options, limit))
    }

    fn page(
        &self,
        target: &Target,
        options: &ListOptions,
        after: &str,
        at: Option<u64>,
        limit: usize,
    ) -> Result<Page, Unserved> {
        let table = target.kind.table();
        if let (Some(name), None, "") = (options.fields.exact_name(), at, after)
            && (!target.namespace.is_empty() || !target.kind.namespaced)
        {
            // The version first: what is found may be newer than the list says, never older.
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
        // How many fit on a page is known when it is known what is selected.
        let most = if limit == 0 || options.selects() {
            usize::MAX
        } else {
            limit
        };
        self.store.page(&table, &prefix, after, at, most)
    }
}

impl ListOptions {
    /// The version of the past that a watch goes on from, or of which a list is. None where any will do.
    pub(crate) fn version(&self, watches: bool) -> Option<u64> {
        if watches {
            let goes_on = self.initial_events != Some(true);
            return self.revision.filter(|revision| goes_on && *revision > 0);
        }
        match self.continue_token.as_str() {
            "" => self.revision.filter(|_| is_exact(self)),
            text => Token::read(text).ok()?.revision,
        }
    }
}

/// Whether the version is the very one that is wanted. Version 0 is any.
fn is_exact(options: &ListOptions) -> bool {
    match options.version_match {
        _ if options.revision == Some(0) => false,
        VersionMatch::Exact => true,
        VersionMatch::NotOlderThan => false,
        VersionMatch::Unset => options.limit > 0,
    }
}

/// Selects, and keeps one page.
fn cut(page: Page, target: &Target, options: &ListOptions, limit: usize) -> Listing {
    let Page {
        mut objects,
        remaining: beyond,
        revision,
    } = page;
    let selects = options.selects();
    let total = objects.len() + beyond;
    let selected = |object: &Arc<Object>| options.select(&target.kind, object);
    let (mut continue_token, mut remaining) = (String::new(), None);
    if limit == 0 {
        objects.retain(selected);
    } else {
        let mut seen = 0;
        let of_page = objects.into_iter().inspect(|_| seen += 1);
        objects = of_page.filter(selected).take(limit).collect();
        // There may be more, selected or not, behind a page that is full.
        if let Some(last) = objects.last().filter(|_| objects.len() == limit && seen < total) {
            remaining = (!selects).then_some(total - seen);
            let metadata = last.value();
            let token = Token {
                revision: Some(revision),
                after: Store::key(crate::meta::namespace(metadata), crate::meta::name(metadata)),
            };
            continue_token = token.write();
        }
    }
    Listing {
        objects,
        revision,
        continue_token,
        remaining,
    }
}

fn refusal(why: &Unserved, at: Option<u64>, token: Option<&Token>) -> ApiError {
    match (why, token) {
        (Unserved::Future(newest), _) => too_large(at.unwrap_or(0), *newest),
        (Unserved::Compacted(_), None) => {
            ApiError::expired("The resourceVersion for the provided list is too old.")
        }
        (Unserved::Compacted(_), Some(token)) => {
            let message = "The provided continue parameter is too old to display a consistent list result. You can start a new list \
                without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. \
                Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted \
                between the time the first chunk was returned and now may show up in the list.";
            let token = Token {
                revision: None,
                after: token.after.clone(),
            };
            let mut error = ApiError::expired(message);
            error.continue_token = token.write();
            error
        }
    }
}

/// 504 for a version that is not there yet.
pub(crate) fn too_large(revision: u64, newest: u64) -> ApiError {
    let message = format!("Timeout: Too large resource version: {revision}, current: {newest}");
    let cause = Cause::new(
        "ResourceVersionTooLarge",
        "",
        "Too large resource version".to_owned(),
    );
    ApiError::new(504, "Timeout", message)
        .with_cause(&cause)
        .with_retry_after(1)
}
