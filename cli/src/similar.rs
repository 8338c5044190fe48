//! Names that a user probably meant.

/// Whether the names differ only in case, separators or one letter.
pub(crate) fn is_similar(known: &str, written: &str) -> bool {
    let bare = |text: &str| {
        text.chars()
            .filter(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_lowercase()
    };
    let (known, written) = (bare(known), bare(written));
    let (long, short) = if known.len() >= written.len() {
        (&known, &written)
    } else {
        (&written, &known)
    };
    let same = long
        .bytes()
        .zip(short.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let rest = |text: &str, skip: usize| text.get(same + skip..).map(str::to_owned);
    known == written
        || (long.len() == short.len() && rest(long, 1) == rest(short, 1))
        || (long.len() == short.len() + 1 && rest(long, 1) == rest(short, 0))
}

#[cfg(test)]
mod tests {
    use super::is_similar;

    #[test]
    fn similar_names_differ_in_case_separators_or_one_letter() {
        for (written, similar) in [
            ("Foos", true),
            ("fo-os", true),
            ("fooz", true),
            ("foo", true),
            ("fooss", true),
            ("fo", false),
            ("bars", false),
        ] {
            assert_eq!(is_similar("foos", written), similar, "{written}");
        }
    }
}
