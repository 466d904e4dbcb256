//! The queue before a link: its discipline with every setting.

use super::direction::{Side, check_probability};
use crate::error::Complaint;
use crate::file::QueueTable;
use crate::resolve::{positive, within, within_bytes};
use crate::room::Room;
use crate::run::Queue;
use crate::tree::Place;
use wirespeed_units::{Bytes, Rate, Span};

/// RFC 8289, TARGET and INTERVAL.
const TARGET: Span = Span::ms(5);
const INTERVAL: Span = Span::ms(100);
const LONGEST_INTERVAL: Span = Span::secs(3600);
/// RFC 8290, section 5.2.4: one frame of Ethernet.
const QUANTUM: Room = Room::Bytes(Bytes::new(1514));
/// tc-red(8).
const RED_PROBABILITY: f64 = 0.02;

impl Side<'_> {
    /// The discipline, and the room as it counts for it.
    pub fn queue(&self, rate: Rate, buffer: Bytes) -> Result<(Queue, Bytes), Complaint> {
        let given = self.own().queue.as_ref().or(self.table.queue.as_ref());
        let queue =
            match given.cloned().unwrap_or(QueueTable::DropTail { mark_above: None, mark_after: None }) {
                QueueTable::DropTail { mark_above, mark_after } => {
                    Queue::DropTail { mark_above: self.mark_above((mark_above, mark_after), rate, buffer)? }
                }
                QueueTable::DropTailPackets { packets, mark_above, mark_after } => {
                    let packets = self.packets(packets, buffer)?;
                    let buffer = self.packet * u64::from(packets);
                    let mark_above = self.mark_above((mark_above, mark_after), rate, buffer)?;
                    return Ok((Queue::DropTailPackets { packets, mark_above }, buffer));
                }
                QueueTable::Red { min, max, probability, weight, ecn } => {
                    self.red((min, max), probability, weight, ecn, rate, buffer)?
                }
                QueueTable::CoDel { target, interval, ecn } => {
                    let (target, interval) = self.target(target, interval)?;
                    Queue::CoDel { target, interval, ecn: ecn.unwrap_or(false) }
                }
                QueueTable::FqCodel { target, interval, quantum, ecn } => {
                    let (target, interval) = self.target(target, interval)?;
                    let (name, at) = self.queue_key("quantum");
                    let quantum = self.size(quantum.unwrap_or(QUANTUM), rate, &name, &at)?;
                    within_bytes(quantum, 1..=u64::from(u32::MAX), &name, &at)?;
                    Queue::FqCodel { target, interval, quantum, ecn: ecn.unwrap_or(true) }
                }
                table @ QueueTable::DualPi2 { .. } => self.dual_pi2(table)?,
            };
        Ok((queue, buffer))
    }

    pub(super) fn queue_key(&self, key: &str) -> (String, Place) {
        self.origin(self.own().queue.is_some(), &["queue", key])
    }

    /// The threshold of marks: a size, or what the link sends in a time.
    fn mark_above(
        &self,
        (above, after): (Option<Room>, Option<Span>),
        rate: Rate,
        buffer: Bytes,
    ) -> Result<Option<Bytes>, Complaint> {
        let key = if after.is_some() { "mark_after" } else { "mark_above" };
        let (name, at) = self.queue_key(key);
        let threshold = match (above, after) {
            (None, None) => return Ok(None),
            (Some(room), None) => self.size(room, rate, &name, &at)?,
            (None, Some(time)) => {
                positive(time, &name, at.clone(), LONGEST_INTERVAL)?;
                let bits = i128::from(time.picoseconds()) * i128::from(rate.get()) / 1_000_000_000_000;
                Bytes::new(u64::try_from(bits / 8).unwrap_or(u64::MAX))
            }
            (Some(_), Some(time)) => {
                return Err(Complaint::at(
                    &at,
                    format!("{name}: {time} is a second threshold beside mark_above"),
                )
                .label("one threshold too many")
                .help("leave out mark_above or mark_after"));
            }
        };
        if threshold < buffer {
            return Ok(Some(threshold));
        }
        let message =
            format!("{name}: {threshold} is not below the room of {buffer}, so nothing would be marked");
        Err(Complaint::at(&at, message)
            .label("never reached")
            .help(format!("lower {key}, for example to {}, or raise the room", example(after))))
    }

    fn packets(&self, given: Option<u32>, buffer: Bytes) -> Result<u32, Complaint> {
        let (name, at) = self.queue_key("packets");
        let Some(packets) = given else {
            return Ok(u32::try_from(buffer.get() / self.packet.get()).unwrap_or(u32::MAX));
        };
        within(u64::from(packets), 1..=(1 << 40) / self.packet.get(), &name, &at)?;
        // A preset's buffer, or one that --set overrides, is no contradiction.
        let own = self.own().buffer.is_some();
        let has_buffer = own || self.table.buffer.is_some();
        let (buffer, buffer_at) = self.origin(own, &["buffer"]);
        if has_buffer && buffer_at.source == at.source {
            return Err(Complaint::at(&at, format!("{name}: the room is given twice, here and by {buffer}"))
                .label("room in packets")
                .help("leave out packets or buffer"));
        }
        Ok(packets)
    }

    /// CoDel's target and interval.
    fn target(&self, target: Option<Span>, interval: Option<Span>) -> Result<(Span, Span), Complaint> {
        let (target_name, target_at) = self.queue_key("target");
        let (interval_name, interval_at) = self.queue_key("interval");
        let at = if target.is_some() { &target_at } else { &interval_at };
        let or_default = |given: Option<Span>| if given.is_some() { "" } else { " (the default)" };
        let defaults = (or_default(target), or_default(interval));
        let (target, interval) = (target.unwrap_or(TARGET), interval.unwrap_or(INTERVAL));
        positive(target, &target_name, target_at.clone(), LONGEST_INTERVAL)?;
        positive(interval, &interval_name, interval_at.clone(), LONGEST_INTERVAL)?;
        if target < interval {
            return Ok((target, interval));
        }
        let message = format!(
            "{target_name}: {target}{} is not below the interval of {interval}{}",
            defaults.0, defaults.1
        );
        Err(Complaint::at(at, message).label("the wrong way round").help(
            "the target is 5 to 10 % of the interval, and that about the largest round-trip time (RFC 8289)",
        ))
    }

    fn red(
        &self,
        (min, max): (Option<Room>, Option<Room>),
        probability: Option<f64>,
        weight: Option<f64>,
        ecn: Option<bool>,
        rate: Rate,
        buffer: Bytes,
    ) -> Result<Queue, Complaint> {
        let size = |room: Option<Room>, key: &str| {
            let (name, at) = self.queue_key(key);
            room.map(|room| self.size(room, rate, &name, &at)).transpose()
        };
        // The defaults of tc-red.
        let (given_min, given_max) = (size(min, "min")?, size(max, "max")?);
        let third = |size: Bytes| Bytes::new(size.get() / 3);
        let (min, max) = match (given_min, given_max) {
            (Some(min), Some(max)) => (min, max),
            (Some(min), None) => (min, min * 3),
            (None, Some(max)) => (third(max), max),
            (None, None) => (third(Bytes::new(buffer.get() / 4)), Bytes::new(buffer.get() / 4)),
        };
        let key = if given_max.is_some() { "max" } else { "min" };
        let (name, at) = self.queue_key(key);
        if min == Bytes::ZERO || min >= max {
            let message =
                format!("{name}: min is {min} and max is {max}; min has to be above zero and below max");
            return Err(Complaint::at(&at, message)
                .label("the wrong way round")
                .help("write max as two to three times min, or leave one of them out"));
        }
        if max > buffer {
            let message =
                format!("{name}: max is {max}, more than the buffer of {buffer}, which drops before");
            return Err(Complaint::at(&at, message)
                .label("never reached")
                .help("lower it, or raise buffer to several times max"));
        }
        let (name, at) = self.queue_key("probability");
        let probability = probability.unwrap_or(RED_PROBABILITY);
        check_probability(probability, &name, &at)?;
        above_zero(probability, &name, &at)?;
        let weight = match weight {
            None => red_weight(min, max, self.packet),
            Some(weight) => {
                let (name, at) = self.queue_key("weight");
                check_probability(weight, &name, &at)?;
                above_zero(weight, &name, &at)?;
                weight
            }
        };
        Ok(Queue::Red { min, max, probability, weight, ecn: ecn.unwrap_or(false) })
    }
}

