//! Hears bytes of anybody as controller and as agent: nothing may panic, and no agent may agree to what is unbounded.

use std::sync::LazyLock;
use wirespeed_agent::message::{Decoder, Message};
use wirespeed_agent::request::Request;
use wirespeed_scenario::run::Run;
use wirespeed_substrates::put_together;

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

/// A run of both kinds of flows between two hosts.
static RUN: LazyLock<Run> = LazyLock::new(|| {
    let text = "schema = 1\nname = \"t\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\n[[flow]]\n[[flow]]\nkind = \"udp\"\n\
                rate = \"10 Mbit/s\"\n[run]\nduration = \"4 s\"\n";
    wirespeed_scenario::parse(text, "t.toml", &[], None).expect("it is a scenario").runs.remove(0)
});

/// Puts together what two agents have said, who may say anything in any order.
pub fn conclude(messages: Vec<Message>) {
    let hosts = RUN.hosts.iter().map(|host| host.name.clone()).cycle();
    let said = messages.into_iter().flat_map(|message| [message.clone(), message]);
    let recording = put_together(&RUN, hosts.zip(said), 1000).expect("it is a run of real machines");
    let in_run = 0..=recording.info.duration_ns;
    assert!(recording.flows.iter().all(|row| in_run.contains(&row.t_ns)), "a row of no time of the run");
    assert!(recording.flows.iter().all(|row| (row.flow as usize) < RUN.flows.len()), "a row of no flow");
}

/// Takes `bytes` for messages without frames, one behind the other, of agents at work.
pub fn work(mut bytes: &[u8]) {
    let mut messages = Vec::new();
    while let Ok((message, rest)) = postcard::take_from_bytes::<Message>(bytes) {
        messages.push(message);
        bytes = rest;
    }
    conclude(messages);
}
