//! In which form a client wants its answer.

use crate::status::ApiError;
use http::HeaderMap;
use http::header::{ACCEPT, USER_AGENT};

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// On one line.
    Json,
    /// For people.
    PrettyJson,
    /// YAML.
    Yaml,
}

/// What an answer shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The objects.
    Objects,
    /// Only their metadata.
    Partial,
    /// Rows with columns.
    Table,
}

/// In which form a client wants its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// How it is written.
    pub encoding: Encoding,
    /// What it shows.
    pub shape: Shape,
}

impl Form {
    /// What is taken where a client accepts anything.
    pub const DEFAULT: Self = Self {
        encoding: Encoding::Json,
        shape: Shape::Objects,
    };

    /// The first form of the client's that can be had.
    ///
    /// # Errors
    ///
    /// 406 when there is none: protobuf alone, for example.
    pub fn negotiate(headers: &HeaderMap, pretty: bool, watches: bool) -> Result<Self, ApiError> {
        let browser = headers
            .get(USER_AGENT)
            .and_then(|agent| agent.to_str().ok())
            .is_some_and(|agent| {
                ["curl", "Wget", "Mozilla/5.0"]
                    .iter()
                    .any(|name| agent.starts_with(name))
            });
        let pretty = (pretty || browser) && !watches;
        let accept: Vec<&str> = headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect();
        let accept = accept.join(",");
        let mut clauses: Vec<(f32, &str)> = accept
            .split(',')
            .map(str::trim)
            .filter(|clause| !clause.is_empty())
            .map(|clause| (quality(clause), clause))
            .collect();
        clauses.sort_by(|a, b| b.0.total_cmp(&a.0));
        if clauses.is_empty() {
            clauses.push((1.0, "*/*"));
        }
        let form = clauses.iter().find_map(|(_, clause)| Self::of(clause, pretty));
        form.ok_or_else(|| {
            let message = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
                application/vnd.kubernetes.protobuf";
            ApiError::generic(406, "NotAcceptable", message)
        })
    }

    fn of(clause: &str, pretty: bool) -> Option<Self> {
        let mut parts = clause.split(';').map(str::trim);
        let json = if pretty {
            Encoding::PrettyJson
        } else {
            Encoding::Json
        };
        let encoding = match parts.next()?.to_lowercase().as_str() {
            "application/json" | "application/*" | "*/*" => json,
            "application/yaml" => Encoding::Yaml,
            _ => return None,
        };
        let (mut kind, mut group, mut version) = ("", "", "");
        for part in parts {
            match part.split_once('=') {
                Some(("as", value)) => kind = value,
                Some(("g", value)) => group = value,
                Some(("v", value)) => version = value,
                _ => {}
            }
        }
        let shape = match (kind, group, version) {
            ("", ..) => Shape::Objects,
            ("Table", "meta.k8s.io", "v1" | "v1beta1") => Shape::Table,
            ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1" | "v1beta1") => {
                Shape::Partial
            }
            _ => return None,
        };
        Some(Self { encoding, shape })
    }
}

fn quality(clause: &str) -> f32 {
    let mut quality = clause
        .split(';')
        .filter_map(|part| part.trim().strip_prefix("q="));
    quality
        .next_back()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(accept: &str) -> Option<Form> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        Form::negotiate(&headers, false, false).ok()
    }

    #[test]
    fn takes_the_first_that_can_be_had() {
        let shape = |accept| form(accept).map(|form| form.shape);
        assert_eq!(form("*/*"), Some(Form::DEFAULT));
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(shape(table), Some(Shape::Table));
        assert_eq!(
            shape("application/json;as=Table;v=v9;g=meta.k8s.io,application/json"),
            Some(Shape::Objects)
        );
        assert_eq!(
            shape(
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;q=0.5"
            ),
            Some(Shape::Objects)
        );
        assert_eq!(form("application/vnd.kubernetes.protobuf"), None);
        assert_eq!(form("application/yaml").unwrap().encoding, Encoding::Yaml);
    }
}
