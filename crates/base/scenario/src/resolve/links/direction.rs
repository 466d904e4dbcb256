//! One direction of a link: what its own table says, else that of the link.

use super::missing;
use crate::error::Complaint;
use crate::file::{BucketTable, DirectionTable, DuplicateTable, LossTable, PathTable, ReorderTable};
use crate::resolve::{ETHERNET_HEADER, LONGEST_DELAY, check_delay, check_rate, positive};
use crate::room::Room;
use crate::run::{Direction, Duplicate, LossModel, Policer, PortLimit, Reorder};
use crate::tree::{Node, Place};
use wirespeed_units::{Bytes, Rate, Span};

const LARGEST_BUFFER: Bytes = Bytes::new(1 << 40);
const ONE_BDP: Room = Room::Bdp(1_000_000);

/// Which direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Forward,
    Reverse,
}

/// A direction on its way to being resolved.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    pub table: &'a PathTable,
    pub way: Way,
    /// What the link's table is called in messages.
    pub what: &'a str,
    /// That table, with its places.
    pub merged: &'a Node,
    pub delay: Span,
    pub rtt: Span,
    /// The largest frame.
    pub packet: Bytes,
    /// How long the run lasts.
    pub duration: Span,
}

impl<'a> Side<'a> {
    pub fn resolve(&self) -> Result<Direction, Complaint> {
        let (own, table) = (self.own(), self.table);
        let rate = own.rate.or(table.rate);
        let rate = rate.ok_or_else(|| missing("rate", "\"9.5 Gbit/s\"", self.what, self.merged))?;
        let (name, at) = self.origin(own.rate.is_some(), &["rate"]);
        check_rate(rate, &name, at)?;
        let (loss, loss_model) = self.loss()?;
        let (reorder, duplicate) = (self.reorder()?, self.duplicate()?);
        let buffer = self.buffer(rate)?;
        let (queue, buffer) = self.queue(rate, buffer)?;
        let outages = self.outages()?;
        let policer = own.policer.or(table.policer);
        let policer = policer
            .map(|bucket| self.bucket(bucket, "policer", own.policer.is_some(), rate))
            .transpose()?
            .map(|(rate, burst)| Policer { rate, burst });
        let port_limit = own.port_limit.or(table.port_limit);
        let port_limit = port_limit
            .map(|bucket| self.bucket(bucket, "port_limit", own.port_limit.is_some(), rate))
            .transpose()?
            .map(|(rate, burst)| PortLimit { rate, burst });
        let mut direction = Direction {
            queue,
            loss_model,
            reorder,
            duplicate,
            outages,
            policer,
            port_limit,
            ..Direction::plain(rate, self.delay, loss, buffer)
        };
        direction.changes = self.changes(&direction)?;
        direction.fec = self.fec(&direction)?;
        Ok(direction)
    }

