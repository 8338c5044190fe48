//! Unmodified client libraries against the API servers: kube-rs's watchers and controllers, client-go's informers and leader election.
//! Each client caches the objects of a kind while watches are closed and the history is compacted; the cache must equal a list.

mod client_go;
mod followed_kind;
mod kube_rs;
