//! The thread that informers run on.

use std::{io, thread};

use futures::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;
use tokio::{
    runtime::{Builder, Handle, RuntimeFlavor},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

type Task = BoxFuture<'static, ()>;

/// Runs the informers of a factory: on one thread of their own, in a multi-threaded runtime.
///
/// An informer allocates what it stores and frees what it replaces. On threads in turn, the system's allocator would take the new from the
/// memory of one and give the old back to that of another, which keeps it: up to a whole cache for each thread. And a task that blocks one
/// of the runtime's threads holds up no informer. In a runtime of one thread they run there, with its clock.
#[derive(Default)]
pub(super) struct InformerThread {
    tasks: Mutex<Option<UnboundedSender<Task>>>,
}

impl InformerThread {
    /// Runs a task, which `tracker` counts. Must be called within a runtime, and the task ends with that.
    pub(super) fn spawn(&self, tracker: &TaskTracker, task: impl Future<Output = ()> + Send + 'static) {
        let task = tracker.track_future(task).boxed();
        let runtime = Handle::current();
        if runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
            runtime.spawn(task);
            return;
        }
        let mut tasks = self.tasks.lock();
        if tasks.is_none() {
            match start(&runtime) {
                Ok(sender) => *tasks = Some(sender),
                Err(error) => tracing::warn!("no thread for the informers, which share the others: {error}"),
            }
        }
        let Some(sender) = &*tasks else {
            runtime.spawn(task);
            return;
        };
        // Its thread is there as long as the sender, unless the runtime ends.
        let _ = sender.send(task);
    }
}

fn start(runtime: &Handle) -> io::Result<UnboundedSender<Task>> {
    let (sender, tasks) = unbounded_channel();
    let own = Builder::new_current_thread().enable_all().build()?;
    let (stop, ended) = (CancellationToken::new(), CancellationToken::new());
    let (stopping, ends) = (stop.clone(), ended.clone().drop_guard());
    thread::Builder::new().name("informers".into()).spawn(move || {
        own.block_on(stopping.run_until_cancelled(run(tasks)));
        drop(ends);
    })?;
    let stop = stop.drop_guard();
    runtime.spawn(async move {
        // Dropped with the runtime.
        let _stop = stop;
        ended.cancelled().await;
    });
    Ok(sender)
}

/// Until no more tasks can come, and all have ended.
async fn run(mut tasks: UnboundedReceiver<Task>) {
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            Some(task) = tasks.recv() => {
                running.spawn(task);
            }
            Some(_) = running.join_next() => {}
            else => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::mpsc::channel,
        time::{Duration, Instant},
    };

    use tokio::{sync::oneshot, time::sleep};

    use super::*;

    fn name() -> Option<String> {
        thread::current().name().map(str::to_owned)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn tasks_share_a_thread_of_their_own_and_are_waited_for() {
        let (informers, tracker) = (InformerThread::default(), TaskTracker::new());
        let (sender, receiver) = channel();
        for _ in 0..3 {
            let sender = sender.clone();
            informers.spawn(&tracker, async move {
                sleep(Duration::from_millis(5)).await;
                sender.send((name(), thread::current().id())).unwrap();
            });
        }
        tracker.close();
        tracker.wait().await;
        let threads: Vec<_> = receiver.try_iter().collect();
        assert_eq!(threads.len(), 3);
        assert!(threads.iter().all(|thread| *thread == threads[0]));
        assert_eq!(threads[0].0.as_deref(), Some("informers"));
        // Nothing is left of it.
        drop(informers);
        let alive = || Handle::current().metrics().num_alive_tasks();
        while alive() > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn in_a_runtime_of_one_thread_they_have_its_clock() {
        let (informers, tracker) = (InformerThread::default(), TaskTracker::new());
        let (sender, receiver) = oneshot::channel();
        let before = Instant::now();
        informers.spawn(&tracker, async move {
            sleep(Duration::from_hours(1)).await;
            sender.send(thread::current().id()).unwrap();
        });
        assert_eq!(receiver.await.unwrap(), thread::current().id());
        assert!(before.elapsed() < Duration::from_mins(1));
    }

    #[test]
    fn they_end_with_the_runtime() {
        struct Told(std::sync::mpsc::Sender<()>);
        impl Drop for Told {
            fn drop(&mut self) {
                let _ = self.0.send(());
            }
        }
        let (sender, receiver) = channel();
        let informers = InformerThread::default();
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (entered, told) = (runtime.enter(), Told(sender));
        informers.spawn(&TaskTracker::new(), async move {
            let _told = told;
            pending::<()>().await;
        });
        assert!(receiver.try_recv().is_err());
        drop(entered);
        drop(runtime);
        receiver.recv_timeout(Duration::from_secs(30)).unwrap();
    }
}
