//! Formats of texts that are numbers with a meaning: of credit cards, books and persons, and colors.

use regex::Regex;
use std::sync::LazyLock;

type Pattern = LazyLock<Option<Regex>>;

static CREDIT_CARD: Pattern = LazyLock::new(|| {
    compile(
        "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|\
         3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$",
    )
});
static SSN: Pattern = LazyLock::new(|| compile("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$"));
static RGB_COLOR: Pattern = LazyLock::new(|| {
    let number = r"[\t\n\f\r ]*(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\f\r ]*";
    compile(&format!(r"^rgb\({number},{number},{number}\)$"))
});

fn compile(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

fn matches(pattern: &Pattern, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Whether a text contains the number of a credit card, with a valid check digit.
pub(super) fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let doubled = |digit: u32| digit * 2 / 10 + digit * 2 % 10;
    let from_the_right = digits.chars().rev().filter_map(|c| c.to_digit(10));
    let weighted = from_the_right
        .enumerate()
        .map(|(at, digit)| if at % 2 == 1 { doubled(digit) } else { digit });
    matches(&CREDIT_CARD, &digits) && weighted.sum::<u32>().is_multiple_of(10)
}

/// Whether a text is an ISBN of ten digits, of which the last may be X for 10.
pub(super) fn is_isbn10(text: &str) -> bool {
    let digits = without_separators(text);
    let (body, check) = digits.split_at(digits.len().min(9));
    let Some(check) = (match check {
        ['X'] => Some(10),
        [check] => check.to_digit(10),
        _ => None,
    }) else {
        return false;
    };
    let body: Option<Vec<u32>> = body.iter().map(|digit| digit.to_digit(10)).collect();
    let sum = |body: Vec<u32>| (1..).zip(body).map(|(at, digit)| at * digit).sum::<u32>();
    body.is_some_and(|body| (sum(body) + 10 * check).is_multiple_of(11))
}

/// Whether a text is an ISBN of thirteen digits.
pub(super) fn is_isbn13(text: &str) -> bool {
    let digits = without_separators(text);
    let digits: Option<Vec<u32>> = digits.iter().map(|digit| digit.to_digit(10)).collect();
    digits.is_some_and(|digits| {
        let weighted = digits
            .iter()
            .enumerate()
            .map(|(at, digit)| if at % 2 == 1 { digit * 3 } else { *digit });
        digits.len() == 13 && weighted.sum::<u32>().is_multiple_of(10)
    })
}

/// Whether a text is a social security number of the USA.
pub(super) fn is_ssn(text: &str) -> bool {
    text.len() == 11 && matches(&SSN, text)
}

/// Whether a text is a color such as `rgb(0, 10, 255)`.
pub(super) fn is_rgb_color(text: &str) -> bool {
    matches(&RGB_COLOR, text)
}

fn without_separators(text: &str) -> Vec<char> {
    let is_separator = |c: char| matches!(c, '\t' | '\n' | '\u{c}' | '\r' | ' ' | '-');
    text.chars().filter(|c| !is_separator(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_digits_are_verified() {
        assert!(is_credit_card("4111 1111 1111 1111") && !is_credit_card("4111111111111112"));
        assert!(!is_credit_card("x") && !is_credit_card("0"));
        assert!(is_isbn10("3-8362-2119-5") && is_isbn10("080442957X"));
        assert!(!is_isbn10("3836221196") && !is_isbn10("x") && !is_isbn10(""));
        assert!(is_isbn13("978-3-8362-2119-1") && !is_isbn13("9783836221190") && !is_isbn13("x"));
        assert!(is_ssn("123-45-6789") && !is_ssn("123456789"));
        assert!(is_rgb_color("rgb(0, 10,255)") && !is_rgb_color("rgb(0,10,256)"));
    }
}
