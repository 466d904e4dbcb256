//! Graphs in the format of xplot, with the marks and colours of tcptrace (<https://www.tcptrace.org>, manual, "graphs").

use crate::Direction;
use crate::plot::Kind;
use std::io::{self, Write};
use wirespeed_trace::{AckMarks, DataClass, DataMarks};

/// Data packets over which tcptrace averages the throughput.
const AVERAGED: usize = 10;

/// A file that is written: the colour is stated where it changes.
struct Graph<'a> {
    out: &'a mut dyn Write,
    colour: &'static str,
}

impl Graph<'_> {
    fn begin<'a>(out: &'a mut dyn Write, title: &str, y: &str) -> io::Result<Graph<'a>> {
        write!(out, "dtime double\ntitle\n{title}\nxlabel\nrelative time\nylabel\n{y}\n")?;
        Ok(Graph { out, colour: "" })
    }

    fn colour(&mut self, colour: &'static str) -> io::Result<()> {
        if self.colour != colour {
            self.colour = colour;
            writeln!(self.out, "{colour}")?;
        }
        Ok(())
    }

    fn line(&mut self, colour: &'static str, from: (i64, i64), to: (i64, i64)) -> io::Result<()> {
        self.colour(colour)?;
        writeln!(self.out, "line {} {} {} {}", seconds(from.0), from.1, seconds(to.0), to.1)
    }

    /// A mark at a point: `uarrow`, `darrow`, `dtick`, `diamond`, `dot` or `x`.
    fn mark(&mut self, colour: &'static str, mark: &str, (t, y): (i64, i64)) -> io::Result<()> {
        self.colour(colour)?;
        writeln!(self.out, "{mark} {} {y}", seconds(t))
    }

    /// Text above a point.
    fn text(&mut self, colour: &'static str, (t, y): (i64, i64), text: &str) -> io::Result<()> {
        self.colour(colour)?;
        writeln!(self.out, "atext {} {y}\n{text}", seconds(t))
    }
}

/// Nanoseconds as seconds, exactly.
fn seconds(t_ns: i64) -> String {
    let sign = if t_ns < 0 { "-" } else { "" };
    let t = t_ns.unsigned_abs();
    format!("{sign}{}.{:09}", t / 1_000_000_000, t % 1_000_000_000)
}

pub(crate) fn write(out: &mut dyn Write, kind: Kind, direction: &Direction<'_>) -> io::Result<()> {
    let ends = format!("{}_==>_{}", direction.from, direction.to);
    match kind {
        Kind::TimeSequence => {
            let title = format!("{ends} (time sequence graph)");
            time_sequence(Graph::begin(out, &title, "sequence offset")?, direction)?;
        }
        Kind::Owin => {
            let title = format!("{ends} (outstanding data)");
            owin(Graph::begin(out, &title, "Outstanding Data (bytes)")?, direction)?;
        }
        Kind::Rtt => {
            rtt(Graph::begin(out, &format!("{ends} (rtt samples)"), "rtt (ms)")?, direction)?;
        }
        Kind::Throughput => {
            let title = format!("{ends} (throughput)");
            throughput(Graph::begin(out, &title, "thruput (bytes/sec)")?, direction)?;
        }
    }
    writeln!(out, "go")
}

/// Data in white, acknowledgments in green, the window in yellow, SACK blocks in purple.
fn time_sequence(mut graph: Graph<'_>, direction: &Direction<'_>) -> io::Result<()> {
    data(&mut graph, direction)?;
    let acks = &direction.points.acks;
    let rows = acks.t_ns.iter().zip(acks.ack.iter()).zip(acks.edge.iter()).zip(acks.marks.iter());
    let mut last: Option<(i64, i64)> = None;
    let mut edge: Option<(i64, i64)> = None;
    for (((t, ack), right), marks) in rows {
        let has = |mark: u8| marks & i64::from(mark) != 0;
        if let Some((before, level)) = last {
            // Acknowledgments that the network reordered do not lower the line.
            let reached = ack.max(level);
            graph.line("green", (before, level), (t, level))?;
            if reached > level {
                graph.line("green", (t, level), (t, reached))?;
            }
        }
        graph.mark("green", if has(AckMarks::DUPLICATE) { "utick" } else { "dtick" }, (t, ack))?;
        last = Some((t, last.map_or(ack, |(_, level)| level.max(ack))));
        if has(AckMarks::WINDOW) {
            if let Some((before, level)) = edge {
                graph.line("yellow", (before, level), (t, level))?;
                graph.line("yellow", (t, level), (t, right))?;
            }
            edge = Some((t, right));
        }
        if has(AckMarks::ZERO_WINDOW) {
            graph.text("yellow", (t, right), "Z")?;
        }
        if has(AckMarks::ECE) {
            graph.text("white", (t, ack), "ECE")?;
        }
    }
    let sacks = &direction.points.sacks;
    for ((t, left), length) in sacks.t_ns.iter().zip(sacks.left.iter()).zip(sacks.length.iter()) {
        graph.line("purple", (t, left), (t, left + length))?;
        graph.text("purple", (t, left + length), "S")?;
    }
    Ok(())
}

