//! Owners that are known not to exist, so that the API server is not asked again for each of their dependents.

use std::collections::{HashSet, VecDeque};

use kubewright::{NamespacedName, cache::OwnerRef};
use parking_lot::Mutex;

/// As many as upstream remembers.
const CAPACITY: usize = 500;

/// The place and the uid that an owner reference names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct OwnerPlace {
    pub(super) api_version: Box<str>,
    pub(super) kind: Box<str>,
    pub(super) name: NamespacedName,
    pub(super) uid: Box<str>,
}

/// The last owners that were found to be absent. A uid never returns, so none has to be taken back.
#[derive(Debug, Default)]
pub(super) struct AbsentOwners(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    places: HashSet<OwnerPlace>,
    order: VecDeque<OwnerPlace>,
}

impl OwnerPlace {
    /// Returns where the reference of an object points to, if the owner has this namespace.
    pub(super) fn of(owner: &OwnerRef, namespace: Option<&str>) -> Self {
        Self {
            api_version: (&*owner.api_version).into(),
            kind: (&*owner.kind).into(),
            name: match namespace {
                Some(namespace) => NamespacedName::namespaced(namespace, &*owner.name),
                None => NamespacedName::cluster(&*owner.name),
            },
            uid: (&*owner.uid).into(),
        }
    }
}

impl AbsentOwners {
    pub(super) fn insert(&self, place: OwnerPlace) {
        let mut memory = self.0.lock();
        if !memory.places.insert(place.clone()) {
            return;
        }
        memory.order.push_back(place);
        if memory.order.len() > CAPACITY
            && let Some(oldest) = memory.order.pop_front()
        {
            memory.places.remove(&oldest);
        }
    }

    pub(super) fn contains(&self, place: &OwnerPlace) -> bool {
        self.0.lock().places.contains(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: usize) -> OwnerPlace {
        OwnerPlace {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            name: NamespacedName::namespaced("shop", name.to_string()),
            uid: "1".into(),
        }
    }

    #[test]
    fn the_last_owners_are_remembered_each_once() {
        let absent = AbsentOwners::default();
        for name in 0..CAPACITY {
            absent.insert(place(name));
            absent.insert(place(name));
        }
        assert!(absent.contains(&place(0)));
        absent.insert(place(CAPACITY));
        assert!(!absent.contains(&place(0)) && absent.contains(&place(1)));
        let other_uid = OwnerPlace {
            uid: "2".into(),
            ..place(1)
        };
        assert!(!absent.contains(&other_uid));
    }
}
