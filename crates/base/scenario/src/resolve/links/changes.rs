//! Changes of a direction during the run: steps and ramps, once or repeatedly.

use super::direction::{Side, Way, check_probability};
use crate::error::Complaint;
use crate::file::{ChangeTable, WayTable};
use crate::resolve::{LONGEST_RUN, check_delay, check_rate_or_none, positive};
use crate::room::Room;
use crate::run::{Change, Direction, LinkState, LossModel, Queue};
use crate::tree::{Node, Place};
use wirespeed_units::{Bytes, Rate, Span};

/// Steps of a ramp: each is a hundredth of the difference, finer than what a flow's share varies by itself.
const RAMP_STEPS: i64 = 100;
/// A minute of steps of a millisecond, with room.
pub(super) const MOST_CHANGES: usize = 200_000;

/// New values as they are written, in a table or in a line of a file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Values {
    pub rate: Option<Rate>,
    pub rtt: Option<Span>,
    pub delay: Option<Span>,
    pub loss: Option<f64>,
    pub buffer: Option<Room>,
}

/// New values of a direction, and the time it takes to get there.
#[derive(Debug, Clone)]
struct Move {
    over: Span,
    to: Change,
    at: Place,
}

impl Side<'_> {
    /// The changes of this direction in order of time. `first`: how it begins.
    pub fn changes(&self, first: &Direction) -> Result<Vec<Change>, Complaint> {
        let moves = self.moves(first)?;
        let Some((file, own)) = self.schedule() else { return self.steps(first, moves) };
        if let Some(also) = moves.first() {
            let (name, _) = self.origin(own, &["schedule"]);
            let message = format!("{}.change: this direction changes by {name} already", self.what);
            return Err(Complaint::at(&also.at, message)
                .label("a second account")
                .help("put the changes into the file, or remove one of the two"));
        }
        self.scheduled(first, file, own)
    }

    /// The changes of the tables that concern this direction, each time they come.
    fn moves(&self, first: &Direction) -> Result<Vec<Move>, Complaint> {
        let tables = self.table.change.as_deref().unwrap_or_default();
        let nodes = self.merged.get("change").map_or(&[][..], Node::elements);
        let mut moves = Vec::new();
        for (table, node) in tables.iter().zip(nodes) {
            let name = |key: &str| format!("{}.change.{key}", self.what);
            self.check_change(table, node)?;
            let way = table.direction.map(|way| match way {
                WayTable::Forward => Way::Forward,
                WayTable::Reverse => Way::Reverse,
            });
            if way.is_some_and(|way| way != self.way) {
                continue;
            }
            let ChangeTable { rate, rtt, delay, loss, buffer, .. } = *table;
            let place = |key: &str| (name(key), node.place_of(&[key]));
            let values = Values { rate, rtt, delay, loss, buffer };
            let to = self.new_values(&self.without_shared_loss(values, way.is_some()), first, &place)?;
            let over = table.over.unwrap_or(Span::ZERO);
            let mut at = table.at;
            while at < self.duration {
                if moves.len() == MOST_CHANGES {
                    return Err(too_many(&name("every"), &node.place_of(&["every"])));
                }
                moves.push(Move { over, to: Change { at, ..to }, at: node.at.clone() });
                let Some(every) = table.every else { break };
                at += every;
            }
        }
        moves.sort_by_key(|a| a.to.at);
        Ok(moves)
    }

    fn check_change(&self, table: &ChangeTable, node: &Node) -> Result<(), Complaint> {
        let name = |key: &str| format!("{}.change.{key}", self.what);
        let place = |key: &str| node.place_of(&[key]);
        let ChangeTable { rate, rtt, delay, loss, buffer, over, every, direction, .. } = table;
        if rate.is_none() && rtt.is_none() && delay.is_none() && loss.is_none() && buffer.is_none() {
            return Err(Complaint::at(&node.at, format!("{}.change: it changes nothing", self.what))
                .label("no new value")
                .help("add rate, rtt, delay, loss or buffer"));
        }
        if delay.is_some() && direction.is_none() {
            let message = format!("{}: the direction is missing", name("delay"));
            return Err(Complaint::at(&place("delay"), message)
                .label("one direction only")
                .help("add direction = \"forward\" or \"reverse\", or write rtt"));
        }
        if rtt.is_some() && direction.is_some() {
            let message = format!("{}: a round trip has both directions", name("rtt"));
            return Err(Complaint::at(&place("rtt"), message)
                .label("both directions")
                .help("write delay, or leave out direction"));
        }
        if let Some(over) = over {
            positive(*over, &name("over"), place("over"), LONGEST_RUN)?;
        }
        if let Some(every) = every {
            positive(*every, &name("every"), place("every"), LONGEST_RUN)?;
            if over.is_some_and(|over| over > *every) {
                let message = format!(
                    "{}: it begins again before its {} are over",
                    name("every"),
                    over.unwrap_or_default()
                );
                return Err(Complaint::at(&place("every"), message)
                    .label("too soon")
                    .help("raise every, or lower over"));
            }
        }
        Ok(())
    }

    /// The loss of a link is that of its forward direction, unless a direction is named.
    pub fn without_shared_loss(&self, values: Values, names_direction: bool) -> Values {
        let has_loss = names_direction || self.way == Way::Forward;
        Values { loss: values.loss.filter(|_| has_loss), ..values }
    }

    /// The new values of this direction, checked. `place` has the name and the place of a key.
    pub fn new_values(
        &self,
        values: &Values,
        first: &Direction,
        place: &dyn Fn(&str) -> (String, Place),
    ) -> Result<Change, Complaint> {
        if let Some(rate) = values.rate {
            let (name, at) = place("rate");
            check_rate_or_none(rate, &name, at)?;
        }
        for (key, span) in [("rtt", values.rtt), ("delay", values.delay)] {
            let (name, at) = place(key);
            check_delay(span.unwrap_or_default(), &name, at)?;
        }
        if let Some(loss) = values.loss {
            let (name, at) = place("loss");
            check_probability(loss, &name, &at)?;
            if first.loss_model != LossModel::Independent {
                let message = format!("{name}: packets are lost by loss_model {}", first.loss_model.name());
                return Err(Complaint::at(&at, message)
                    .label("has no effect")
                    .help("leave out loss, or loss_model"));
            }
        }
        let delay = values.rtt.map(|rtt| self.part_of(rtt)).or(values.delay);
        Ok(Change {
            at: Span::ZERO,
            rate: values.rate,
            delay: delay.map(whole_nanoseconds),
            loss: values.loss,
            buffer: values.buffer.map(|room| self.new_buffer(room, first, place)).transpose()?,
        })
    }

    /// The part of a round-trip time that this direction has.
    fn part_of(&self, rtt: Span) -> Span {
        let forward = if self.way == Way::Forward { self.delay } else { self.rtt - self.delay };
        let forward = match self.rtt.picoseconds() {
            0 => rtt.picoseconds() / 2,
            whole => {
                (i128::from(rtt.picoseconds()) * i128::from(forward.picoseconds()) / i128::from(whole)) as i64
            }
        };
        if self.way == Way::Forward { Span::ps(forward) } else { rtt - Span::ps(forward) }
    }

    fn new_buffer(
        &self,
        room: Room,
        first: &Direction,
        place: &dyn Fn(&str) -> (String, Place),
    ) -> Result<Bytes, Complaint> {
        let (name, at) = place("buffer");
        if !matches!(first.queue, Queue::DropTail { .. } | Queue::Red { .. }) {
            let message = format!("{name}: the room of queue {} cannot change", first.queue.name());
            return Err(Complaint::at(&at, message)
                .label("not with this queue")
                .help("leave out buffer, or take queue drop-tail or red"));
        }
        let buffer = self.size(room, first.rate, &name, &at)?;
        if buffer >= self.packet {
            return Ok(buffer);
        }
        let message = format!("{name}: {buffer} does not hold one packet, so nothing would pass");
        Err(Complaint::at(&at, message).label("smaller than a packet").help(self.least_size()))
    }

    /// The moves as steps: a ramp is many.
    fn steps(&self, first: &Direction, moves: Vec<Move>) -> Result<Vec<Change>, Complaint> {
        let mut state = first.states().next().expect("it is in some state from the start on");
        // When the ramp that each quantity is on comes to its end.
        let mut busy = [Span::ZERO; 4];
        let mut steps = Vec::new();
        for Move { over, to, at } in moves {
            let given = [to.rate.is_some(), to.delay.is_some(), to.loss.is_some(), to.buffer.is_some()];
            for (busy, _) in busy.iter_mut().zip(given).filter(|(_, given)| *given) {
                if to.at < *busy {
                    let message = format!(
                        "{}.change: at {} the change before it is not over until {busy}",
                        self.what, to.at
                    );
                    return Err(Complaint::at(&at, message)
                        .label("begins too early")
                        .help("let it begin later, or lower the other's over"));
                }
                *busy = to.at + over;
            }
            if over == Span::ZERO {
                steps.push(to);
            } else {
                steps.extend((1..=RAMP_STEPS).map(|step| part_way(&state, &to, over, step)));
            }
            state = state.with(&to);
            if steps.len() > MOST_CHANGES {
                return Err(too_many(&format!("{}.change", self.what), &at));
            }
        }
        steps.retain(|step| step.at < self.duration);
        Ok(in_order(steps, self.duration))
    }
}

