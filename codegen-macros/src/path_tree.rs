//! The paths of a projection as a tree with shared prefixes.

use crate::path::Segment;

/// The part of a value that is read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PathTree {
    /// All of it, for the path with this number.
    Value(usize),
    /// Fields of an object.
    Fields(Vec<(String, PathTree)>),
    /// All elements of a list.
    Elements(Box<PathTree>),
}

/// A conflict of two paths, with the number of the one inserted first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PathConflict {
    /// One path is equal to the other, or a prefix of it.
    Overlap(usize),
    /// One path treats a value as an object, the other as a list.
    ObjectAndList(usize),
}

impl PathTree {
    /// Returns a tree without paths.
    pub(crate) fn new() -> Self {
        Self::Fields(Vec::new())
    }

    /// Inserts a path with its number. On a conflict nothing changes.
    pub(crate) fn insert(&mut self, path: &[Segment], number: usize) -> Result<(), PathConflict> {
        match (self, path) {
            (Self::Fields(fields), [Segment::Field(name), rest @ ..]) => {
                match fields.iter_mut().find(|(field, _)| field == name) {
                    Some((_, tree)) => tree.insert(rest, number)?,
                    None => fields.push((name.clone(), Self::from_path(rest, number))),
                }
                Ok(())
            }
            (Self::Elements(tree), [Segment::Each, rest @ ..]) => tree.insert(rest, number),
            (Self::Value(other), _) => Err(PathConflict::Overlap(*other)),
            (tree, []) => Err(PathConflict::Overlap(tree.first())),
            (tree, _) => Err(PathConflict::ObjectAndList(tree.first())),
        }
    }

    fn from_path(path: &[Segment], number: usize) -> Self {
        match path {
            [] => Self::Value(number),
            [Segment::Field(name), rest @ ..] => {
                Self::Fields(vec![(name.clone(), Self::from_path(rest, number))])
            }
            [Segment::Each, rest @ ..] => Self::Elements(Box::new(Self::from_path(rest, number))),
        }
    }

    /// Returns the number of the first path; 0 for the empty tree.
    fn first(&self) -> usize {
        match self {
            Self::Value(number) => *number,
            Self::Fields(fields) => fields.first().map_or(0, |(_, tree)| tree.first()),
            Self::Elements(tree) => tree.first(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PathConflict, PathTree};
    use crate::path::JsonPath;

    fn inserted(paths: &[&str]) -> Result<PathTree, PathConflict> {
        let mut tree = PathTree::new();
        for (number, path) in paths.iter().enumerate() {
            tree.insert(&JsonPath::parse(path).unwrap().0, number)?;
        }
        Ok(tree)
    }

    #[test]
    fn common_prefixes_are_shared() {
        let field = |name: &str, tree| (name.to_owned(), tree);
        let ports = PathTree::Elements(Box::new(PathTree::Fields(vec![
            field("name", PathTree::Value(0)),
            field("port", PathTree::Value(2)),
        ])));
        let spec = PathTree::Fields(vec![field("ports", ports), field("x.y", PathTree::Value(3))]);
        let tree = PathTree::Fields(vec![field("spec", spec), field("kind", PathTree::Value(1))]);
        let paths = [
            "spec.ports[*].name",
            "kind",
            "spec['ports'][*].port",
            "spec['x.y']",
        ];
        assert_eq!(inserted(&paths), Ok(tree));
    }

    #[test]
    fn overlapping_paths_conflict() {
        for (first, second) in [
            ("spec.a", "spec.a"),
            ("spec.a", "spec.a.b"),
            ("spec.a.b", "spec.a"),
            ("spec.a[*]", "spec.a"),
            ("spec.a", "spec.a[*].b"),
            ("spec.a[*]", "spec['a'][*]"),
        ] {
            let conflict = inserted(&["kind", first, second]).unwrap_err();
            assert_eq!(conflict, PathConflict::Overlap(1), "{first} {second}");
        }
        for (first, second) in [("spec.a.b", "spec.a[*].b"), ("spec[*]", "spec.a")] {
            let conflict = inserted(&["kind", first, second]).unwrap_err();
            assert_eq!(conflict, PathConflict::ObjectAndList(1), "{first} {second}");
        }
    }
}
