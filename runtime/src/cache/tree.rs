//! A set of objects whose clone is a snapshot: readers walk one without holding a lock, while the writer goes on.

use std::{hint::black_box, sync::Arc, thread};

use super::{object::StoredObject, prefetch};
use crate::NamespacedName;

/// Children of a branch; a level takes `BITS` of the hash.
const FAN_OUT: usize = 16;
const BITS: u32 = FAN_OUT.ilog2();
/// A leaf with more entries becomes a branch, unless the hash has no bits left.
const MOST: usize = 64;
/// Who walks through a leaf has the processor read so many objects ahead.
const AHEAD: usize = 8;
/// Of a long list so many objects are walked over before other threads may run: about half a millisecond.
const AT_A_STRETCH: usize = 16 * 1024;

/// Objects by name, as a tree over the names' hashes.
///
/// A clone costs one pointer. What is changed afterwards copies the way to it, and nothing else; without clones nothing is copied.
#[derive(Debug, Default, Clone)]
pub(super) struct Tree {
    root: Node,
    length: usize,
}

#[derive(Debug, Default, Clone)]
enum Node {
    #[default]
    Empty,
    /// Sorted by hash.
    Leaf(Arc<Vec<Entry>>),
    Branch(Arc<[Node; FAN_OUT]>),
}

#[derive(Debug, Clone)]
struct Entry {
    hash: u64,
    object: Arc<StoredObject>,
}

impl Entry {
    /// Has the processor read the object meanwhile: who lists would wait for each.
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

    /// The object of that name; `hash` is the name's.
    pub(super) fn get(&self, hash: u64, name: &NamespacedName) -> Option<&Arc<StoredObject>> {
        let entries = self.leaf(hash);
        Some(&entries[find(entries, hash, name).ok()?].object)
    }

    /// The entries among which the hash stands, or would.
    fn leaf(&self, hash: u64) -> &[Entry] {
        let (mut node, mut rest) = (&self.root, hash);
        loop {
            match node {
                Node::Empty => return &[],
                Node::Leaf(entries) => return entries,
                Node::Branch(children) => {
                    node = &children[child(rest)];
                    rest >>= BITS;
                }
            }
        }
    }

    /// Reads what stands in the way to each hash in its tree, and gives the objects that are there: see [`Store::apply`].
    ///
    /// What one look-up reads waits for what it has read before, from memory; what another one reads does not. So all are brought one
    /// step further before the next, without a branch over what is still on its way.
    ///
    /// [`Store::apply`]: super::store::Store::apply
    pub(super) fn fetch<'t>(
        lookups: impl Iterator<Item = (&'t Self, u64)>,
    ) -> impl Iterator<Item = &'t StoredObject> {
        let leaves: Vec<_> = lookups.map(|(tree, hash)| (tree.leaf(hash), hash)).collect();
        let near = leaves
            .iter()
            .filter_map(|(entries, hash)| entries.get(guess(entries, *hash)));
        black_box(near.fold(0, |sum: u64, entry| sum.wrapping_add(entry.hash)));
        leaves.into_iter().filter_map(|(entries, hash)| {
            let entry = entries.get(first_of(entries, hash))?;
            (entry.hash == hash).then_some(&*entry.object)
        })
    }

    /// Puts the object in the place of what has its name, which is returned.
    pub(super) fn insert(&mut self, hash: u64, object: Arc<StoredObject>) -> Option<Arc<StoredObject>> {
        let old = self.root.insert(hash, 0, Entry { hash, object });
        self.length += usize::from(old.is_none());
        old
    }

    /// Takes the object of that name out.
    pub(super) fn remove(&mut self, hash: u64, name: &NamespacedName) -> Option<Arc<StoredObject>> {
        // Looked for first, so that nothing is copied for what is not there.
        self.get(hash, name)?;
        let old = self.root.remove(hash, hash, name)?;
        self.length -= 1;
        Some(old)
    }

    /// All objects, in the order of their hashes, which is none.
    pub(super) fn iter(&self) -> Iter<'_> {
        Iter {
            nodes: vec![&self.root],
            entries: [].iter(),
            pauses: Pauses::default(),
        }
    }
}

