//! A persistent hash tree of objects: cloning takes a snapshot, which readers walk without a lock while the writer continues.

use std::{sync::Arc, thread};

use super::{object::StoredObject, prefetch};
use crate::NamespacedName;

/// The number of children of a branch.
const FAN_OUT: usize = 16;
/// The bits of the hash that a level uses.
const BITS_PER_LEVEL: u32 = FAN_OUT.ilog2();
/// A leaf with this many entries becomes a branch when another one is added, unless the hash has no bits left.
const MAX_LEAF_ENTRIES: usize = 64;
/// An iterator prefetches this many objects ahead.
const PREFETCH_AHEAD_OBJECTS: usize = 8;
/// An iterator yields the thread after this many objects, about every half millisecond.
const YIELD_AFTER_OBJECTS: usize = 16 * 1024;

/// Objects by name, as a tree over the hashes of the names.
///
/// Cloning copies one pointer. A later change copies the nodes on the path to the changed object; without clones nothing is copied.
#[derive(Debug, Default, Clone)]
pub(super) struct Tree {
    root: TreeNode,
    length: usize,
}

#[derive(Debug, Default, Clone)]
enum TreeNode {
    #[default]
    Empty,
    /// Sorted by hash.
    Leaf(Arc<Vec<TreeEntry>>),
    Branch(Arc<[TreeNode; FAN_OUT]>),
}

#[derive(Debug, Clone)]
struct TreeEntry {
    hash: u64,
    object: Arc<StoredObject>,
}

impl TreeEntry {
    /// Starts loading the object into the CPU's cache, so that a list does not wait for memory at each object.
    fn prefetch(&self) {
        prefetch::start(&*self.object);
        prefetch::start(&self.object.metadata.labels);
    }
}

impl Tree {
    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the object of that name; `hash` is the hash of the name.
    pub(super) fn get(&self, hash: u64, name: &NamespacedName) -> Option<&Arc<StoredObject>> {
        let entries = self.leaf(hash);
        Some(&entries[find(entries, hash, name).ok()?].object)
    }

    /// Returns the entries of the leaf that the hash belongs to.
    fn leaf(&self, hash: u64) -> &[TreeEntry] {
        let (mut node, mut rest) = (&self.root, hash);
        loop {
            match node {
                TreeNode::Empty => return &[],
                TreeNode::Leaf(entries) => return entries,
                TreeNode::Branch(children) => {
                    node = &children[child(rest)];
                    rest >>= BITS_PER_LEVEL;
                }
            }
        }
    }

    /// Looks up several hashes, each in its tree, and returns the objects that exist. For [`Store::apply`](super::store::Store::apply).
    ///
    /// Each step of one lookup waits for memory, but different lookups do not depend on each other. So all lookups advance by one step
    /// before any advances by the next, without a branch on data that is still being loaded.
    pub(super) fn prefetch<'t>(
        lookups: impl Iterator<Item = (&'t Self, u64)>,
    ) -> impl Iterator<Item = &'t StoredObject> {
        let leaves: Vec<_> = lookups.map(|(tree, hash)| (tree.leaf(hash), hash)).collect();
        let guesses = leaves
            .iter()
            .filter_map(|(entries, hash)| entries.get(guess(entries, *hash)));
        prefetch::read(guesses.map(|entry| entry.hash));
        leaves.into_iter().filter_map(|(entries, hash)| {
            let entry = entries.get(first_of(entries, hash))?;
            (entry.hash == hash).then_some(&*entry.object)
        })
    }

    /// Adds the object; returns the one of the same name that it replaces.
    pub(super) fn insert(&mut self, hash: u64, object: Arc<StoredObject>) -> Option<Arc<StoredObject>> {
        let old = self.root.insert(hash, 0, TreeEntry { hash, object });
        self.length += usize::from(old.is_none());
        old
    }

    /// Removes and returns the object of that name.
    pub(super) fn remove(&mut self, hash: u64, name: &NamespacedName) -> Option<Arc<StoredObject>> {
        // A lookup first, so that no node is copied if the object does not exist.
        self.get(hash, name)?;
        let old = self.root.remove(hash, hash, name)?;
        self.length -= 1;
        Some(old)
    }

    /// Iterates over all objects in no particular order.
    pub(super) fn iter(&self) -> TreeIter<'_> {
        TreeIter {
            nodes: vec![&self.root],
            entries: [].iter(),
            yielder: Yielder::default(),
        }
    }
}

