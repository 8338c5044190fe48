//! The process's logger: writes to stderr, because stdout is for data.

use std::io::{self, IsTerminal};

use tracing_subscriber::{EnvFilter, fmt, prelude::*};

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// Human-readable text.
    Text,
    /// One JSON object per line.
    Json,
}

/// Silences kube's error line for every failed request: the callers in this library log those errors with their context.
const KUBE_REQUEST_ERRORS_OFF: &str = "kube_client::client::builder=off";

/// Installs the process's logger, unless the program already has one.
pub(super) fn install(format: LogFormat, filter: &str) {
    let filter = if filter.contains("kube_client") {
        filter.to_owned()
    } else {
        format!("{filter},{KUBE_REQUEST_ERRORS_OFF}")
    };
    let registry = tracing_subscriber::registry().with(EnvFilter::builder().parse_lossy(filter));
    // An error means that the program has installed its own logger, which stays.
    let _ = match format {
        LogFormat::Text => registry
            .with(
                fmt::layer()
                    .with_writer(io::stderr)
                    .with_ansi(io::stderr().is_terminal()),
            )
            .try_init(),
        LogFormat::Json => registry
            .with(fmt::layer().json().flatten_event(true).with_writer(io::stderr))
            .try_init(),
    };
}

/// Parses the directives of a filter, so that an invalid one is an error and is not ignored.
pub(super) fn parse_filter(text: &str) -> Result<String, String> {
    match EnvFilter::builder().parse(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!(
            "{error}: write a level (error, warn, info, debug, trace) or directives (`info,kube=debug`)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_filter_is_an_error() {
        for filter in ["info", "info,kube=debug", "warn,shop[reconcile]=trace", ""] {
            assert_eq!(parse_filter(filter), Ok(filter.to_owned()));
        }
        let message = parse_filter("info,kube=loud").unwrap_err();
        assert!(message.contains("write a level"), "{message}");
    }
}
