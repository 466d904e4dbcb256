//! What comes from the other end of a connection is heard whatever it is.

#[path = "support/hostile.rs"]
mod support;

use proptest::prelude::*;
use wirespeed_lab::protocol::{Message, Plan, Request, Writer};

fn framed(parts: &[(bool, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (right, body) in parts {
        let length = body.len() as u32 + u32::from(!*right);
        bytes.extend(length.to_le_bytes());
        bytes.extend(body);
    }
    bytes
}

proptest! {
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        support::hear(&bytes);
    }

    #[test]
    fn frames_of_any_bytes(parts in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..200)), 0..20)) {
        support::hear(&framed(&parts));
    }

    #[test]
    fn plans_of_any_text(run in ".{0,200}", host in any::<u32>(), flips in proptest::collection::vec((0usize..400, any::<u8>()), 0..4)) {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        let plan = Plan { run, host, addresses: vec![std::net::Ipv4Addr::LOCALHOST] };
        writer.write(&Request::Plan(plan)).unwrap();
        writer.write(&Message::Time(5)).unwrap();
        writer.flush().unwrap();
        for (at, by) in flips {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= by;
            }
        }
        support::hear(&bytes);
    }
}
