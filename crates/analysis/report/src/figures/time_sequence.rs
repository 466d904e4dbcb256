//! Time-sequence graph of a capture at a sender: every packet, the line of acknowledgements, what was sent again.

use super::Draw;
use crate::figure::{Axis, AxisKind, Dash, Figure, From, Ink, Layer, Shape};
use crate::number::{Quantity, whole};
use crate::source::Source;
use crate::thin::{Point, thin};
use wirespeed_record::{Segment, Transport, capture};

pub(crate) struct TimeSequence;

/// So many packets from the beginning of the capture are drawn one by one, data and ACKs.
const MOST: usize = 12_000;
/// Points of the line of acknowledgements.
const ACK_POINTS: usize = 4_000;

impl Draw for TimeSequence {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let directory = source.recording.samples_in.as_ref()?.directory();
        let (number, flow) =
            source.recording.info.flows.iter().enumerate().find(|(_, flow)| flow.kind == Transport::Tcp)?;
        // A capture that cannot be read is a figure less; what is wrong with it is for who reads the file.
        let segments = capture(directory, &flow.from, MOST).ok()??;
        let trace = Trace::of(source, &segments)?;
        let ink = source.ink(number as u32);
        let note = format!(
            "{}: the first {} packets of the capture at {}. Sent again: {}. Hardware duplicates: {}, seen twice because \
             the interface had no descriptor free and gave them back to the queue.",
            source.label(number as u32),
            whole(segments.len() as i64),
            flow.from,
            whole(trace.again.len() as i64),
            whole(trace.duplicates.len() as i64),
        );
        let layers = vec![
            Layer::line("data", ink, Dash::Solid, trace.data),
            Layer::line("acknowledged", Ink::Muted, Dash::Solid, thin(trace.acknowledged, ACK_POINTS)),
            Layer::shaped("sent again", Ink::Place(4), Shape::Dots, trace.again),
            Layer::shaped("hardware duplicate", Ink::Place(3), Shape::Dots, trace.duplicates),
        ];
        // Rounds fill the axis: it has the times of the capture's packets and not those of the run.
        let at = |segment: Option<&Segment>| segment.map_or(0.0, |segment| source.time.at(segment.t_ns));
        let x = Axis {
            title: format!("Time ({})", source.time.unit),
            kind: AxisKind::Linear,
            range: (at(segments.first()), at(segments.last())),
        };
        let (title, what) = ("Time and sequence", "Sequence number");
        let bytes = Quantity::Bytes;
        let figure = Figure::of_values("time-sequence", title, x, what, &bytes, From::Zero, layers, vec![])?;
        Some(figure.with_note(note))
    }
}

/// The packets of one flow as points, sequence numbers from 0.
#[derive(Default)]
struct Trace {
    data: Vec<Point>,
    again: Vec<Point>,
    acknowledged: Vec<Point>,
    /// Packets that were handed to the interface in vain before.
    duplicates: Vec<Point>,
}

impl Trace {
    /// Of the flow whose data comes first.
    fn of(source: &Source, segments: &[Segment]) -> Option<Trace> {
        let first = segments.iter().find(|segment| segment.payload > 0)?;
        let mut trace = Trace::default();
        let mut highest = 0;
        let mut acknowledged = 0;
        let mut last = None;
        for segment in segments {
            let time = source.time.at(segment.t_ns);
            if segment.from_port == first.from_port && segment.payload > 0 {
                let from = unwrapped(segment.sequence.wrapping_sub(first.sequence), highest);
                let until = from + u64::from(segment.payload);
                // The queue keeps the order: a packet that comes back is the next that is tried.
                let packet = Some((segment.sequence, segment.identification));
                let points = match until <= highest {
                    true if packet == last => &mut trace.duplicates,
                    true => &mut trace.again,
                    false => &mut trace.data,
                };
                points.push((time, from as f64));
                highest = highest.max(until);
                last = packet;
            } else if segment.to_port == first.from_port
                && let Some(next) = segment.acknowledges
            {
                let next = unwrapped(next.wrapping_sub(first.sequence), acknowledged);
                // The handshake acknowledges what is before the first byte.
                if next <= highest {
                    acknowledged = acknowledged.max(next);
                    trace.acknowledged.push((time, acknowledged as f64));
                }
            }
        }
        Some(trace)
    }
}

/// The number nearest to `near` that has these last 32 bits (RFC 9293, section 3.4: numbers wrap around).
fn unwrapped(last_bits: u32, near: u64) -> u64 {
    let distance = last_bits.wrapping_sub(near as u32) as i32;
    near.saturating_add_signed(i64::from(distance))
}

#[cfg(test)]
mod tests {
    use super::unwrapped;

    #[test]
    fn numbers_wrap_around() {
        assert_eq!(unwrapped(1_000, 0), 1_000);
        assert_eq!(unwrapped(5, (1 << 32) - 10), (1 << 32) + 5);
        assert_eq!(unwrapped(u32::MAX - 4, (1 << 32) + 5), (1 << 32) - 5);
        assert_eq!(unwrapped(u32::MAX, 0), 0, "nothing is before the first byte");
    }
}
