//! Whether a list brought what the server holds: for tests, of servers and of this library.

use std::{collections::HashMap, sync::atomic::Ordering};

use super::{Reflector, ReflectorStore, TemporaryStore};
use crate::cache::{ListOptions, resource_version};

/// So many differences are named in the log.
const NAMED: usize = 10;

impl<S: ReflectorStore> Reflector<S> {
    /// Lists again, at the very same version, and compares. What differs is logged and counted; a list that fails compares nothing.
    pub(super) async fn check_consistency(&mut self, gathered: &TemporaryStore, version: &str) {
        if version == "0" || !resource_version::is_number(version) {
            return;
        }
        let options = ListOptions {
            resource_version: version.to_owned(),
            exact: true,
            ..ListOptions::default()
        };
        let ours = gathered
            .iter()
            .map(|object| (object.metadata.name().clone(), object));
        let mut ours: HashMap<_, _> = ours.collect();
        let mut differences = Vec::new();
        let listed = self.page(options, |_, _, theirs| {
            let theirs = theirs.metadata();
            let is_same = ours.remove(theirs.name()).is_some_and(|ours| {
                let ours = &ours.metadata;
                (ours.uid(), ours.resource_version()) == (theirs.uid(), theirs.resource_version())
            });
            if !is_same {
                differences.push(theirs.name().to_string());
            }
        });
        if let Err(error) = listed.await {
            let place = self.complaints.place();
            tracing::warn!("{place}: what was listed of version {version} cannot be checked: {error}");
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
        let more = differences.len().saturating_sub(NAMED);
        differences.truncate(NAMED);
        tracing::error!(
            "{}: what was listed of version {version} is not what the server holds: {}{}",
            self.complaints.place(),
            differences.join(", "),
            if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            },
        );
    }
}
