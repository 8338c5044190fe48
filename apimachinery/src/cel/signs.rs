//! Signs in expressions that kube-cel's parser reads otherwise than cel-go's: several ones in a row, of which it sees one, and those of hexadecimal
//! numbers.

use super::positions::tokens;

/// Returns an expression of the same length in which at most one sign stands before each operand, and negative numbers are decimal.
pub(super) fn normalized(text: &str) -> String {
    let tokens = tokens(text);
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    while at < tokens.len() {
        let (_, sign) = tokens[at];
        let is_sign = sign == "!"
            || sign == "-"
                && !at
                    .checked_sub(1)
                    .is_some_and(|before| is_operand(tokens[before].1));
        if !is_sign {
            at += 1;
            continue;
        }
        let count = tokens[at..]
            .iter()
            .take_while(|(_, token)| *token == sign)
            .count();
        // An even number of signs is none.
        for (start, _) in &tokens[at + count % 2..at + count] {
            bytes[*start] = b' ';
        }
        at += count;
        if let Some((start, number)) = tokens.get(at).filter(|_| sign == "-" && count % 2 == 1)
            && let Some(decimal) = decimal(number)
        {
            bytes[*start..start + number.len()].copy_from_slice(decimal.as_bytes());
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// True for the last token of an operand, behind which a minus subtracts.
fn is_operand(token: &str) -> bool {
    token != "in" && token.ends_with(|c: char| c.is_alphanumeric() || "_)]}'\"`".contains(c))
}

/// Returns a hexadecimal number in decimal digits, with as many characters; None for other tokens, or if it has more.
fn decimal(token: &str) -> Option<String> {
    let number = i64::from_str_radix(token.strip_prefix("0x")?, 16).ok()?;
    let length = token.len();
    Some(format!("{number:<length$}")).filter(|decimal| decimal.len() == length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_one_sign_stands_before_an_operand() {
        for (text, expected) in [
            ("!!true", "  true"),
            ("!!!a && ! !b", "!  a &&    b"),
            ("--1 == 1 - -1", "  1 == 1 - -1"),
            ("a--b - --c[-1]", "a--b -   c[-1]"),
            ("(a)---b in -c", "(a)-  b in -c"),
            ("-0x1F == -31 && 0x1F == 31", "-31   == -31 && 0x1F == 31"),
            ("a != b && '!!' != \"--\" // !!", "a != b && '!!' != \"--\" // !!"),
            ("'é' == !!b", "'é' ==   b"),
        ] {
            assert_eq!(normalized(text), expected);
        }
    }
}
