//! Compares a list with a second one of the same version: a check for tests of servers and of this library.

use std::{collections::HashMap, sync::atomic::Ordering};

use super::{Reflector, ReflectorStore, temporary_store::TemporaryStore};
use crate::cache::{ListOptions, resource_version};

/// Differing objects that the log names.
const MAX_LOGGED_NAMES: usize = 10;

impl<S: ReflectorStore> Reflector<S> {
    /// Lists again at exactly this version and compares. Logs and counts the differences; compares nothing if the second list fails.
    pub(super) async fn check_consistency(&mut self, listed: &TemporaryStore, version: &str) {
        if version == "0" || !resource_version::is_number(version) {
            return;
        }
        let options = ListOptions {
            resource_version: version.to_owned(),
            exact: true,
            ..ListOptions::default()
        };
        let ours = listed
            .iter()
            .map(|object| (object.metadata.name().clone(), object));
        let mut ours: HashMap<_, _> = ours.collect();
        let mut differences = Vec::new();
        let second_list = self.page(options, |_, theirs, _| {
            let theirs = &theirs.metadata;
            let is_same = ours.remove(theirs.name()).is_some_and(|ours| {
                let ours = &ours.metadata;
                (ours.uid(), ours.resource_version()) == (theirs.uid(), theirs.resource_version())
            });
            if !is_same {
                differences.push(theirs.name().to_string());
            }
        });
        if let Err(error) = second_list.await {
            let place = self.failure_log.informer();
            tracing::warn!("{place}: cannot check the list of version {version}: {error}");
            return;
        }
        differences.extend(ours.keys().map(ToString::to_string));
        if differences.is_empty() {
            return;
        }
        self.store
            .counters()
            .inconsistencies
            .fetch_add(differences.len() as u64, Ordering::Relaxed);
        differences.sort_unstable();
        let more = differences.len().saturating_sub(MAX_LOGGED_NAMES);
        differences.truncate(MAX_LOGGED_NAMES);
        tracing::error!(
            "{}: the list of version {version} differs from the server's objects: {}{}",
            self.failure_log.informer(),
            differences.join(", "),
            if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            },
        );
    }
}
