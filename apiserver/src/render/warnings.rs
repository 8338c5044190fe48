//! Warning headers.

use super::respond::ApiResponse;
use crate::status::ApiError;
use http::HeaderValue;
use http::header::WARNING;

/// The length of all warnings of a response, in characters, beyond which each is shortened.
const MAX_TOTAL_CHARACTERS: usize = 4096;
/// The length of a shortened warning, in characters.
const MAX_SHORTENED_CHARACTERS: usize = 256;

/// Adds Warning headers; each text once. As in kube-apiserver, texts that are empty or have control characters are left out.
pub(crate) fn add_warnings(response: &mut ApiResponse, warnings: &[String]) {
    let is_sent = |warning: &&String| !warning.is_empty() && !warning.contains(char::is_control);
    for warning in warnings.iter().filter(is_sent) {
        if let Some(value) = header(warning)
            && !response
                .headers()
                .get_all(WARNING)
                .iter()
                .any(|existing| *existing == value)
        {
            response.headers_mut().append(WARNING, value);
        }
    }
}

/// Adds warnings to a response or an error.
pub(crate) fn with_warnings(
    response: Result<ApiResponse, ApiError>,
    warnings: &[String],
) -> Result<ApiResponse, ApiError> {
    let mut response = response.map_err(|error| error.with_warnings(warnings))?;
    add_warnings(&mut response, warnings);
    Ok(response)
}

/// Adds Warning headers before the existing ones.
pub(crate) fn prepend_warnings(response: &mut ApiResponse, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    let existing: Vec<HeaderValue> = response.headers().get_all(WARNING).iter().cloned().collect();
    response.headers_mut().remove(WARNING);
    add_warnings(response, warnings);
    for warning in existing {
        response.headers_mut().append(WARNING, warning);
    }
}

/// Shortens the warnings of a response if they are too long together.
pub(crate) fn limit_warnings(response: &mut ApiResponse) {
    let values = response.headers().get_all(WARNING).iter();
    let texts: Vec<String> = values.map(text).collect();
    let lengths = texts.iter().map(|text| text.chars().count());
    if lengths.sum::<usize>() <= MAX_TOTAL_CHARACTERS {
        return;
    }
    response.headers_mut().remove(WARNING);
    let mut written = 0;
    for text in &texts {
        // A single warning that is too long is still sent.
        if written >= MAX_TOTAL_CHARACTERS {
            break;
        }
        let shortened: String = text.chars().take(MAX_SHORTENED_CHARACTERS).collect();
        written += shortened.chars().count();
        if let Some(value) = header(&shortened) {
            response.headers_mut().append(WARNING, value);
        }
    }
}

fn header(text: &str) -> Option<HeaderValue> {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    HeaderValue::from_str(&format!("299 - \"{text}\"")).ok()
}

/// Returns the text of a header without quotes and escapes.
fn text(header: &HeaderValue) -> String {
    let value = String::from_utf8_lossy(header.as_bytes());
    let quoted = value
        .strip_prefix("299 - \"")
        .and_then(|rest| rest.strip_suffix('"'));
    let (mut text, mut is_escaped) = (String::new(), false);
    for character in quoted.unwrap_or_default().chars() {
        if character == '\\' && !is_escaped {
            is_escaped = true;
            continue;
        }
        is_escaped = false;
        text.push(character);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::respond;

    fn sent(warnings: &[String]) -> Vec<String> {
        let mut response = respond::bytes(200, "text/plain", "");
        add_warnings(&mut response, warnings);
        limit_warnings(&mut response);
        response.headers().get_all(WARNING).iter().map(text).collect()
    }

    #[test]
    fn warnings_are_shortened_when_they_are_too_long_together() {
        let quoted = r#"a "b" \c"#.to_owned();
        assert_eq!(sent(&[quoted.clone(), quoted.clone()]), [quoted.as_str()]);
        assert!(sent(&[String::new(), "a\nb".to_owned()]).is_empty());
        let long = |first: char| format!("{first}{}", "x".repeat(3000));
        assert_eq!(sent(&[long('a')]), [long('a')]);
        let shortened = |first| long(first)[..MAX_SHORTENED_CHARACTERS].to_owned();
        assert_eq!(
            sent(&[long('a'), quoted.clone(), long('b')]),
            [shortened('a'), quoted, shortened('b')]
        );
    }
}
