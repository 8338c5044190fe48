//! Listing a collection page by page: in one piece, or as a stream.

use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use kube::core::{ListMeta, params::ListParams};
use serde::Deserialize;

use super::{ClientError, Connection, ResponseFuture, TypedClient, may::MayList, request::ApiRequest};
use crate::Kind;

/// How many objects a page holds unless `ListParams` says otherwise; what client-go takes.
const PAGE: u32 = 500;

/// The objects of a collection at one moment.
#[derive(Debug, Clone)]
pub struct ObjectList<K> {
    /// The objects, by namespace and name.
    pub items: Vec<K>,
    /// The collection's version, from which a watch goes on.
    pub resource_version: String,
}

#[derive(Deserialize)]
#[serde(bound = "K: Kind")]
struct Page<K> {
    #[serde(default)]
    metadata: ListMeta,
    // Written by a Go server, an empty list may be null.
    items: Option<Vec<K>>,
}

impl<K: Kind, V> TypedClient<K, V> {
    /// Lists the objects of one namespace, or of all, from the API server.
    ///
    /// All pages are fetched and show the collection at one moment; `params.limit` is the size of a page, 500 unless given. If the first
    /// page is too old before the last is fetched, the list starts again in one piece. An object that is no `K` makes it an error.
    pub fn list<At>(&self, namespace: Option<&str>, params: &ListParams) -> ResponseFuture<ObjectList<K>>
    where
        V: MayList<At>,
    {
        let (connection, params) = (self.connection.clone(), params.clone());
        let call = ApiRequest::new(K::info(), "list", namespace);
        Box::pin(async move { pages(&connection, &call?, params).await })
    }
}

impl<K: Kind, V> TypedClient<K, V> {
    /// The objects of [`list`](Self::list) one after the other, a page in memory at a time; the next page is asked for when it is needed.
    ///
    /// A page that has become too old is an error ([`ClientError::is_expired`]): objects that were handed out cannot be taken back. Nothing
    /// follows an error.
    pub fn list_stream<At>(
        &self,
        namespace: Option<&str>,
        params: &ListParams,
    ) -> BoxStream<'static, Result<K, ClientError>>
    where
        V: MayList<At>,
    {
        let (connection, mut params) = (self.connection.clone(), params.clone());
        params.limit = params.limit.or(Some(PAGE));
        let state = Some((ApiRequest::new(K::info(), "list", namespace), params));
        let pages = stream::unfold(state, move |state| {
            let connection = connection.clone();
            async move {
                let (call, mut params) = state?;
                let page = async {
                    let call = call?;
                    let page: Page<K> = call
                        .clone()
                        .prepare(call.request().list(&params))?
                        .fetch(&connection)
                        .await?;
                    Ok((call, page))
                };
                Some(match page.await {
                    Ok((call, page)) => {
                        params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
                        let next = params.continue_token.is_some().then_some((Ok(call), params));
                        (page.items.unwrap_or_default().into_iter().map(Ok).collect(), next)
                    }
                    Err(error) => (vec![Err(error)], None),
                })
            }
        });
        pages.flat_map(stream::iter).boxed()
    }
}

async fn pages<K: Kind>(
    connection: &Connection,
    call: &ApiRequest,
    mut params: ListParams,
) -> Result<ObjectList<K>, ClientError> {
    if params.limit.is_none() && params.resource_version.as_deref() != Some("0") {
        params.limit = Some(PAGE);
    }
    let mut items = Vec::new();
    loop {
        let prepared = call.clone().prepare(call.request().list(&params))?;
        let page: Page<K> = match prepared.fetch(connection).await {
            Err(error) if error.is_expired() && params.continue_token.is_some() => {
                items.clear();
                (params.limit, params.continue_token) = (None, None);
                continue;
            }
            answer => answer?,
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
