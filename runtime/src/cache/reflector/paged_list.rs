//! Lists: whole from the server's watch cache, or in pages from its storage.

use std::sync::Arc;

use super::{
    Reflector, ReflectorStore,
    reflector::{MAX_SILENCE, next_chunk, response_in_time},
    relist::stored_or_encoded,
    temporary_store::TemporaryStore,
};
use crate::cache::{
    ListOptions, ListWatchError,
    index::Index,
    scan::{ListSplitter, ScannedObject},
};

/// Objects in a page, where the server would return a page or read its storage anyway.
const PAGE_SIZE: u32 = 500;

/// A list, collected from its pages.
#[derive(Default)]
struct CollectedList {
    objects: TemporaryStore,
    version: String,
    pages: usize,
}

impl<S: ReflectorStore> Reflector<S> {
    /// Lists, and replaces the store's objects of the namespace at once.
    pub(super) async fn list(&mut self) -> Result<(), ListWatchError> {
        let version = match &*self.version {
            _ if self.version_unavailable => String::new(),
            "" => "0".to_owned(),
            version => version.to_owned(),
        };
        let first = ["", "0"].contains(&&*version);
        let listed = match self.list_at(&version).await {
            // Invalid: a version that the server itself may have sent.
            Err(error)
                if error.is_expired() || error.is_too_large_version() || (error.is_invalid() && !first) =>
            {
                self.version_unavailable = true;
                self.list_at("").await?
            }
            listed => listed?,
        };
        self.is_paging |= version == "0" && listed.pages > 1;
        self.replace(listed.objects, &listed.version).await;
        Ok(())
    }

    /// Lists in pages where the server does not use its watch cache anyway. If a page has expired, lists in one response.
    async fn list_at(&mut self, version: &str) -> Result<CollectedList, ListWatchError> {
        let reads_storage = self.is_paging || ["", "0"].contains(&version);
        let first = ListOptions {
            resource_version: version.to_owned(),
            limit: self.options.page_size.or(reads_storage.then_some(PAGE_SIZE)),
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

    /// Lists all pages. An error has a flag: whether a later page than the first failed.
    async fn pages(&mut self, mut options: ListOptions) -> Result<CollectedList, (bool, ListWatchError)> {
        let mut listed = CollectedList::default();
        loop {
            let objects = &mut listed.objects;
            let page = self.page(options.clone(), |store, object, indexes| {
                objects.put(stored_or_encoded(store, object, indexes));
            });
            let (version, next) = page.await.map_err(|error| (listed.pages > 0, error))?;
            listed.pages += 1;
            if listed.pages == 1 {
                listed.version = version;
            }
            match next {
                None => return Ok(listed),
                token if token == options.continue_token => {
                    let stuck = "a page of the list names itself as the next page".to_owned();
                    return Err((true, ListWatchError::Malformed(stuck)));
                }
                // The token has the version of the first page.
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
        mut each: impl FnMut(&S, ScannedObject<'_>, &[Arc<Index>]),
    ) -> Result<(String, Option<String>), ListWatchError> {
        let Self {
            store,
            scanner,
            source,
            ..
        } = self;
        let indexes = store.indexes();
        let mut body = response_in_time(source.list(options)).await?;
        let mut splitter = ListSplitter::new();
        while let Some(chunk) = next_chunk(&mut body, MAX_SILENCE).await? {
            splitter.push(&chunk, |item| {
                let object = scanner.item(item, |owners| store.prefetch(owners))?;
                each(store, object, &indexes);
                Ok(())
            })?;
        }
        let envelope = splitter.finish()?;
        Ok((envelope.resource_version, envelope.continue_token))
    }
}
