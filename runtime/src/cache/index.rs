//! Indexes by JSON path.

/// The type of an index's values. Other types of value in the object are not indexed and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexType {
    /// A string, or a string enum.
    String,
    /// A boolean.
    Bool,
    /// An integer.
    Integer,
}

/// An index: its name and the path of the values in the object's JSON.
///
/// The path's grammar: fields `spec.nodeName`, quoted fields `metadata.labels['a.b/c']`, all elements `spec.ports[*].name`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IndexSpec {
    /// The name by which listers ask for it.
    pub name: &'static str,
    /// Where the values are.
    pub path: &'static str,
    /// What they are.
    pub value_type: IndexType,
}
