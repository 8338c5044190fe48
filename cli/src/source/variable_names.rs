//! The names of variables, functions, fields and methods in a file about a kind.
//!
//! A field or method of another type may have the name of a variable: only those that the file defines for its own types are renamed. A name
//! stays wherever its uses cannot be told apart.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream};

use super::name_uses::{NameUses, Place};

/// Returns the identifiers that are the file's own names, among those that `is_name` selects. Modules in paths are left out, and the `method` of
/// the informer factory.
pub(super) fn own_names(
    tokens: TokenStream,
    method: &str,
    is_imported: &dyn Fn(&str) -> bool,
    is_name: &dyn Fn(&str) -> bool,
) -> Vec<Ident> {
    let found = NameUses::of(tokens, method);
    let mut kept: BTreeSet<String> = found.captured.clone();
    let mut fields = &found.own_fields - &found.other_fields;
    // The two names of a short form change together.
    let short: BTreeSet<String> = found.uses_of(|place| place == Place::Short { is_own: true });
    kept.extend(short.iter().filter(|name| !fields.contains(*name)).cloned());
    kept.extend(found.uses_of(|place| place == Place::Short { is_own: false }));
    for name in &short {
        if kept.contains(name) || is_imported(name) {
            fields.remove(name);
            kept.insert(name.clone());
        }
    }
    let methods = &found.own_methods - &found.other_methods;
    let is_renamed = |(ident, place): &(Ident, Place)| {
        let name = ident.to_string();
        is_name(&name)
            && match place {
                Place::Variable => !kept.contains(&name) && !is_imported(&name),
                Place::Field { is_own } => *is_own && fields.contains(&name),
                Place::Short { is_own } => *is_own && fields.contains(&name) && !kept.contains(&name),
                Place::Method => methods.contains(&name),
            }
    };
    let uses = found.names.into_iter();
    uses.filter(is_renamed).map(|(ident, _)| ident).collect()
}
