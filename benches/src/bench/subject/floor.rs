//! The floor: lists and watches, and discards the bytes. Every client with this HTTP transport costs at least this much.

use anyhow::Result;
use futures::StreamExt as _;
use http_body_util::BodyExt as _;
use kube::{Client, Config, client::Body};
use memchr::memmem;

use kubewright_benches::pods::END_MARKER_NAMESPACE;

use super::count_key;

/// The end of the end marker's watch line; no other object's line ends like this.
const END_MARKER_SUFFIX: &[u8] = b"{}}}\n";

pub(crate) async fn run(config: Config) -> Result<()> {
    let client = Client::try_from(config)?;
    loop {
        let mut version = String::new();
        let list = get(&client, "resourceVersion=0").await?;
        read(list, |chunk| {
            if version.is_empty() {
                version = resource_version(chunk);
            }
        })
        .await?;
        count_key(Some(END_MARKER_NAMESPACE));
        let watch = get(&client, &format!("watch=true&resourceVersion={version}")).await?;
        read(watch, |chunk| {
            if chunk.ends_with(END_MARKER_SUFFIX) {
                count_key(Some(END_MARKER_NAMESPACE));
            }
        })
        .await?;
    }
}

async fn get(client: &Client, query: &str) -> Result<Body> {
    let request = http::Request::get(format!("/api/v1/pods?{query}")).body(Body::empty())?;
    Ok(client.send(request).await?.into_body())
}

async fn read(body: Body, mut on_chunk: impl FnMut(&[u8])) -> Result<()> {
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        on_chunk(&chunk?);
    }
    Ok(())
}

/// Returns the first resource version in the text, which is the list's.
fn resource_version(head: &[u8]) -> String {
    const KEY: &[u8] = br#""resourceVersion":""#;
    let digits = memmem::find(head, KEY).map(|at| &head[at + KEY.len()..]);
    let digits = digits.unwrap_or_default().iter();
    digits
        .take_while(|digit| digit.is_ascii_digit())
        .map(|&digit| char::from(digit))
        .collect()
}
