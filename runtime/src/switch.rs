//! Measurement only: switches mechanisms off by an environment variable.
use std::sync::OnceLock;
static OFF: OnceLock<String> = OnceLock::new();
macro_rules! switch { ($($name:ident),*) => { $(pub(crate) fn $name() -> bool {
    static S: OnceLock<bool> = OnceLock::new();
    *S.get_or_init(|| OFF.get_or_init(|| std::env::var("KW_OFF").unwrap_or_default()).split(',').any(|x| x == stringify!($name)))
})* } }
switch!(prefetch, wakes, inline, inbox, dictionary, groups, decoded, waiters);
