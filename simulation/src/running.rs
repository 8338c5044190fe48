//! The loop: take in what was seen, step, do what the step says, until there is nothing to do; then wait.

use std::time::Duration;

use kube::Client;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::Timing;
use crate::follow::{Seen, follow};
use crate::step::step;
use crate::world::{Kind, World};

/// How many changes may wait to be taken in.
const WAITING: usize = 256;
/// After a refused write: the cause may go away without a change that we see.
const RETRY: Duration = Duration::from_secs(1);
/// When nothing happens.
const IDLE: Duration = Duration::from_mins(1);

/// Runs until it is dropped.
pub(crate) async fn run(client: Client, timing: Timing) {
    let (sender, mut seen) = mpsc::channel(WAITING);
    let mut follows = JoinSet::new();
    for kind in Kind::ALL {
        follows.spawn(follow(client.clone(), kind, sender.clone()));
    }
    drop(sender);
    let mut world = World::default();
    let mut listed = std::collections::HashSet::new();
    let mut wait = IDLE;
    loop {
        match tokio::time::timeout(wait, seen.recv()).await {
            Ok(None) => return,
            Ok(Some(first)) => {
                let mut next = Some(first);
                while let Some(one) = next {
                    if let Seen::All(kind, ..) = &one {
                        listed.insert(*kind);
                    }
                    one.take_into(&mut world);
                    next = seen.try_recv().ok();
                }
            }
            Err(_) => {}
        }
        // What is not known yet would be taken for missing.
        if listed.len() == Kind::ALL.len() {
            wait = act(&client, &mut world, timing).await;
        }
    }
}

/// One step, done. How long nothing is to do unless something changes.
async fn act(client: &Client, world: &mut World, timing: Timing) -> Duration {
    let next = step(world, timing, Instant::now());
    let mut wait = next.wait.unwrap_or(IDLE);
    for action in next.actions {
        match action.perform(client, world).await {
            // What was written may be a reason for more.
            Ok(()) => wait = Duration::ZERO,
            Err(_) => wait = wait.min(RETRY),
        }
    }
    wait
}
