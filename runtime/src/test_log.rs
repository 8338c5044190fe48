//! Collects the log lines of a test's thread.

use std::{io, sync::Arc};

use parking_lot::Mutex;
use tracing::{Dispatch, Level, subscriber::DefaultGuard};

/// The log of the thread that created it, until it is dropped.
pub(crate) struct CollectedLog {
    text: Arc<Mutex<Vec<u8>>>,
    _guard: DefaultGuard,
    _second: Dispatch,
}

struct Writer(Arc<Mutex<Vec<u8>>>);

impl CollectedLog {
    /// Collects lines of this level and of higher ones.
    pub(crate) fn start(level: Level) -> Self {
        let text = Arc::<Mutex<Vec<u8>>>::default();
        let shared = text.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false)
            .without_time()
            .with_writer(move || Writer(shared.clone()))
            .finish();
        Self {
            text,
            // With only one subscriber, tracing caches the interest of the thread that reaches a callsite first, which can be another test's.
            _second: Dispatch::new(tracing_subscriber::fmt().with_writer(io::sink).finish()),
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.text.lock().clone()).unwrap()
    }
}

impl io::Write for Writer {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