impl TreeNode {
    fn insert(&mut self, hash: u64, depth: u32, entry: TreeEntry) -> Option<Arc<StoredObject>> {
        match self {
            Self::Empty => {
                *self = Self::Leaf(Arc::new(vec![entry]));
                None
            }
            Self::Branch(children) => {
                let rest = hash >> (depth * BITS_PER_LEVEL);
                Arc::make_mut(children)[child(rest)].insert(hash, depth + 1, entry)
            }
            Self::Leaf(entries) => {
                let position = find(entries, hash, entry.object.name());
                let is_full = entries.len() >= MAX_LEAF_ENTRIES && (depth + 1) * BITS_PER_LEVEL < u64::BITS;
                match position {
                    Ok(at) => {
                        let old = std::mem::replace(&mut Arc::make_mut(entries)[at], entry);
                        Some(old.object)
                    }
                    Err(_) if is_full => {
                        let mut children: [Self; FAN_OUT] = Default::default();
                        for entry in entries.iter().cloned().chain([entry]) {
                            children[child(entry.hash >> (depth * BITS_PER_LEVEL))].insert(
                                entry.hash,
                                depth + 1,
                                entry,
                            );
                        }
                        *self = Self::Branch(Arc::new(children));
                        None
                    }
                    Err(at) => {
                        let entries = Arc::make_mut(entries);
                        // Grows by half, not twofold as Vec does: most leaves stay smaller than the maximum.
                        if entries.len() == entries.capacity() {
                            entries.reserve_exact(entries.len() / 2 + 1);
                        }
                        entries.insert(at, entry);
                        None
                    }
                }
            }
        }
    }

    fn remove(&mut self, hash: u64, rest: u64, name: &NamespacedName) -> Option<Arc<StoredObject>> {
        match self {
            Self::Empty => None,
            Self::Leaf(entries) => {
                let at = find(entries, hash, name).ok()?;
                let old = Arc::make_mut(entries).remove(at).object;
                if entries.is_empty() {
                    *self = Self::Empty;
                }
                Some(old)
            }
            Self::Branch(children) => {
                let children = Arc::make_mut(children);
                let old = children[child(rest)].remove(hash, rest >> BITS_PER_LEVEL, name);
                if children.iter().all(|child| matches!(child, Self::Empty)) {
                    *self = Self::Empty;
                }
                old
            }
        }
    }
}

/// Returns the position of the name, or as an error the position where it belongs.
fn find(entries: &[TreeEntry], hash: u64, name: &NamespacedName) -> Result<usize, usize> {
    let mut at = first_of(entries, hash);
    while let Some(entry) = entries.get(at).filter(|entry| entry.hash == hash) {
        if entry.object.name() == name {
            return Ok(at);
        }
        at += 1;
    }
    Err(at)
}

/// Returns the position of the first entry with a hash that is not less. Hashes are uniformly distributed, so that the search starts at the
/// expected position: a binary search would touch more memory outside the CPU's cache.
fn first_of(entries: &[TreeEntry], hash: u64) -> usize {
    let guess = guess(entries, hash);
    let (before, after) = entries.split_at(guess);
    let back = before.iter().rev().take_while(|entry| entry.hash >= hash).count();
    if back > 0 {
        return guess - back;
    }
    guess + after.iter().take_while(|entry| entry.hash < hash).count()
}

/// Returns the expected position of a hash.
fn guess(entries: &[TreeEntry], hash: u64) -> usize {
    let share = (u128::from(hash) * entries.len() as u128) >> u64::BITS;
    usize::try_from(share).unwrap_or_default()
}

/// Returns the position of the child that the lowest bits of `rest` select.
fn child(rest: u64) -> usize {
    usize::try_from(rest % FAN_OUT as u64).unwrap_or_default()
}

/// Yields the thread during long iterations: with many readers and few CPUs, the task that applies events would otherwise wait for whole
/// lists. It does not yield more often, since another thread may then run for long.
#[derive(Debug, Clone, Default)]
struct Yielder {
    walked: usize,
}

impl Yielder {
    /// Counts objects that will be iterated next.
    fn count(&mut self, objects: usize) {
        self.walked += objects;
        if self.walked >= YIELD_AFTER_OBJECTS {
            self.walked = 0;
            thread::yield_now();
        }
    }
}

/// A borrowing iterator over a [`Tree`].
pub(super) struct TreeIter<'t> {
    nodes: Vec<&'t TreeNode>,
    entries: std::slice::Iter<'t, TreeEntry>,
    yielder: Yielder,
}