    pub fn own(&self) -> &'a DirectionTable {
        match self.way {
            Way::Forward => &self.table.forward,
            Way::Reverse => &self.table.reverse,
        }
    }

    /// Name and place of a value: it comes from the direction's table or from the one above; blame the one it
    /// came from.
    pub fn origin(&self, own: bool, leaf: &[&str]) -> (String, Place) {
        let key = match self.way {
            Way::Forward => "forward",
            Way::Reverse => "reverse",
        };
        let path: Vec<&str> = own.then_some(key).into_iter().chain(leaf.iter().copied()).collect();
        (format!("{}.{}", self.what, path.join(".")), self.merged.place_of(&path))
    }

    fn loss(&self) -> Result<(f64, LossModel), Complaint> {
        // As the file says: `path.loss` is the loss of data, and data goes forward.
        let shared = self.way == Way::Forward;
        let (own, table) = (self.own(), self.table);
        let loss = own.loss.or(table.loss.filter(|_| shared)).unwrap_or(0.0);
        let (name, at) = self.origin(own.loss.is_some(), &["loss"]);
        check_probability(loss, &name, &at)?;
        let given = own.loss_model.or(table.loss_model.filter(|_| shared));
        let model = self.loss_model(given.unwrap_or(LossTable::Independent {}))?;
        if model != LossModel::Independent && loss > 0.0 {
            return Err(Complaint::at(
                &at,
                format!(
                    "{name}: packets are lost by loss_model {}, so {loss:e} would say nothing",
                    model.name()
                ),
            )
            .label("has no effect")
            .help("leave out loss, or loss_model"));
        }
        Ok((loss, model))
    }

    fn reorder(&self) -> Result<Option<Reorder>, Complaint> {
        let (own, shared) = (self.own().reorder, self.way == Way::Forward);
        let Some(ReorderTable { probability, delay }) = own.or(self.table.reorder.filter(|_| shared)) else {
            return Ok(None);
        };
        let place = |key: &str| self.origin(own.is_some(), &["reorder", key]);
        let (name, at) = place("probability");
        check_probability(probability, &name, &at)?;
        let (name, at) = place("delay");
        positive(delay, &name, at, LONGEST_DELAY)?;
        Ok((probability > 0.0).then_some(Reorder { probability, delay }))
    }

    fn duplicate(&self) -> Result<Option<Duplicate>, Complaint> {
        let (own, shared) = (self.own().duplicate, self.way == Way::Forward);
        let Some(DuplicateTable { probability, delay }) = own.or(self.table.duplicate.filter(|_| shared))
        else {
            return Ok(None);
        };
        let place = |key: &str| self.origin(own.is_some(), &["duplicate", key]);
        let (name, at) = place("probability");
        check_probability(probability, &name, &at)?;
        let (name, at) = place("delay");
        check_delay(delay, &name, at)?;
        Ok((probability > 0.0).then_some(Duplicate { probability, delay }))
    }

    fn loss_model(&self, table: LossTable) -> Result<LossModel, Complaint> {
        let own = self.own().loss_model.is_some();
        let checked = |key: &str, value: f64| {
            let (name, at) = self.origin(own, &["loss_model", key]);
            check_probability(value, &name, &at).map(|()| value)
        };
        match table {
            LossTable::Independent {} => Ok(LossModel::Independent),
            LossTable::BitError { rate: 1.0 } => {
                let (name, at) = self.origin(own, &["loss_model", "rate"]);
                Err(Complaint::at(&at, format!("{name}: if every bit is wrong, nothing passes"))
                    .label("out of range")
                    .help("write 0 to below 1, for example 1e-12"))
            }
            LossTable::BitError { rate } => Ok(LossModel::BitError { rate: checked("rate", rate)? }),
            LossTable::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                Ok(LossModel::GilbertElliott {
                    good_to_bad: checked("good_to_bad", good_to_bad)?,
                    bad_to_good: checked("bad_to_good", bad_to_good)?,
                    loss_good: checked("loss_good", loss_good.unwrap_or(0.0))?,
                    loss_bad: checked("loss_bad", loss_bad.unwrap_or(1.0))?,
                })
            }
        }
    }

    /// The room that `buffer` gives; what it comes to for a queue of packets is the queue's to say.
    fn buffer(&self, rate: Rate) -> Result<Bytes, Complaint> {
        let own = self.own().buffer;
        let room = own.or(self.table.buffer).unwrap_or(ONE_BDP);
        let (name, at) = self.origin(own.is_some(), &["buffer"]);
        let buffer = self.size(room, rate, &name, &at)?;
        if buffer < self.packet {
            let message = format!(
                "{name}: {} does not hold one packet, so nothing would pass",
                self.spelt(room, buffer, rate)
            );
            return Err(Complaint::at(&at, message).label("smaller than a packet").help(self.least_size()));
        }
        Ok(buffer)
    }

    /// In bytes, and not absurdly many.
    pub fn size(&self, room: Room, rate: Rate, name: &str, at: &Place) -> Result<Bytes, Complaint> {
        let size = room.bytes(rate.volume(self.rtt), self.packet);
        size.filter(|size| *size <= LARGEST_BUFFER).ok_or_else(|| {
            Complaint::at(at, format!("{name}: more than 1 TiB"))
                .label("too large")
                .help("write at most \"1 TiB\"")
        })
    }

    /// A size for a message, with what made it where that is not evident.
    fn spelt(&self, room: Room, size: Bytes, rate: Rate) -> String {
        match room {
            Room::Bdp(_) => format!("{size} (1 bdp is {rate} x {} = {})", self.rtt, rate.volume(self.rtt)),
            _ => size.to_string(),
        }
    }

    pub fn least_size(&self) -> String {
        format!(
            "write at least \"{}\" (the largest MTU and {ETHERNET_HEADER} bytes of Ethernet header), or \"1 packets\"",
            self.packet
        )
    }

    fn outages(&self) -> Result<Vec<(Span, Span)>, Complaint> {
        let own = &self.own().outages;
        let list = own.as_ref().or(self.table.outages.as_ref()).map_or(&[][..], Vec::as_slice);
        let (name, at) = self.origin(own.is_some(), &["outages"]);
        let node = match (own, self.way) {
            (None, _) => self.merged.get("outages"),
            (Some(_), Way::Forward) => self.merged.get("forward").and_then(|n| n.get("outages")),
            (Some(_), Way::Reverse) => self.merged.get("reverse").and_then(|n| n.get("outages")),
        };
        let mut before = Span::ZERO;
        for (i, &(from, to)) in list.iter().enumerate() {
            let at = node.and_then(|n| n.elements().get(i)).map_or(&at, |n| &n.at);
            let fault = |wrong: String, help: &str| {
                Err(Complaint::at(at, format!("{name}: {wrong}")).label("this outage").help(help))
            };
            if to <= from {
                return fault(
                    format!("an outage from {from} to {to} ends before it has begun"),
                    "write [from, to], for example [\"1 s\", \"1.2 s\"]",
                );
            }
            if from < before {
                return fault(
                    format!("an outage begins at {from}, before the one listed before it ends at {before}"),
                    "list outages in their order, and join those that overlap",
                );
            }
            if from >= self.duration {
                return fault(
                    format!("an outage from {from} on, but the run ends at {}", self.duration),
                    "let it begin earlier, or raise run.duration",
                );
            }
            before = to;
        }
        Ok(list.to_vec())
    }

    /// A token bucket's rate and what it holds.
    fn bucket(
        &self,
        table: BucketTable,
        key: &str,
        own: bool,
        line: Rate,
    ) -> Result<(Rate, Bytes), Complaint> {
        let (name, at) = self.origin(own, &[key, "rate"]);
        check_rate(table.rate, &name, at)?;
        let (name, at) = self.origin(own, &[key, "burst"]);
        let burst = self.size(table.burst, line, &name, &at)?;
        if burst < self.packet {
            let message = format!(
                "{name}: {} never holds enough for a packet of full size",
                self.spelt(table.burst, burst, line)
            );
            return Err(Complaint::at(&at, message).label("smaller than a packet").help(self.least_size()));
        }
        Ok((table.rate, burst))
    }
}

pub(super) fn check_probability(value: f64, name: &str, at: &Place) -> Result<(), Complaint> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Complaint::at(at, format!("{name}: {value} is not a probability"))
        .label("out of range")
        .help("write 0 to 1, for example 1e-5 for one packet in 100,000"))
}
