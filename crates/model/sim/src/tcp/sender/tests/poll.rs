//! A writer that waits for room in the send buffer, and acknowledgements that one poll of the interface takes (`sk_stream_write_space`
//! wakes a process, and it runs after the softirq).

use super::*;

/// Its send buffer has room for the initial window only, 20 packets of 1832 bytes of memory.
fn blocked() -> Script {
    let start = Start::of(20);
    let settings =
        Settings { send_buffer: Some(36_000), send_buffer_range: (4096, 36_000), ..start.settings() };
    start.go_with(settings, START)
}

#[test]
fn writer_that_is_woken_runs_at_once_without_a_poll() {
    let mut script = blocked();
    assert_eq!(script.ack(200_000, 10, &[])[0], 20);
}

#[test]
fn writer_runs_after_the_poll_and_fills_the_room_of_all_its_acknowledgements() {
    let mut script = blocked();
    assert!(script.sender.begin_poll());
    assert!(!script.sender.begin_poll(), "it is in one");
    assert!(script.ack(200_000, 10, &[]).is_empty());
    assert!(script.ack(200_000, 16, &[]).is_empty());
    script.sender.end_poll(&mut script.out);
    let left = script.left();
    assert!(left.len() >= 16 && left[0] == 20, "{left:?}");
    script.sender.end_poll(&mut script.out);
    assert!(script.left().is_empty());
}