impl<'t> Iterator for TreeIter<'t> {
    type Item = &'t Arc<StoredObject>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let left = self.entries.as_slice();
            if let Some(entry) = self.entries.next() {
                left.get(PREFETCH_AHEAD_OBJECTS)
                    .into_iter()
                    .for_each(TreeEntry::prefetch);
                return Some(&entry.object);
            }
            match self.nodes.pop()? {
                TreeNode::Empty => {}
                TreeNode::Leaf(entries) => {
                    self.yielder.count(entries.len());
                    entries
                        .iter()
                        .take(PREFETCH_AHEAD_OBJECTS)
                        .for_each(TreeEntry::prefetch);
                    self.entries = entries.iter();
                }
                TreeNode::Branch(children) => self.nodes.extend(children.iter()),
            }
        }
    }
}

impl IntoIterator for Tree {
    type Item = Arc<StoredObject>;
    type IntoIter = TreeIntoIter;

    fn into_iter(self) -> TreeIntoIter {
        TreeIntoIter {
            left: self.length,
            nodes: vec![self.root],
            leaf: Arc::default(),
            next: 0,
            yielder: Yielder::default(),
        }
    }
}

/// An owning iterator over a snapshot.
#[derive(Debug, Clone)]
pub(super) struct TreeIntoIter {
    /// The nodes that were not visited yet.
    nodes: Vec<TreeNode>,
    leaf: Arc<Vec<TreeEntry>>,
    /// The position of the next entry in `leaf`.
    next: usize,
    left: usize,
    yielder: Yielder,
}

impl Iterator for TreeIntoIter {
    type Item = Arc<StoredObject>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.leaf.get(self.next) {
                let ahead = self.leaf.get(self.next + PREFETCH_AHEAD_OBJECTS);
                ahead.into_iter().for_each(TreeEntry::prefetch);
                self.next += 1;
                self.left -= 1;
                return Some(entry.object.clone());
            }
            match self.nodes.pop()? {
                TreeNode::Empty => {}
                TreeNode::Leaf(entries) => {
                    self.yielder.count(entries.len());
                    entries
                        .iter()
                        .take(PREFETCH_AHEAD_OBJECTS)
                        .for_each(TreeEntry::prefetch);
                    (self.leaf, self.next) = (entries, 0);
                }
                TreeNode::Branch(children) => self.nodes.extend(children.iter().cloned()),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for TreeIntoIter {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::{Kind as _, cache::scan::Scanner};

    fn object(number: u16, version: u16) -> Arc<StoredObject> {
        let json = format!(r#"{{"metadata":{{"name":"n{number}","resourceVersion":"{version}"}}}}"#);
        let info = k8s_openapi::api::core::v1::Node::info();
        Arc::new(Scanner::new(&info).object(json.as_bytes(), &[]).unwrap())
    }

    fn entry(object: &Arc<StoredObject>) -> (String, String) {
        let version = object.metadata.resource_version();
        (object.name().to_string(), version.to_owned())
    }

    fn contents(tree: &Tree) -> BTreeMap<String, String> {
        tree.iter().map(entry).collect()
    }

    /// Returns one of `spread` distinct hashes, so that many names share one.
    fn hash(number: u16, spread: u64) -> u64 {
        (u64::from(number) % spread).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn tree_equals_a_map_and_snapshots_do_not_change(
            steps in prop::collection::vec((0u16..400, prop::option::weighted(0.7, any::<u16>()), prop::bool::weighted(0.02)), 0..1500),
            spread in prop::sample::select(vec![1u64, 7, 100_000]),
        ) {
            let (mut tree, mut model) = (Tree::default(), BTreeMap::new());
            let mut snapshots = Vec::new();
            for (number, version, snapshot) in steps {
                let (hash, name) = (hash(number, spread), NamespacedName::cluster(format!("n{number}")));
                let (old, before) = match version {
                    Some(version) => (tree.insert(hash, object(number, version)), model.insert(name.to_string(), version.to_string())),
                    None => (tree.remove(hash, &name), model.remove(&name.to_string())),
                };
                let version = |object: &Arc<StoredObject>| object.metadata.resource_version().to_owned();
                prop_assert_eq!(old.as_ref().map(version), before);
                let found = tree.get(hash, &name).map(version);
                prop_assert_eq!(found.as_ref(), model.get(&name.to_string()));
                prop_assert_eq!(tree.len(), model.len());
                if snapshot {
                    snapshots.push((tree.clone(), model.clone()));
                }
            }
            prop_assert_eq!(&contents(&tree), &model);
            prop_assert_eq!(tree.is_empty(), model.is_empty());
            for (tree, model) in snapshots {
                prop_assert_eq!(&contents(&tree), &model);
                let owned = tree.into_iter();
                prop_assert_eq!(owned.len(), model.len());
                let owned: BTreeMap<_, _> = owned.map(|object| entry(&object)).collect();
                prop_assert_eq!(owned, model);
            }
        }
    }
}
