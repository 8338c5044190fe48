//! Lists in pages, or whole where the server answers from its cache.

use std::sync::Arc;

use super::{Reflector, ReflectorStore, SILENCE, TemporaryStore, in_time, next};
use crate::cache::{
    ListOptions, ListWatchError,
    index::Index,
    scan::{ListSplitter, Listed},
};

const PAGE_SIZE: u32 = 500;

/// A list, put together of its pages.
#[derive(Default)]
struct List {
    objects: TemporaryStore,
    version: String,
    pages: usize,
}

impl<S: ReflectorStore> Reflector<S> {
    /// Puts the whole list into the queue as one replacement.
    pub(super) async fn list(&mut self) -> Result<(), ListWatchError> {
        let version = match &*self.version {
            _ if self.version_unavailable => String::new(),
            "" => "0".to_owned(),
            version => version.to_owned(),
        };
        let first = ["", "0"].contains(&&*version);
        let listed = match self.list_at(&version).await {
            // The last: of a version that is none, which the server itself may have sent.
            Err(error)
                if error.is_expired() || error.is_too_large_version() || (error.is_invalid() && !first) =>
            {
                self.version_unavailable = true;
                self.list_at("").await?
            }
            listed => listed?,
        };
        self.paged |= version == "0" && listed.pages > 1;
        self.replace(listed.objects, &listed.version).await;
        Ok(())
    }

    /// Lists in pages where the server does not answer from its cache anyway; a page that expired costs a full list.
    async fn list_at(&mut self, version: &str) -> Result<List, ListWatchError> {
        let pages_by_itself = self.paged || ["", "0"].contains(&version);
        let first = ListOptions {
            resource_version: version.to_owned(),
            limit: self.options.page_size.or(pages_by_itself.then_some(PAGE_SIZE)),
            ..ListOptions::default()
        };
        match self.pages(first.clone()).await {
            Err((true, error)) if error.is_expired() => {
                self.pages(ListOptions { limit: None, ..first }).await
            }
            listed => listed,
        }
        .map_err(|(_, error)| error)
    }

    /// An error comes with whether it was that of a later page.
    async fn pages(&mut self, mut options: ListOptions) -> Result<List, (bool, ListWatchError)> {
        let mut listed = List::default();
        loop {
            let objects = &mut listed.objects;
            let page = self.page(options.clone(), |reflector, indexes, object| {
                objects.put(reflector.listed(object, indexes));
            });
            let (version, next) = page.await.map_err(|error| (listed.pages > 0, error))?;
            listed.pages += 1;
            if listed.pages == 1 {
                listed.version = version;
            }
            match next {
                None => return Ok(listed),
                token if token == options.continue_token => {
                    let stuck = "each page of the list points at itself as the next".to_owned();
                    return Err((true, ListWatchError::Malformed(stuck)));
                }
                // Later pages are of the first one's version, which the token carries.
                token => {
                    options = ListOptions {
                        resource_version: String::new(),
                        continue_token: token,
                        ..options
                    }
                }
            }
        }
    }

    /// Hands each object of a page to `each`; returns the list's version and the token of the next page.
    pub(super) async fn page(
        &mut self,
        options: ListOptions,
        mut each: impl FnMut(&Self, &[Arc<Index>], Listed),
    ) -> Result<(String, Option<String>), ListWatchError> {
        let indexes = self.store.indexes();
        let mut body = in_time(self.source.list(options)).await?;
        let mut cutter = ListSplitter::new();
        while let Some(chunk) = next(&mut body, SILENCE).await? {
            cutter.push(&chunk, |item| {
                let object = self
                    .scanner
                    .listed(item, &indexes, &|metadata| self.store.find_version(metadata))?;
                each(self, &indexes, object);
                Ok(())
            })?;
        }
        let envelope = cutter.finish()?;
        Ok((envelope.resource_version, envelope.continue_token))
    }
}
