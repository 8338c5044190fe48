//! The temporary store: the objects of a list that is being received.

use std::{hash::BuildHasher as _, sync::Arc};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::{NamespacedName, cache::object::StoredObject};

/// Objects in the order in which they arrived. Of several with one name, the last counts.
#[derive(Default)]
pub(super) struct TemporaryStore {
    /// None for an object that was deleted again.
    objects: Vec<Option<Arc<StoredObject>>>,
    /// Positions in `objects`, by name.
    positions: HashTable<usize>,
    hasher: DefaultHashBuilder,
}

impl TemporaryStore {
    pub(super) fn put(&mut self, object: Arc<StoredObject>) {
        let Self {
            objects,
            positions,
            hasher,
        } = self;
        let name = object.metadata.name();
        let hash = hasher.hash_one(name);
        if let Some(&position) = positions.find(hash, |position| is_at(objects, *position, name)) {
            objects[position] = Some(object);
            return;
        }
        let rehash = |position: &usize| {
            let object = objects[*position].as_ref();
            object.map_or(0, |object| hasher.hash_one(object.metadata.name()))
        };
        positions.insert_unique(hash, objects.len(), rehash);
        objects.push(Some(object));
    }

    pub(super) fn delete(&mut self, name: &NamespacedName) {
        let Self {
            objects,
            positions,
            hasher,
        } = self;
        if let Ok(entry) =
            positions.find_entry(hasher.hash_one(name), |position| is_at(objects, *position, name))
        {
            let (position, _) = entry.remove();
            objects[position] = None;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<StoredObject>> {
        self.objects.iter().flatten()
    }

    pub(super) fn into_objects(self) -> Vec<Arc<StoredObject>> {
        self.objects.into_iter().flatten().collect()
    }
}

fn is_at(objects: &[Option<Arc<StoredObject>>], position: usize, name: &NamespacedName) -> bool {
    objects[position]
        .as_ref()
        .is_some_and(|object| object.metadata.name() == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{Kind as _, cache::scan::Scanner};

    proptest! {
        /// Compared with a map; objects that were not replaced keep their order.
        #[test]
        fn last_object_of_each_name_counts(steps in prop::collection::vec((0u8..8, any::<bool>()), 0..60)) {
            let mut scanner = Scanner::new(&k8s_openapi::api::core::v1::Node::info());
            let (mut temporary, mut model, mut order) = (TemporaryStore::default(), BTreeMap::new(), Vec::new());
            for (version, (key, is_put)) in steps.into_iter().enumerate() {
                let json = json!({"metadata": {"name": format!("n{key}"), "resourceVersion": version.to_string()}}).to_string();
                let object = Arc::new(scanner.object(json.as_bytes(), &[]).unwrap());
                let name = object.metadata.name().clone();
                if is_put {
                    if model.insert(name.clone(), version.to_string()).is_none() { order.push(name); }
                    temporary.put(object);
                } else {
                    if model.remove(&name).is_some() { order.retain(|known| *known != name); }
                    temporary.delete(&name);
                }
            }
            prop_assert_eq!(temporary.positions.len(), model.len());
            let expected: Vec<_> = order.into_iter().map(|name| (name.clone(), model[&name].clone())).collect();
            let version = |object: &StoredObject| object.metadata.resource_version().to_owned();
            let objects = temporary.into_objects();
            let found: Vec<_> = objects.iter().map(|object| (object.metadata.name().clone(), version(object))).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
