//! Events of custom resources that a webhook converts. Each watch converts its own, on a thread that may block.

use super::event::{EventSerializer, append_change};
use super::feed::{CHANGES_PER_READ, FeedChunk, too_old};
use crate::kinds::Kind;
use crate::registry::Registry;
use crate::request::ListOptions;
use crate::status::ApiError;
use crate::storage::Change;
use std::sync::Arc;

/// Returns the events after a revision that match the selectors. More events may follow the chunk.
pub(super) fn read(
    registry: &Registry,
    kind: &Kind,
    prefix: &str,
    options: &ListOptions,
    serializer: &mut EventSerializer,
    after: u64,
) -> Result<FeedChunk, ApiError> {
    let changes = registry.store.changes(&kind.table(), after, CHANGES_PER_READ);
    let (changes, until) = changes.map_err(|why| too_old(kind, after, &why))?;
    let mut lines = vec![];
    let changes = changes.into_iter();
    let selected: Vec<Arc<Change>> = changes.filter(|change| change.key.starts_with(prefix)).collect();
    for change in convert(registry, kind, &selected)? {
        append_change(kind, options, serializer, &change, &mut lines);
    }
    Ok(FeedChunk {
        after,
        until: until.max(after),
        lines: lines.into(),
    })
}

/// Converts the objects of all changes at once.
fn convert(registry: &Registry, kind: &Kind, changes: &[Arc<Change>]) -> Result<Vec<Change>, ApiError> {
    let objects = changes
        .iter()
        .flat_map(|change| [Some(&change.object), change.before.as_ref()]);
    let objects = objects.flatten().cloned().collect();
    let mut converted = registry.convert_by_webhook(kind, objects)?.into_iter();
    let changes = changes.iter().map(|change| Change {
        kind: change.kind,
        revision: change.revision,
        key: change.key.clone(),
        object: converted.next().unwrap_or_else(|| change.object.clone()),
        before: change.before.as_ref().and_then(|_| converted.next()),
    });
    Ok(changes.collect())
}
