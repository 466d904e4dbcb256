//! Work on many runs on several threads whose results are taken in the order of the runs.

use std::sync::mpsc::sync_channel;
use std::thread;

/// Readers beyond these wait for who takes the results, and each has a recording in memory.
const MOST_WORKERS: usize = 8;

/// Calls `work` with every item on up to `workers` threads (at least 1), and `take` with every item and its result on this thread,
/// in the order of the items. Each worker has at most one result that is not taken yet.
///
/// # Errors
/// The first of `take`; nothing is taken after it.
pub fn in_order<T, U, E>(
    items: &[T],
    workers: usize,
    work: impl Fn(&T) -> U + Sync,
    mut take: impl FnMut(&T, U) -> Result<(), E>,
) -> Result<(), E>
where
    T: Sync,
    U: Send,
{
    let workers = workers.clamp(1, MOST_WORKERS).min(items.len().max(1));
    thread::scope(|scope| {
        let results: Vec<_> = (0..workers)
            .map(|first| {
                let (sender, receiver) = sync_channel(0);
                let work = &work;
                scope.spawn(move || {
                    for item in items.iter().skip(first).step_by(workers) {
                        // The receivers are gone after an error.
                        if sender.send(work(item)).is_err() {
                            break;
                        }
                    }
                });
                receiver
            })
            .collect();
        for (index, item) in items.iter().enumerate() {
            // A worker without a result panicked; the scope passes that on.
            let Ok(result) = results[index % workers].recv() else { break };
            take(item, result)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[test]
    fn results_come_in_order_whatever_the_number_of_workers() {
        let items: Vec<u64> = (0..100).collect();
        for workers in [0, 1, 2, 3, 1000] {
            let mut taken = Vec::new();
            let slow = |item: &u64| {
                thread::sleep(std::time::Duration::from_micros(item * 7 % 50));
                item * 2
            };
            let result = in_order(&items, workers, slow, |item, result| {
                taken.push((*item, result));
                Ok::<(), ()>(())
            });
            assert_eq!(result, Ok(()));
            assert!(taken.into_iter().eq((0..100).map(|item| (item, item * 2))), "{workers} workers");
        }
    }

    #[test]
    fn nothing_is_taken_after_an_error_and_work_ends() {
        let begun = AtomicUsize::new(0);
        let mut taken = 0;
        let count = |_: &usize| begun.fetch_add(1, Relaxed);
        let result = in_order(&[0; 1000], 2, count, |_, _| {
            taken += 1;
            if taken == 3 { Err("full") } else { Ok(()) }
        });
        assert_eq!((result, taken), (Err("full"), 3));
        assert!(begun.into_inner() <= 3 + 2 * 2);
    }

    #[test]
    fn no_items_are_no_work() {
        let none: [u8; 0] = [];
        assert_eq!(in_order(&none, 4, |_| unreachable!(), |_, ()| Err(())), Ok(()));
    }
}