fn data(graph: &mut Graph<'_>, direction: &Direction<'_>) -> io::Result<()> {
    let data = &direction.points.data;
    let rows = data.t_ns.iter().zip(data.start.iter()).zip(data.length.iter());
    for (((t, start), length), (class, marks)) in rows.zip(data.class.iter().zip(data.marks.iter())) {
        let has = |mark: u8| marks & i64::from(mark) != 0;
        let (low, high) = ((t, start), (t, start + length));
        let class = DataClass::of_number(class).unwrap_or(DataClass::First);
        let (colour, text) = style(class);
        let colour = if has(DataMarks::SYN | DataMarks::FIN) && text.is_none() { "orange" } else { colour };
        graph.line(colour, low, high)?;
        graph.mark(colour, "darrow", low)?;
        graph.mark(colour, "uarrow", high)?;
        if let Some(text) = text {
            graph.text(colour, high, text)?;
        }
        if has(DataMarks::PUSH) {
            graph.mark("white", "diamond", high)?;
        }
        let flags = [
            (DataMarks::SYN, "SYN"),
            (DataMarks::FIN, "FIN"),
            (DataMarks::RESET, "RST_OUT"),
            (DataMarks::CE, "CE"),
            (DataMarks::CWR, "CWR"),
        ];
        for (_, text) in flags.into_iter().filter(|&(mark, _)| has(mark)) {
            graph.text("orange", high, text)?;
        }
    }
    Ok(())
}

/// Colour and letters of a class. tcptrace has R, O, HD and P; the others are our own.
fn style(class: DataClass) -> (&'static str, Option<&'static str>) {
    match class {
        DataClass::First => ("white", None),
        DataClass::Timeout => ("red", Some("RTO")),
        DataClass::TailLossProbe => ("red", Some("TLP")),
        class if class.is_retransmission() => ("red", Some("R")),
        DataClass::Duplicate => ("blue", Some("HD")),
        DataClass::Reordered => ("pink", Some("O")),
        DataClass::LateRecord => ("pink", Some("L")),
        _ => ("orange", Some("P")),
    }
}

/// Bytes in flight in red, their largest number in each round in blue, the receive window in yellow.
fn owin(mut graph: Graph<'_>, direction: &Direction<'_>) -> io::Result<()> {
    let data = &direction.points.data;
    let mut last = None;
    for point in data.t_ns.iter().zip(data.in_flight.iter()) {
        graph.mark("red", "dot", point)?;
        if let Some(last) = last {
            graph.line("red", last, point)?;
        }
        last = Some(point);
    }
    let mut last = None;
    for sample in &direction.flow.windows {
        let point = (sample.t_ns, sample.in_flight_bytes as i64);
        if let Some(last) = last {
            graph.line("blue", last, point)?;
        }
        last = Some(point);
    }
    let acks = &direction.points.acks;
    let mut last = None;
    for (((t, ack), edge), marks) in
        acks.t_ns.iter().zip(acks.ack.iter()).zip(acks.edge.iter()).zip(acks.marks.iter())
    {
        if marks & i64::from(AckMarks::WINDOW) == 0 {
            continue;
        }
        if let Some(last) = last {
            graph.line("yellow", last, (t, edge - ack))?;
        }
        last = Some((t, edge - ack));
    }
    Ok(())
}

/// Samples to the receiver in red, to the sender in blue.
fn rtt(graph: Graph<'_>, direction: &Direction<'_>) -> io::Result<()> {
    let points = direction.points;
    for (colour, samples) in [("red", &points.rtt_to_receiver), ("blue", &points.rtt_to_sender)] {
        writeln!(graph.out, "{colour}")?;
        for (t, rtt) in samples.t_ns.iter().zip(samples.rtt_ns.iter()) {
            writeln!(graph.out, "dot {} {:.6}", seconds(t), rtt as f64 / 1e6)?;
        }
    }
    Ok(())
}

/// Means of ten packets as yellow dots, the mean since the begin as a blue line.
fn throughput(graph: Graph<'_>, direction: &Direction<'_>) -> io::Result<()> {
    let data = &direction.points.data;
    // A packet that was captured twice was sent once.
    let is_sent = |class: i64| class != DataClass::Duplicate as i64;
    let all = data.t_ns.iter().zip(data.length.iter()).zip(data.class.iter());
    let mut rows = all.filter(|&(_, class)| is_sent(class)).map(|(row, _)| row);
    let Some((first, mut since_begin)) = rows.next() else { return Ok(()) };
    let (mut begin, mut bytes, mut packets) = (first, 0, 0);
    let mut last: Option<(i64, f64)> = None;
    for (t, length) in rows {
        since_begin += length;
        bytes += length;
        packets += 1;
        if packets < AVERAGED || t <= begin {
            continue;
        }
        writeln!(graph.out, "yellow\ndot {} {:.0}", seconds(t), bytes as f64 * 1e9 / (t - begin) as f64)?;
        let mean = since_begin as f64 * 1e9 / (t - first) as f64;
        if let Some((before, level)) = last {
            writeln!(graph.out, "blue\nline {} {level:.0} {} {mean:.0}", seconds(before), seconds(t))?;
        }
        last = Some((t, mean));
        (begin, bytes, packets) = (t, 0, 0);
    }
    Ok(())
}
