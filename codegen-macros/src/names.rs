//! Names of a kind: plurals and Rust identifiers.

use proc_macro2::Span;
use syn::{Ident, ext::IdentExt};

/// Returns kube-derive's default plural of a singular.
pub(crate) fn plural(singular: &str) -> String {
    let before_y = singular
        .strip_suffix('y')
        .and_then(|stem| Some((stem, stem.chars().next_back()?)));
    match before_y {
        _ if ["s", "x", "z", "ch", "sh"]
            .iter()
            .any(|end| singular.ends_with(end)) =>
        {
            format!("{singular}es")
        }
        Some((stem, last)) if !"aeiou".contains(last) => format!("{stem}ies"),
        _ => format!("{singular}s"),
    }
}

/// Returns the plural in snake case, split at the kind's words: `FooBar` and `foobars` give `foo_bars`, `ShopPerson` and `shoppeople`
/// give `shop_people`. A plural unrelated to the kind is not split. `-` becomes `_`.
pub(crate) fn snake_plural(kind: &str, plural: &str) -> String {
    let mut snake = String::with_capacity(plural.len() + 4);
    let mut kind = kind.chars().peekable();
    let mut before = None;
    let mut follows_kind = true;
    for c in plural.chars() {
        let of_kind = kind.next();
        follows_kind = follows_kind && of_kind.is_some_and(|of_kind| of_kind.to_ascii_lowercase() == c);
        if follows_kind && starts_word(before, of_kind, kind.peek().copied()) {
            snake.push('_');
        }
        before = of_kind;
        snake.push(if c == '-' { '_' } else { c });
    }
    snake
}

/// Returns the name in UpperCamelCase: `FooBar` for `fooBar`, `foo_bar` and `foo-bar`.
pub(crate) fn upper_camel(name: &str) -> String {
    let capitalized = |word: &str| {
        let mut chars = word.chars();
        let first = chars.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(chars).collect::<String>()
    };
    name.split(['_', '-']).map(capitalized).collect()
}

/// Returns the identifier with that name, raw if it is a keyword; none if the name is not a valid identifier.
pub(crate) fn identifier(name: &str) -> Option<Ident> {
    syn::parse_str::<Ident>(name)
        .ok()
        .or_else(|| syn::parse_str::<Ident>(&format!("r#{name}")).ok())
}

/// Returns the identifier, raw if it is a keyword; none if it is not valid even as a raw one. Its span points at the attribute and
/// counts as macro code for lints.
pub(crate) fn raw_if_keyword(name: &Ident) -> Option<Ident> {
    let mut identifier = identifier(&name.unraw().to_string())?;
    identifier.set_span(name.span().resolved_at(Span::call_site()));
    Some(identifier)
}

/// Whether `c` starts a word in an UpperCamelCase name: `HTTPRoute` and `S3Bucket` have two words each.
fn starts_word(before: Option<char>, c: Option<char>, next: Option<char>) -> bool {
    let (Some(before), Some(c)) = (before, c) else {
        return false;
    };
    let in_acronym = before.is_ascii_uppercase() && !next.is_some_and(|next| next.is_ascii_lowercase());
    c.is_ascii_uppercase() && !in_acronym
}

#[cfg(test)]
mod tests {
    use super::{identifier, plural, snake_plural};

    #[test]
    fn plurals_match_kube_derive() {
        for (singular, expected) in [
            ("foo", "foos"),
            ("box", "boxes"),
            ("bus", "buses"),
            ("fez", "fezes"),
            ("batch", "batches"),
            ("mesh", "meshes"),
            ("policy", "policies"),
            ("gateway", "gateways"),
            ("y", "ys"),
            ("", "s"),
        ] {
            assert_eq!(plural(singular), expected);
        }
    }

    #[test]
    fn snake_plural_splits_at_the_words_of_the_kind() {
        for (kind, plural, expected) in [
            ("Foo", "foos", "foos"),
            ("FooBar", "foobars", "foo_bars"),
            ("NetworkPolicy", "networkpolicies", "network_policies"),
            ("HTTPRoute", "httproutes", "http_routes"),
            ("IPPool", "ippools", "ip_pools"),
            ("TLS", "tlses", "tlses"),
            ("S3Bucket", "s3buckets", "s3_buckets"),
            ("Person", "people", "people"),
            ("ShopPerson", "shoppeople", "shop_people"),
            ("FooBar", "gadgets", "gadgets"),
            ("FooBar", "foo-bars", "foo_bars"),
        ] {
            assert_eq!(snake_plural(kind, plural), expected, "{kind}");
        }
    }

    #[test]
    fn keywords_become_raw() {
        let text = |name| identifier(name).map(|identifier| identifier.to_string());
        assert_eq!(text("foos").as_deref(), Some("foos"));
        assert_eq!(text("match").as_deref(), Some("r#match"));
        for none in ["self", "Self", "crate", "super", "_", "", "1st", "a b"] {
            assert_eq!(text(none), None, "{none}");
        }
    }
}
