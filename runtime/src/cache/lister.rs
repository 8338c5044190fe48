//! Reading the store.

use std::{marker::PhantomData, sync::Arc};

use super::{DecodeError, Object};
use crate::{ObjectName, View};

/// Reads the objects of one informer's store. Cloning copies a pointer.
pub struct Lister<K> {
    _kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Self { _kind: PhantomData }
    }
}

/// Why [`Lister::get`] has no object.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LookupError {
    /// The cache holds no such object.
    #[error("{kind} {name} not found in the cache")]
    NotFound {
        /// The kind.
        kind: String,
        /// The name asked for.
        name: ObjectName,
    },
    /// The object is there and is no `K`.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// The value of an index.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum IndexKey {
    /// A string.
    String(Arc<str>),
    /// A boolean.
    Bool(bool),
    /// An integer.
    Integer(i64),
}

/// The objects that a list found, as they were at that moment; decoded one by one as the iterator advances.
pub struct Items<K> {
    _kind: PhantomData<fn() -> K>,
}

impl<K: View> Iterator for Items<K> {
    type Item = Result<Arc<K>, DecodeError>;
    fn next(&mut self) -> Option<Self::Item> {
        unimplemented!()
    }
}

impl<K: View> Items<K> {
    /// The objects without decoding them.
    pub fn objects(self) -> impl Iterator<Item = Object<K>> {
        std::iter::empty()
    }
}

impl<K: View> Lister<K> {
    /// The object of that name, decoded.
    pub fn get(&self, _name: &ObjectName) -> Result<Arc<K>, LookupError> {
        unimplemented!()
    }
    /// The object of that name, not decoded.
    pub fn object(&self, _name: &ObjectName) -> Option<Object<K>> {
        unimplemented!()
    }
    /// All objects, in no particular order.
    pub fn list(&self) -> Items<K> {
        unimplemented!()
    }
    /// The objects whose labels match.
    pub fn select(&self, _selector: &kube::core::Selector) -> Items<K> {
        unimplemented!()
    }
    /// The objects of one namespace.
    pub fn namespace(&self, _namespace: &str) -> NamespaceLister<K> {
        unimplemented!()
    }
    /// The objects that have `value` in the index `index`, found by hash; none when there is no such index.
    pub fn by_index(&self, _index: &str, _value: impl Into<IndexKey>) -> Items<K> {
        unimplemented!()
    }
}

/// [`Lister`] of one namespace.
pub struct NamespaceLister<K> {
    _kind: PhantomData<fn() -> K>,
}

impl<K: View> NamespaceLister<K> {
    /// The object of that name, decoded.
    pub fn get(&self, _name: &str) -> Result<Arc<K>, LookupError> {
        unimplemented!()
    }
    /// All objects of the namespace.
    pub fn list(&self) -> Items<K> {
        unimplemented!()
    }
    /// Those whose labels match.
    pub fn select(&self, _selector: &kube::core::Selector) -> Items<K> {
        unimplemented!()
    }
}

impl From<&str> for IndexKey {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}
impl From<String> for IndexKey {
    fn from(value: String) -> Self {
        Self::String(value.into())
    }
}
impl From<&String> for IndexKey {
    fn from(value: &String) -> Self {
        Self::String(value.as_str().into())
    }
}
impl From<bool> for IndexKey {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}
impl From<i64> for IndexKey {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}
impl From<i32> for IndexKey {
    fn from(value: i32) -> Self {
        Self::Integer(value.into())
    }
}
impl From<u32> for IndexKey {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}
