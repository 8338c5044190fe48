//! The client of one kind.

use std::marker::PhantomData;

use super::Connection;

/// Reads and writes objects of kind `K` with the verbs `V`.
pub struct TypedClient<K, V> {
    _connection: Connection,
    _types: PhantomData<fn() -> (K, V)>,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {}

impl<K, V> TypedClient<K, V> {
    /// A client that sends through `connection`.
    pub fn new(connection: Connection) -> Self {
        Self {
            _connection: connection,
            _types: PhantomData,
        }
    }
}
