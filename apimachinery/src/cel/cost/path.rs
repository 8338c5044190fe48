//! Paths from a variable to the part of the schema that an expression selects.

use std::cell::RefCell;
use std::rc::Rc;

/// The names of a path: a variable, then fields, `@items`, `@keys` and `@values`. Empty for values that the expression makes.
///
/// Estimates depend on that cel-go's paths are slices that are appended to in place: where the capacity suffices, two paths with the same
/// beginning share memory, and the name that was appended last replaces the other one. This does the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    names: Rc<RefCell<Vec<String>>>,
    length: usize,
    capacity: usize,
}

impl Path {
    pub(super) fn of_variable(name: &str) -> Self {
        Self::default().append(name)
    }

    /// Returns the path with one more name.
    pub(super) fn append(&self, name: &str) -> Self {
        let length = self.length + 1;
        if length > self.capacity {
            return self.copy_and_append(name);
        }
        let mut names = self.names.borrow_mut();
        match names.get_mut(self.length) {
            Some(shared) => name.clone_into(shared),
            None => names.push(name.to_owned()),
        }
        Self {
            names: self.names.clone(),
            length,
            capacity: self.capacity,
        }
    }

    /// Returns a path with one more name that shares no memory with this one.
    pub(super) fn copy_and_append(&self, name: &str) -> Self {
        let mut names = self.names();
        names.push(name.to_owned());
        Self {
            length: names.len(),
            names: Rc::new(RefCell::new(names)),
            capacity: (2 * self.capacity).max(1),
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.names.borrow()[..self.length].to_vec()
    }
}
