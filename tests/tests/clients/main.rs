//! The clients that people write operators with, unmodified: kube-rs's watchers and controllers, client-go's informers and leader
//! election. Each keeps a copy of a kind while watches end and the history is lost; the copy must be what a list shows.

mod client_go;
mod kube_rs;
mod world;
