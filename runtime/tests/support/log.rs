//! Captures log lines of tests.

use std::{
    cell::RefCell,
    io,
    rc::{Rc, Weak},
    sync::OnceLock,
};

use parking_lot::Mutex;

thread_local! {
    /// The buffer of this thread's log lines, while a [`Log`] captures them.
    static TEXT: RefCell<Weak<RefCell<Vec<u8>>>> = const { RefCell::new(Weak::new()) };
}

/// The log lines of all threads, once capturing has started; lines of parallel tests are mixed.
static EVERYWHERE: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// Starts capturing the log lines of all threads, for [`everywhere`].
pub(crate) fn start_everywhere() {
    install();
    EVERYWHERE.lock().get_or_insert_default();
}

/// Returns the warnings and errors of all threads that contain `part`.
pub(crate) fn everywhere(part: &str) -> Vec<String> {
    let text = EVERYWHERE.lock().clone().unwrap_or_default();
    let mut lines = lines(text, part);
    lines.retain(|line| !line.starts_with("INFO"));
    lines
}

fn lines(text: Vec<u8>, part: &str) -> Vec<String> {
    let text = String::from_utf8(text).unwrap();
    let lines = text.lines().filter(|line| line.contains(part));
    lines.map(|line| line.trim().to_owned()).collect()
}

/// Captures the log lines of this thread until it is dropped.
pub(crate) struct Log(Rc<RefCell<Vec<u8>>>);

impl Log {
    pub(crate) fn start() -> Self {
        install();
        let text = Rc::default();
        TEXT.set(Rc::downgrade(&text));
        Self(text)
    }

    /// Returns the warnings and errors that contain `part`.
    pub(crate) fn lines(&self, part: &str) -> Vec<String> {
        let mut lines = self.all(part);
        lines.retain(|line| !line.starts_with("INFO"));
        lines
    }

    /// Returns all lines that contain `part`.
    pub(crate) fn all(&self, part: &str) -> Vec<String> {
        lines(self.0.borrow().clone(), part)
    }
}

/// Installs one subscriber for all tests before any of them logs: a subscriber per test would sporadically miss lines, because tracing
/// caches which callsites are enabled.
pub(crate) fn install() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::INFO)
            .with_ansi(false)
            .without_time()
            .with_target(false)
            .with_writer(|| Writer);
        // Fails if another subscriber is installed already; then no test here needs the log.
        let _ = tracing::subscriber::set_global_default(subscriber.finish());
    });
}

struct Writer;

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(text) = TEXT.with_borrow(Weak::upgrade) {
            text.borrow_mut().extend_from_slice(bytes);
        }
        if let Some(text) = &mut *EVERYWHERE.lock() {
            text.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