impl Node {
    fn insert(&mut self, hash: u64, depth: u32, entry: Entry) -> Option<Arc<StoredObject>> {
        match self {
            Self::Empty => {
                *self = Self::Leaf(Arc::new(vec![entry]));
                None
            }
            Self::Branch(children) => {
                let rest = hash >> (depth * BITS);
                Arc::make_mut(children)[child(rest)].insert(hash, depth + 1, entry)
            }
            Self::Leaf(entries) => {
                let place = find(entries, hash, entry.object.name());
                let full = entries.len() >= MOST && (depth + 1) * BITS < u64::BITS;
                match place {
                    Ok(at) => {
                        let old = std::mem::replace(&mut Arc::make_mut(entries)[at], entry);
                        Some(old.object)
                    }
                    Err(_) if full => {
                        let mut children: [Self; FAN_OUT] = Default::default();
                        for entry in entries.iter().cloned().chain([entry]) {
                            children[child(entry.hash >> (depth * BITS))].insert(
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
                        // Half as much as Vec would: most leaves stay smaller than the largest.
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
                let old = children[child(rest)].remove(hash, rest >> BITS, name);
                if children.iter().all(|child| matches!(child, Self::Empty)) {
                    *self = Self::Empty;
                }
                old
            }
        }
    }
}

/// Where the name stands, or where it belongs.
fn find(entries: &[Entry], hash: u64, name: &NamespacedName) -> Result<usize, usize> {
    let mut at = first_of(entries, hash);
    while let Some(entry) = entries.get(at).filter(|entry| entry.hash == hash) {
        if entry.object.name() == name {
            return Ok(at);
        }
        at += 1;
    }
    Err(at)
}

/// The first entry whose hash is not less. Hashes are evenly spread, so it is looked for where it should be: halving would touch more of
/// what is not in the processor's cache.
fn first_of(entries: &[Entry], hash: u64) -> usize {
    let guess = guess(entries, hash);
    let (before, after) = entries.split_at(guess);
    let back = before.iter().rev().take_while(|entry| entry.hash >= hash).count();
    if back > 0 {
        return guess - back;
    }
    guess + after.iter().take_while(|entry| entry.hash < hash).count()
}

fn guess(entries: &[Entry], hash: u64) -> usize {
    let share = (u128::from(hash) * entries.len() as u128) >> u64::BITS;
    usize::try_from(share).unwrap_or_default()
}

fn child(rest: u64) -> usize {
    usize::try_from(rest % FAN_OUT as u64).unwrap_or_default()
}

/// When a walk lets other threads run: where readers are many and processors few, who applies events would else wait for whole lists.
/// Not oftener, for each time somebody may come between that has much to do.
#[derive(Debug, Clone, Default)]
struct Pauses {
    walked: usize,
}

impl Pauses {
    /// So many objects will be walked over next.
    fn walked(&mut self, objects: usize) {
        self.walked += objects;
        if self.walked >= AT_A_STRETCH {
            self.walked = 0;
            thread::yield_now();
        }
    }
}

/// Iterates over a [`Tree`].
pub(super) struct Iter<'t> {
    nodes: Vec<&'t Node>,
    entries: std::slice::Iter<'t, Entry>,
    pauses: Pauses,
}

impl<'t> Iterator for Iter<'t> {
    type Item = &'t Arc<StoredObject>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let left = self.entries.as_slice();
            if let Some(entry) = self.entries.next() {
                left.get(AHEAD).into_iter().for_each(Entry::prefetch);
                return Some(&entry.object);
            }
            match self.nodes.pop()? {
                Node::Empty => {}
                Node::Leaf(entries) => {
                    self.pauses.walked(entries.len());
                    entries.iter().take(AHEAD).for_each(Entry::prefetch);
                    self.entries = entries.iter();
                }
                Node::Branch(children) => self.nodes.extend(children.iter()),
            }
        }
    }
}

impl IntoIterator for Tree {
    type Item = Arc<StoredObject>;
    type IntoIter = IntoIter;

    fn into_iter(self) -> IntoIter {
        IntoIter {
            left: self.length,
            nodes: vec![self.root],
            leaf: Arc::default(),
            next: 0,
            pauses: Pauses::default(),
        }
    }
}

/// The objects of a snapshot, which it holds.
#[derive(Debug, Clone)]
pub(super) struct IntoIter {
    /// What was not yet come to.
    nodes: Vec<Node>,
    leaf: Arc<Vec<Entry>>,
    /// The next of `leaf`.
    next: usize,
    left: usize,
    pauses: Pauses,
}

impl Iterator for IntoIter {
    type Item = Arc<StoredObject>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.leaf.get(self.next) {
                let ahead = self.leaf.get(self.next + AHEAD);
                ahead.into_iter().for_each(Entry::prefetch);
                self.next += 1;
                self.left -= 1;
                return Some(entry.object.clone());
            }
            match self.nodes.pop()? {
                Node::Empty => {}
                Node::Leaf(entries) => {
                    self.pauses.walked(entries.len());
                    entries.iter().take(AHEAD).for_each(Entry::prefetch);
                    (self.leaf, self.next) = (entries, 0);
                }
                Node::Branch(children) => self.nodes.extend(children.iter().cloned()),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for IntoIter {}

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

    /// Few distinct hashes: many names share one.
    fn hash(number: u16, spread: u64) -> u64 {
        (u64::from(number) % spread).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Against a map; and what was cloned stays as it was.
        #[test]
        fn it_is_a_map_whose_clones_stay_as_they_are(
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
