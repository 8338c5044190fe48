//! The format of the function `format`: texts with clauses such as `%s` and `%.2f`.

/// What a clause makes of its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cel) enum Form {
    Text,
    Decimal,
    Fixed,
    Scientific,
    Binary,
    Octal,
    Hex { is_upper: bool },
}

/// A clause of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cel) struct Clause {
    /// The number of its argument.
    pub(in crate::cel) argument: usize,
    pub(in crate::cel) form: Form,
    /// The digits behind the point, if it says how many.
    pub(in crate::cel) precision: Option<usize>,
}

/// Why a clause does not fit its argument: the id of the part of the expression, if it is one, and the message.
pub(in crate::cel) type Mismatch = (Option<u64>, String);

/// Replaces the clauses of a format by what `write` makes of them, and returns the text.
///
/// # Errors
///
/// Returns cel-go's message for a format that is invalid or needs more arguments, or the error of `write`.
pub(in crate::cel) fn replace(
    format: &str,
    arguments: usize,
    mut write: impl FnMut(Clause) -> Result<String, Mismatch>,
) -> Result<String, Mismatch> {
    let failed = |why: String| (None, why);
    let (mut text, mut rest, mut argument) = (String::new(), format, 0);
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        if let Some(after) = after.strip_prefix('%') {
            text.push('%');
            rest = after;
            continue;
        }
        if argument >= arguments {
            return Err(failed(format!("index {argument} out of range")));
        }
        if after.is_empty() {
            return Err(failed("unexpected end of string".to_owned()));
        }
        let (form, precision, after) =
            parse_clause(after).map_err(|why| failed(format!("could not parse formatting clause: {why}")))?;
        let clause = Clause {
            argument,
            form,
            precision,
        };
        let written = write(clause).map_err(|(id, why)| (id, format!("error during formatting: {why}")))?;
        text.push_str(&written);
        rest = after;
        argument += 1;
    }
    text.push_str(rest);
    Ok(text)
}

/// Parses a clause behind its percent sign, and returns what stands behind it.
fn parse_clause(clause: &str) -> Result<(Form, Option<usize>, &str), String> {
    let (mut precision, mut rest) = (None, clause);
    if let Some(digits) = clause.strip_prefix('.') {
        let end = digits.find(|c: char| !c.is_ascii_digit());
        let end = end.ok_or("error while parsing precision: could not find end of precision specifier")?;
        let parsed = digits[..end].parse();
        precision = Some(parsed.map_err(|_| {
            let why = "error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing";
            format!("{why} {:?}: invalid syntax", &digits[..end])
        })?);
        rest = &digits[end..];
    }
    let mut letters = rest.chars();
    let form = match letters.next().unwrap_or_default() {
        's' => Form::Text,
        'd' => Form::Decimal,
        'f' => Form::Fixed,
        'e' => Form::Scientific,
        'b' => Form::Binary,
        'o' => Form::Octal,
        letter @ ('x' | 'X') => Form::Hex {
            is_upper: letter == 'X',
        },
        other => return Err(format!("unrecognized formatting clause \"{other}\"")),
    };
    Ok((form, precision, letters.as_str()))
}

impl Form {
    /// The message for an argument of a type that does not fit.
    pub(in crate::cel) fn mismatch(self, ty: &str) -> String {
        let expected = match self {
            Self::Text => {
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
            }
            Self::Decimal => "decimal clause can only be used on integers",
            Self::Fixed => "fixed-point clause can only be used on doubles",
            Self::Scientific => "scientific clause can only be used on doubles",
            Self::Binary => "only integers and bools can be formatted as binary",
            Self::Octal => "octal clause can only be used on integers",
            Self::Hex { .. } => "only integers, byte buffers, and strings can be formatted as hex",
        };
        format!("{expected}, was given {ty}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_replaced_in_order() {
        let write = |clause: Clause| {
            Ok(format!(
                "<{} {:?} {:?}>",
                clause.argument, clause.form, clause.precision
            ))
        };
        for (format, expected) in [
            ("a", Ok("a")),
            ("100%% %s", Ok("100% <0 Text None>")),
            ("%.2f|%X", Ok("<0 Fixed Some(2)>|<1 Hex { is_upper: true } None>")),
            ("%d%d%d", Err("index 2 out of range")),
            ("%", Err("unexpected end of string")),
            (
                "%y",
                Err("could not parse formatting clause: unrecognized formatting clause \"y\""),
            ),
            (
                "%.2",
                Err(
                    "could not parse formatting clause: error while parsing precision: could not find end of precision specifier",
                ),
            ),
        ] {
            let found = replace(format, 2, write);
            assert_eq!(
                found.as_deref().map_err(|(_, why)| why.as_str()),
                expected,
                "{format}"
            );
        }
    }
}