/// The new values after so many steps of a ramp from `from` to `to`.
fn part_way(from: &LinkState, to: &Change, over: Span, step: i64) -> Change {
    let between = |from: i64, to: i64| {
        from + ((i128::from(to) - i128::from(from)) * i128::from(step) / i128::from(RAMP_STEPS)) as i64
    };
    let counted = |from: u64, to: u64| between(from as i64, to as i64) as u64;
    let part = step as f64 / RAMP_STEPS as f64;
    Change {
        at: to.at + Span::ps(between(0, over.picoseconds())),
        rate: to.rate.map(|rate| Rate::bps(counted(from.rate.get(), rate.get()))),
        delay: to
            .delay
            .map(|delay| whole_nanoseconds(Span::ps(between(from.delay.picoseconds(), delay.picoseconds())))),
        loss: to
            .loss
            .map(|loss| if step == RAMP_STEPS { loss } else { from.loss + (loss - from.loss) * part }),
        buffer: to.buffer.map(|buffer| Bytes::new(counted(from.buffer.get(), buffer.get()))),
    }
}

/// A warning for each change that begins after the run's end: the file may be run for a shorter time on purpose.
pub(in crate::resolve) fn too_late(root: &Node, duration: Span) -> Vec<String> {
    let links = root.get("link").map_or(&[][..], Node::elements).iter().map(|link| ("link", link));
    let tables = root.get("path").into_iter().map(|path| ("path", path)).chain(links);
    let late = tables.flat_map(|(name, table)| {
        let changes = table.get("change").map_or(&[][..], Node::elements);
        let begins = changes.iter().filter_map(|change| change.get("at")?.text()?.parse::<Span>().ok());
        begins
            .filter(move |at| *at >= duration)
            .map(move |at| format!("{name}.change: that at {at} never happens, the run ends at {duration}"))
    });
    late.collect()
}

/// Sorted, those of one time together, and all at whole nanoseconds, which is what a kernel counts in.
pub(super) fn in_order(mut changes: Vec<Change>, end: Span) -> Vec<Change> {
    changes.iter_mut().for_each(|change| change.at = whole_nanoseconds(change.at));
    changes.retain(|change| change.at < end);
    changes.sort_by_key(|change| change.at);
    let mut joined: Vec<Change> = Vec::with_capacity(changes.len());
    for change in changes {
        match joined.last_mut() {
            Some(last) if last.at == change.at => {
                *last = Change {
                    at: last.at,
                    rate: change.rate.or(last.rate),
                    delay: change.delay.or(last.delay),
                    loss: change.loss.or(last.loss),
                    buffer: change.buffer.or(last.buffer),
                };
            }
            _ => joined.push(change),
        }
    }
    joined
}

pub(super) fn too_many(name: &str, at: &Place) -> Complaint {
    Complaint::at(at, format!("{name}: more than {MOST_CHANGES} changes"))
        .label("too many")
        .help("let it come less often, or shorten the run")
}

fn whole_nanoseconds(span: Span) -> Span {
    Span::ns(span.nanoseconds())
}
