//! The paths of a projection as one tree, in which what they share stands once.

use crate::path::Segment;

/// What is read of a value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PathTree {
    /// All of it, by the path with that number.
    Value(usize),
    Fields(Vec<(String, PathTree)>),
    Elements(Box<PathTree>),
}

/// Why two paths cannot be in one tree, with the number of the one that was there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// What one leads to is, or is part of, what the other leads to.
    Overlap(usize),
    /// What is an object to one is a list to the other.
    ObjectAndList(usize),
}

impl PathTree {
    /// A tree without paths.
    pub(crate) fn new() -> Self {
        Self::Fields(Vec::new())
    }

    /// Adds a path under a number of its own; where it cannot be added, nothing changes.
    pub(crate) fn insert(&mut self, path: &[Segment], number: usize) -> Result<(), Conflict> {
        match (self, path) {
            (Self::Fields(fields), [Segment::Field(name), rest @ ..]) => {
                match fields.iter_mut().find(|(field, _)| field == name) {
                    Some((_, tree)) => tree.insert(rest, number)?,
                    None => fields.push((name.clone(), Self::of(rest, number))),
                }
                Ok(())
            }
            (Self::Elements(tree), [Segment::Each, rest @ ..]) => tree.insert(rest, number),
            (Self::Value(other), _) => Err(Conflict::Overlap(*other)),
            (tree, []) => Err(Conflict::Overlap(tree.first())),
            (tree, _) => Err(Conflict::ObjectAndList(tree.first())),
        }
    }

    fn of(path: &[Segment], number: usize) -> Self {
        match path {
            [] => Self::Value(number),
            [Segment::Field(name), rest @ ..] => Self::Fields(vec![(name.clone(), Self::of(rest, number))]),
            [Segment::Each, rest @ ..] => Self::Elements(Box::new(Self::of(rest, number))),
        }
    }

    /// The number of the first path; only the empty tree has none.
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
    use super::{Conflict, PathTree};
    use crate::path::JsonPath;

    fn inserted(paths: &[&str]) -> Result<PathTree, Conflict> {
        let mut tree = PathTree::new();
        for (number, path) in paths.iter().enumerate() {
            tree.insert(&JsonPath::parse(path).unwrap().0, number)?;
        }
        Ok(tree)
    }

    #[test]
    fn what_paths_share_stands_once() {
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
    fn paths_to_a_common_value_conflict() {
        for (first, second) in [
            ("spec.a", "spec.a"),
            ("spec.a", "spec.a.b"),
            ("spec.a.b", "spec.a"),
            ("spec.a[*]", "spec.a"),
            ("spec.a", "spec.a[*].b"),
            ("spec.a[*]", "spec['a'][*]"),
        ] {
            let conflict = inserted(&["kind", first, second]).unwrap_err();
            assert_eq!(conflict, Conflict::Overlap(1), "{first} {second}");
        }
        for (first, second) in [("spec.a.b", "spec.a[*].b"), ("spec[*]", "spec.a")] {
            let conflict = inserted(&["kind", first, second]).unwrap_err();
            assert_eq!(conflict, Conflict::ObjectAndList(1), "{first} {second}");
        }
    }
}
