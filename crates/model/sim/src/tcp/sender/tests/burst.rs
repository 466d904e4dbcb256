//! How much leaves at once, and what waits for more (`tcp_tso_should_defer`), at a round trip of 200 us: there a GSO
//! packet may be as large as any.

use super::{Settings, Start};

/// The handshake, in microseconds.
const HANDSHAKE: i64 = 200;

#[test]
fn less_than_a_third_of_the_window_waits_and_the_third_is_not_rounded() {
    let start = Start::of(10);
    let settings = Settings { gso_packets: 43, ..start.settings() };
    let mut script = start.go_with(settings, HANDSHAKE);
    // The window has been 10 packets since 200 us, all of them out; each packet that is acknowledged makes it one more.
    assert_eq!(script.ack(400, 1, &[]), [0; 0], "2 of 11");
    // 4 of 12 is a third.
    assert_eq!(script.ack(412, 2, &[]), [10, 11, 12, 13]);
    assert_eq!(script.ack(424, 3, &[]), [0; 0], "2 of 13");
    assert_eq!(script.ack(436, 4, &[]), [0; 0], "4 of 14");
    assert_eq!(script.ack(448, 5, &[]), [14, 15, 16, 17, 18, 19], "6 of 15");
    assert_eq!(script.ack(460, 7, &[]), [0; 0], "4 of 17");
    assert_eq!(script.ack(472, 8, &[]), [20, 21, 22, 23, 24, 25], "6 of 18");
}
