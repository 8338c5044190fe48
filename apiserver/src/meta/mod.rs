//! What every object has: metadata, and the rules by which it changes.

mod decode;
mod lifecycle;
pub mod names;
mod read;
mod time;

pub use decode::normalise;
pub use lifecycle::{
    check_create, check_update, fill_on_create, forget_link, generate_name, new_uid, wipe_on_create,
};
pub use read::*;
pub use time::{now, now_micros};
