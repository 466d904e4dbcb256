//! Hears bytes of anybody as controller and as agent: nothing may panic, and no agent may agree to what is unbounded.

use wirespeed_lab::protocol::{Decoder, Message, Request};

/// Takes `bytes` apart both ways, in two pieces.
pub fn hear(bytes: &[u8]) {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let mut messages = Decoder::<Message>::default();
    let mut requests = Decoder::<Request>::default();
    for piece in [first, second] {
        messages.feed(piece);
        // A stream ends with its first error.
        while let Some(Ok(_)) = messages.next() {}
        requests.feed(piece);
        while let Some(Ok(request)) = requests.next() {
            if let Request::Plan(plan) = request
                && let Ok(run) = plan.check()
            {
                assert!(run.duration.as_secs_f64() <= 24.0 * 3600.0);
                assert_eq!(plan.addresses.len(), run.hosts.len());
            }
        }
    }
}
