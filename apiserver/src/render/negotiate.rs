//! Content negotiation: the format of the response.

use crate::quote::quoted;
use crate::request::Query;
use crate::status::ApiError;
use http::HeaderMap;
use http::header::{ACCEPT, USER_AGENT};

/// The encoding of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// JSON on one line.
    Json,
    /// Indented JSON.
    PrettyJson,
    /// YAML.
    Yaml,
}

/// How a response represents objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Representation {
    /// The whole objects.
    Objects,
    /// PartialObjectMetadata of one object.
    PartialMetadata,
    /// PartialObjectMetadataList of a list.
    PartialMetadataList,
    /// A Table: rows with columns.
    Table,
}

/// The value of `includeObject`: what the rows of a Table contain besides their cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncludeObject {
    /// PartialObjectMetadata.
    Metadata,
    /// The whole object.
    Object,
    /// Nothing.
    None,
}

/// The negotiated format of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseFormat {
    /// The encoding.
    pub encoding: Encoding,
    /// The representation of objects.
    pub representation: Representation,
    /// What the rows of a Table contain besides their cells.
    pub include_object: IncludeObject,
    /// Whether Tables and PartialObjectMetadata are requested in `meta.k8s.io/v1beta1`.
    pub v1beta1: bool,
}

impl ResponseFormat {
    /// The format if the client accepts anything.
    pub const DEFAULT: Self = Self {
        encoding: Encoding::Json,
        representation: Representation::Objects,
        include_object: IncludeObject::Metadata,
        v1beta1: false,
    };

    /// Returns the first supported format of the Accept header, by quality.
    ///
    /// # Errors
    ///
    /// 406 if none is supported, for example for protobuf alone.
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
            .map(|clause| (quality_value(clause), clause))
            .collect();
        clauses.sort_by(|a, b| b.0.total_cmp(&a.0));
        if clauses.is_empty() {
            clauses.push((1.0, "*/*"));
        }
        let format = clauses
            .iter()
            .find_map(|(_, clause)| Self::parse_clause(clause, pretty));
        format.ok_or_else(|| {
            // The media type is supported, but not with these parameters.
            if clauses.iter().any(|(_, clause)| encoding(clause).is_some()) {
                return Self::not_acceptable();
            }
            let message = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
                application/vnd.kubernetes.protobuf";
            ApiError::generic(406, "NotAcceptable", message)
        })
    }

    /// The 406 of a handler, which names the media types.
    pub(crate) fn not_acceptable() -> ApiError {
        let message = "only the following media types are accepted: application/json, application/yaml, \
            application/vnd.kubernetes.protobuf";
        ApiError::new(406, "NotAcceptable", message)
    }

    fn parse_clause(clause: &str, pretty: bool) -> Option<Self> {
        let encoding = match encoding(clause)? {
            Encoding::Json if pretty => Encoding::PrettyJson,
            encoding => encoding,
        };
        let parts = clause.split(';').skip(1).map(str::trim);
        let (mut kind, mut group, mut version) = ("", "", "");
        for part in parts {
            match part.split_once('=') {
                Some(("as", value)) => kind = value,
                Some(("g", value)) => group = value,
                Some(("v", value)) => version = value,
                _ => {}
            }
        }
        let representation = match (kind, group, version) {
            ("", ..) => Representation::Objects,
            ("Table", "meta.k8s.io", "v1" | "v1beta1") => Representation::Table,
            ("PartialObjectMetadata", "meta.k8s.io", "v1" | "v1beta1") => Representation::PartialMetadata,
            ("PartialObjectMetadataList", "meta.k8s.io", "v1" | "v1beta1") => {
                Representation::PartialMetadataList
            }
            _ => return None,
        };
        Some(Self {
            encoding,
            representation,
            v1beta1: representation != Representation::Objects && version == "v1beta1",
            ..Self::DEFAULT
        })
    }

    /// Adds the value of `includeObject` to a Table.
    pub(crate) fn with_include_object(self, query: &Query) -> Result<Self, ApiError> {
        if self.representation != Representation::Table {
            return Ok(self);
        }
        let include_object = match query.get("includeObject") {
            "" | "Metadata" => IncludeObject::Metadata,
            "Object" => IncludeObject::Object,
            "None" => IncludeObject::None,
            other => {
                return Err(ApiError::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', 'Object', 'None', \
                     or empty",
                    quoted(other)
                )));
            }
        };
        Ok(Self {
            include_object,
            ..self
        })
    }
}

/// Returns the encoding of a clause's media type, if it is supported.
fn encoding(clause: &str) -> Option<Encoding> {
    let media_type = clause.split(';').next()?.trim();
    match media_type.to_lowercase().as_str() {
        "application/json" | "*/*" => Some(Encoding::Json),
        "application/yaml" => Some(Encoding::Yaml),
        _ => None,
    }
}

fn quality_value(clause: &str) -> f32 {
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

    fn format(accept: &str) -> Option<ResponseFormat> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        ResponseFormat::negotiate(&headers, false, false).ok()
    }

    #[test]
    fn first_supported_media_type_is_chosen() {
        let representation = |accept| format(accept).map(|format| format.representation);
        assert_eq!(format("*/*"), Some(ResponseFormat::DEFAULT));
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(representation(table), Some(Representation::Table));
        assert_eq!(
            representation("application/json;as=Table;v=v9;g=meta.k8s.io,application/json"),
            Some(Representation::Objects)
        );
        assert_eq!(
            representation(
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;q=0.5"
            ),
            Some(Representation::Objects)
        );
        assert_eq!(format("application/vnd.kubernetes.protobuf"), None);
        assert_eq!(format("application/yaml").unwrap().encoding, Encoding::Yaml);
    }
}
