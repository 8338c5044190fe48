//! The indexes of a kind: what `#[informer(index(…))]` declares and the cache builds.

/// The type of an index's values. An object with a value of another type is left out of the index, and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexType {
    /// A string, or a string enum.
    String,
    /// A boolean.
    Bool,
    /// An integer.
    Integer,
}

/// An index by path: its name, and the path of the values in an object's JSON.
///
/// Guaranteed: an object is found by each of its values, once, and in the same snapshot as by its name. An absent value and `null` are not
/// indexed. An object with a value of another type, or with anything but a list at `[*]`, is left out of this index and counted in
/// [`InformerStats::index_errors`](crate::cache::InformerStats::index_errors); the first one is logged.
///
/// Not guaranteed: that a misspelt path is noticed: it finds nothing. Values are read from what the API server sends; with a
/// [transform](crate::cache::StorageMode::Transformed), from its result; with metadata only, from the metadata. An index over a path that a
/// [projection](crate::cache::StorageMode::Projection) does not keep must be added before the informer starts: afterwards adding it is an error.
///
/// The path's grammar: fields `spec.nodeName`, quoted fields `metadata.labels['a.b/c']`, all elements `spec.ports[*].name`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IndexSpec {
    /// The name that listers pass to [`by_index`](crate::cache::Lister::by_index).
    pub name: &'static str,
    /// The path of the values.
    pub path: &'static str,
    /// The type of the values.
    pub value_type: IndexType,
}
