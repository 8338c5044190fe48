//! Logs go to stderr; stdout is for data.

use std::io::{self, IsTerminal};

use tracing_subscriber::{EnvFilter, fmt, prelude::*};

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// kube logs every request without an answer as an error; what that means is said by those who sent it.
const TWICE_SAID: &str = "kube_client::client::builder=off";

/// Installs the process's logger unless the program has one already.
pub(super) fn install(format: LogFormat, filter: &str) {
    let filter = if filter.contains("kube_client") {
        filter.to_owned()
    } else {
        format!("{filter},{TWICE_SAID}")
    };
    let registry = tracing_subscriber::registry().with(EnvFilter::builder().parse_lossy(filter));
    // An error means that the program installed a logger of its own: that one stays.
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

/// Checks the directives of a filter, so that a wrong one is refused rather than ignored.
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
    fn refuses_a_filter_that_would_be_ignored() {
        for filter in ["info", "info,kube=debug", "warn,shop[reconcile]=trace", ""] {
            assert_eq!(parse_filter(filter), Ok(filter.to_owned()));
        }
        let message = parse_filter("info,kube=loud").unwrap_err();
        assert!(message.contains("write a level"), "{message}");
    }
}