/// A threshold in the form of the one that was given.
fn example(after: Option<Span>) -> &'static str {
    if after.is_some() { "\"1 ms\"" } else { "\"65 packets\"" }
}

fn above_zero(value: f64, name: &str, at: &Place) -> Result<(), Complaint> {
    if value > 0.0 {
        return Ok(());
    }
    Err(Complaint::at(at, format!("{name}: with zero the queue is plain drop-tail"))
        .label("out of range")
        .help("write a number above 0, or queue = \"drop-tail\""))
}

/// The largest power of 1/2 as weight by which a burst of L packets into an empty queue leaves the average at `min`
/// or below: L + 1 + ((1 - w)^(L + 1) - 1) / w <= min (Floyd, Jacobson 1993, equation 3), with L = (2 min + max) / 3
/// in packets as tc-red(8) advises.
fn red_weight(min: Bytes, max: Bytes, packet: Bytes) -> f64 {
    /// Linux keeps the exponent in five bits.
    const SMALLEST: i32 = 31;
    let packets = |size: Bytes| size.get() as f64 / packet.get() as f64;
    let burst = ((2.0 * packets(min) + packets(max)) / 3.0).max(1.0);
    let weights = (1..=SMALLEST).map(|exponent| 2f64.powi(-exponent));
    let after_burst = |w: f64| burst + 1.0 + ((1.0 - w).powf(burst + 1.0) - 1.0) / w;
    weights.clone().find(|w| after_burst(*w) <= packets(min)).unwrap_or(2f64.powi(-SMALLEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_lets_bursts_pass() {
        let packets = |n: u64| Bytes::new(1500 * n);
        // Floyd and Jacobson's example: min 5 packets, bursts of 50, w <= 0.0042; the power of 1/2 below is 1/256.
        let weight = red_weight(packets(5), packets(140), packets(1));
        assert_eq!(weight, 1.0 / 256.0);
        assert!(
            red_weight(packets(50), packets(150), packets(1)) > weight,
            "short bursts beside a large min"
        );
        assert!(red_weight(Bytes::new(100), Bytes::new(300), packets(1)) > 0.0, "less than a packet");
    }
}
