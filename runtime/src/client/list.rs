//! Lists a collection in pages: as one result, or as a stream.

use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use kube::core::{ListMeta, params::ListParams};
use serde::Deserialize;

use super::{ClientError, Connection, ResponseFuture, TypedClient, may::MayList, request::ApiRequest};
use crate::Kind;

/// The number of objects in a page unless `ListParams` sets one; client-go's default.
const DEFAULT_PAGE_SIZE: u32 = 500;

/// A consistent snapshot of a collection.
#[derive(Debug, Clone)]
pub struct ObjectList<K> {
    /// The objects, sorted by namespace and name.
    pub items: Vec<K>,
    /// The collection's resource version, from which a watch continues.
    pub resource_version: String,
}

#[derive(Deserialize)]
#[serde(bound = "K: Kind")]
struct ListPage<K> {
    #[serde(default)]
    metadata: ListMeta,
    // A Go server may write an empty list as null.
    items: Option<Vec<K>>,
}

impl<K: Kind, V> TypedClient<K, V> {
    /// Lists the objects of one namespace, or of all, from the API server.
    ///
    /// All pages are fetched, as one consistent snapshot. `params.limit` is the page size, 500 by default. If the snapshot expires (410) before
    /// the last page is fetched, the list is restarted without pages. An object that does not decode as `K` makes it fail.
    pub fn list<At>(&self, namespace: Option<&str>, params: &ListParams) -> ResponseFuture<ObjectList<K>>
    where
        V: MayList<At>,
    {
        let (connection, params) = (self.connection.clone(), params.clone());
        let request = ApiRequest::new(K::info(), "list", namespace);
        Box::pin(async move { list_all_pages(&connection, &request?, params).await })
    }
}

impl<K: Kind, V> TypedClient<K, V> {
    /// Streams the objects of [`list`](Self::list), with one page in memory at a time. A page is requested when the stream needs it.
    ///
    /// An expired snapshot is an error ([`ClientError::is_expired`]), because objects that were returned cannot be taken back. The stream
    /// ends after an error.
    pub fn list_stream<At>(
        &self,
        namespace: Option<&str>,
        params: &ListParams,
    ) -> BoxStream<'static, Result<K, ClientError>>
    where
        V: MayList<At>,
    {
        let (connection, mut params) = (self.connection.clone(), params.clone());
        params.limit = params.limit.or(Some(DEFAULT_PAGE_SIZE));
        let state = Some((ApiRequest::new(K::info(), "list", namespace), params));
        let pages = stream::unfold(state, move |state| {
            let connection = connection.clone();
            async move {
                let (request, mut params) = state?;
                let page = async {
                    let request = request?;
                    let page: ListPage<K> = request
                        .clone()
                        .prepare(request.builder().list(&params))?
                        .fetch(&connection)
                        .await?;
                    Ok((request, page))
                };
                Some(match page.await {
                    Ok((request, page)) => {
                        params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
                        let next = params.continue_token.is_some().then_some((Ok(request), params));
                        (page.items.unwrap_or_default().into_iter().map(Ok).collect(), next)
                    }
                    Err(error) => (vec![Err(error)], None),
                })
            }
        });
        pages.flat_map(stream::iter).boxed()
    }
}

async fn list_all_pages<K: Kind>(
    connection: &Connection,
    request: &ApiRequest,
    mut params: ListParams,
) -> Result<ObjectList<K>, ClientError> {
    if params.limit.is_none() && params.resource_version.as_deref() != Some("0") {
        params.limit = Some(DEFAULT_PAGE_SIZE);
    }
    let mut items = Vec::new();
    loop {
        let prepared = request.clone().prepare(request.builder().list(&params))?;
        let page: ListPage<K> = match prepared.fetch(connection).await {
            Err(error) if error.is_expired() && params.continue_token.is_some() => {
                items.clear();
                (params.limit, params.continue_token) = (None, None);
                continue;
            }
            response => response?,
        };
        items.extend(page.items.unwrap_or_default());
        params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if params.continue_token.is_none() {
            let resource_version = page.metadata.resource_version.unwrap_or_default();
            return Ok(ObjectList {
                items,
                resource_version,
            });
        }
    }
}
