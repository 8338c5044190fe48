//! Prunes a value to the paths of a projection.

use super::{ScanError, cursor::Cursor, object::write_key};
use crate::cache::storage_mode::Paths;

/// Appends the value at the cursor to `kept`, pruned to the paths. Recurses as deep as the paths.
///
/// A value of another type than the paths expect is kept whole: decoding it reports the error.
pub(super) fn prune(cursor: &mut Cursor<'_>, paths: &Paths, kept: &mut Vec<u8>) -> Result<(), ScanError> {
    let value = cursor.value()?;
    let (mut inner, mut first) = (Cursor::new(value), true);
    match paths {
        Paths::Fields(fields) if value.starts_with('{') => {
            kept.push(b'{');
            while let Some(key) = inner.entry(&mut first)? {
                match fields.iter().find(|(field, _)| *field == key) {
                    Some((_, paths)) => {
                        write_key(kept, &key);
                        prune(&mut inner, paths, kept)?;
                    }
                    None => {
                        inner.value()?;
                    }
                }
            }
            kept.push(b'}');
        }
        Paths::Elements(paths) if value.starts_with('[') => {
            kept.push(b'[');
            let mut comma = false;
            while inner.element(&mut first)? {
                if std::mem::replace(&mut comma, true) {
                    kept.push(b',');
                }
                prune(&mut inner, paths, kept)?;
            }
            kept.push(b']');
        }
        _ => kept.extend_from_slice(value.as_bytes()),
    }
    Ok(())
}
