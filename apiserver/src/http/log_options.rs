//! The parameters of a request for a log.

use crate::request::{Query, parse_int};
use crate::status::{ApiError, Cause};
use crate::strategy::first_mismatch;
use crate::types::{Scalar, Type};
use serde_json::json;

/// The parameters that have rules.
pub(super) struct LogOptions {
    since_seconds: Option<i64>,
    has_since_time: bool,
    tail_lines: Option<i64>,
    limit_bytes: Option<i64>,
    has_stream: bool,
}

impl LogOptions {
    /// Parses the parameters in the order of kube-apiserver, which reports the first error.
    pub(super) fn parse(query: &Query) -> Result<Self, ApiError> {
        let since_seconds = parse_int(query, "sinceSeconds")?;
        check_time(query.get("sinceTime"))?;
        Ok(Self {
            since_seconds,
            has_since_time: query.has("sinceTime"),
            tail_lines: parse_int(query, "tailLines")?,
            limit_bytes: parse_int(query, "limitBytes")?,
            has_stream: query.has("stream"),
        })
    }

    /// Returns what is wrong with the parameters.
    pub(super) fn validate(&self) -> Vec<Cause> {
        let mut causes = vec![];
        for (key, value, minimum, why) in [
            (
                "tailLines",
                self.tail_lines,
                0,
                "must be greater than or equal to 0",
            ),
            ("limitBytes", self.limit_bytes, 1, "must be greater than 0"),
        ] {
            if let Some(value) = value.filter(|value| *value < minimum) {
                causes.push(Cause::invalid(key, &json!(value), why));
            }
        }
        match self.since_seconds {
            Some(_) if self.has_since_time => {
                let why = "at most one of `sinceTime` or `sinceSeconds` may be specified";
                causes.push(Cause::forbidden("[]", why));
            }
            Some(value) if value < 1 => {
                let why = "must be greater than 0";
                causes.push(Cause::invalid("sinceSeconds", &json!(value), why));
            }
            _ => {}
        }
        // The feature gate PodLogsQuerySplitStreams is off.
        if self.has_stream {
            causes.push(Cause::forbidden("stream", "may not be specified"));
        }
        causes
    }
}

/// Refuses what is no time. Old clients send the JSON of a time that is not set.
fn check_time(text: &str) -> Result<(), ApiError> {
    if matches!(text, "" | "null") {
        return Ok(());
    }
    let mismatch = first_mismatch(&mut json!(text), &Type::Scalar(Scalar::DateTime));
    mismatch.map_or(Ok(()), |why| Err(ApiError::bad_request(why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error of parsing, or the fields with errors.
    fn errors(query: &str) -> Vec<String> {
        match LogOptions::parse(&Query::parse(query)) {
            Err(error) => vec![error.message],
            Ok(options) => options.validate().into_iter().map(|cause| cause.field).collect(),
        }
    }

    #[test]
    fn parameters_are_parsed_in_order_before_they_are_validated() {
        let time = r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#;
        let number = "strconv.ParseInt: parsing";
        for (query, expected) in [
            ("", vec![]),
            ("sinceTime=&sinceTime=x&tailLines=0&limitBytes=1", vec![]),
            ("sinceTime=null", vec![]),
            ("sinceTime=2026-01-02T03:04:05%2B01:00", vec![]),
            ("tailLines=x&sinceTime=x", vec![time.to_owned()]),
            (
                "sinceTime=x&sinceSeconds=",
                vec![format!("{number} \"\": invalid syntax")],
            ),
            (
                "limitBytes=9223372036854775808",
                vec![format!("{number} \"9223372036854775808\": value out of range")],
            ),
            (
                "stream=&sinceSeconds=1&sinceTime=&tailLines=-1",
                ["tailLines", "[]", "stream"].map(str::to_owned).to_vec(),
            ),
        ] {
            assert_eq!(errors(query), expected, "{query}");
        }
    }
}
