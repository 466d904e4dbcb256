//! Random scenarios: every choice takes a number from a list; zero is always the plainest choice, so that shrinking
//! the numbers makes the scenario plain.

mod hosts;

use std::fmt;

/// Numbers to choose by; zeros when they run out.
#[derive(Debug)]
pub struct Draws<'a> {
    numbers: &'a [u16],
}

impl Draws<'_> {
    /// Of these numbers.
    pub fn of(numbers: &[u16]) -> Draws<'_> {
        Draws { numbers }
    }

    fn next(&mut self) -> usize {
        let Some((first, rest)) = self.numbers.split_first() else { return 0 };
        self.numbers = rest;
        usize::from(*first)
    }

    /// Below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        self.next() % count
    }

    /// One of these; the first is the plainest.
    pub fn pick<'b, T: ?Sized>(&mut self, choices: &[&'b T]) -> &'b T {
        choices[self.below(choices.len())]
    }

    /// One in so many.
    pub fn once_in(&mut self, many: usize) -> bool {
        self.below(many) == many - 1
    }
}

/// A scenario as text, for shrinking and printing.
#[derive(Clone)]
pub struct Scenario(pub String);

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "a scenario:\n{}", self.0)
    }
}

/// Packets of a run that is as fast as its path, on each link: some hundred such runs are to be tried in a second. One run in
/// [`LARGE_ONE_IN`] has ten times as many.
const PACKETS: u64 = 1500;
const LARGE_ONE_IN: usize = 24;
/// The shortest run: a sample is not finer.
const SHORTEST_US: u64 = 1000;

const MTUS: [u64; 9] = [1500, 1500, 1500, 9000, 576, 1280, 296, 65535, 68];

/// Round-trip times and how long they are, in microseconds.
const RTTS: [(&str, u64); 9] = [
    ("10 ms", 10_000),
    ("0 ms", 0),
    ("1 us", 1),
    ("50 us", 50),
    ("1 ms", 1000),
    ("40 ms", 40_000),
    ("100 ms", 100_000),
    ("600 ms", 600_000),
    ("3333333333 ps", 3333),
];

const RATES: [u64; 9] = [
    100_000_000,
    1_000_000_000,
    10_000_000,
    1_000_000,
    100_000,
    10_000_000_000,
    123_456_789,
    100_000_000_000,
    400_000_000_000,
];

impl Scenario {
    /// The scenario that these numbers mean: anything a file may say, within what a fraction of a second can carry.
    pub fn any(numbers: &[u16]) -> Scenario {
        let mut writer = Writer::new(numbers);
        let topology = writer.draws.below(4);
        writer.head("random");
        let hops = writer.topology(topology);
        writer.mtus(u64::MAX);
        writer.path(hops);
        writer.hosts();
        let flows = 1 + writer.draws.below(6);
        for index in 0..flows {
            writer.flow(topology, hops, index);
        }
        writer.run();
        writer.detour(hops);
        Scenario(writer.text)
    }

    /// One flow with an amount to send, a path that is bad for two seconds at most, and time enough after that.
    pub fn transfer(numbers: &[u16]) -> Scenario {
        let mut writer = Writer::new(numbers);
        writer.head("transfer");
        let rate = RATES[writer.draws.below(4)];
        let rtt = writer.draws.pick(&["10 ms", "0 ms", "200 us", "100 ms", "900 ms"]);
        let loss = writer.draws.pick(&["0", "1e-3", "0.02", "0.1"]);
        let packets =
            writer.draws.pick(&["100 packets", "1 packets", "2 packets", "5 packets", "10000 packets"]);
        writer.line(format!("[path]\nrate = \"{rate} bit/s\"\nrtt = \"{rtt}\"\nloss = {loss}"));
        writer.line(format!("buffer = \"{packets}\""));
        if writer.draws.once_in(3) {
            let from = writer.draws.below(1000);
            let to = from + 1 + writer.draws.below(1000);
            writer.line(format!("outages = [[\"{from} ms\", \"{to} ms\"]]"));
        }
        if writer.draws.once_in(3) {
            let loss = writer.draws.pick(&["1e-3", "0.02", "0.1", "0.3"]);
            writer.line(format!("reverse.loss = {loss}"));
        }
        // The model sends full packets only: none that a window of the receiver may not let in.
        writer.mtus(9000);
        writer.is_long = true;
        writer.hosts();
        writer.line("[[flow]]".into());
        writer.congestion();
        let bytes = match writer.draws.below(3) {
            0 => 1 + writer.draws.below(3000),
            1 => writer.draws.below(60) * 1448 + 1,
            _ => 1 + writer.draws.below(65536) * 4,
        };
        writer.line(format!("bytes = \"{bytes} B\""));
        let seed = writer.draws.below(1000);
        writer.line(format!("[run]\nduration = \"480 h\"\nsample = \"24 h\"\nseed = {seed}"));
        Scenario(writer.text)
    }
}

struct Writer<'a> {
    draws: Draws<'a>,
    text: String,
    rate: u64,
    mtus: [u64; 2],
    duration_us: u64,
    /// Packets that each link may carry.
    packets: u64,
    /// Even the shortest run could carry more: every flow has an end.
    ends: bool,
    /// The run lasts so long that nothing may happen in it all the time.
    is_long: bool,
}

impl Writer<'_> {
    fn new(numbers: &[u16]) -> Writer<'_> {
        Writer {
            draws: Draws::of(numbers),
            text: String::new(),
            rate: RATES[0],
            mtus: [MTUS[0]; 2],
            duration_us: 200_000,
            packets: PACKETS,
            ends: false,
            is_long: false,
        }
    }

    fn line(&mut self, line: String) {
        self.text.push_str(&line);
        self.text.push('\n');
    }

    fn head(&mut self, name: &str) {
        self.line(format!("schema = 1\nname = \"{name}\"\n"));
    }

    /// Writes the topology; returns how many links there are.
    fn topology(&mut self, kind: usize) -> usize {
        match kind {
            0 | 1 => 1,
            2 => {
                let (senders, receivers) = (1 + self.draws.below(4), 1 + self.draws.below(4));
                self.line(format!(
                    "[topology]\nkind = \"dumbbell\"\nsenders = {senders}\nreceivers = {receivers}\n"
                ));
                1
            }
            _ => {
                let hops = 2 + self.draws.below(3);
                self.line(format!("[topology]\nkind = \"parking-lot\"\nhops = {hops}\n"));
                hops
            }
        }
    }

    /// Draws the largest packets of both hosts; those above `most` are the plainest.
    fn mtus(&mut self, most: u64) {
        for mtu in &mut self.mtus {
            let drawn = MTUS[self.draws.below(MTUS.len())];
            *mtu = if drawn <= most { drawn } else { MTUS[0] };
        }
    }

    /// Bits of the smallest full packet.
    fn packet_bits(&self) -> u64 {
        8 * self.mtus.into_iter().min().unwrap_or(MTUS[0])
    }

    /// Draws how long the run is: as long as its packets are not too many.
    fn time(&mut self, rtt_us: u64, hops: usize) {
        /// Round trips in which an initial window of every flow grows to [`PACKETS`], if it doubles.
        const ROUNDS: u64 = 5;
        if self.draws.once_in(LARGE_ONE_IN) {
            self.packets *= 10;
        }
        self.packets /= hops as u64;
        let choices = if self.rate > 5_000_000_000 { [20, 10, 40] } else { [200, 100, 1000] };
        let chosen_us = 1000 * choices[self.draws.below(3)];
        let at_full_rate = self.packets * self.packet_bits() * 1_000_000 / self.rate;
        let most_us = at_full_rate.max(ROUNDS * rtt_us);
        self.ends = most_us < SHORTEST_US;
        self.duration_us = most_us.clamp(SHORTEST_US, chosen_us);
    }

    fn path(&mut self, hops: usize) {
        self.rate = RATES[self.draws.below(RATES.len())];
        let (rtt, rtt_us) = RTTS[self.draws.below(RTTS.len())];
        self.time(rtt_us, hops);
        let loss = self.draws.pick(&["0", "0", "1e-4", "1e-3", "0.01", "0.1", "0.5", "1"]);
        let rate = self.rate;
        self.line(format!("[path]\nrate = \"{rate} bit/s\"\nrtt = \"{rtt}\"\nloss = {loss}"));
        self.room();
        if self.draws.once_in(5) {
            self.loss_model();
        }
        if self.draws.once_in(5) {
            let duration_us = self.duration_us as usize;
            let from = duration_us * self.draws.below(1000) / 1000;
            let to = from + 1 + duration_us * self.draws.below(50) / 100;
            self.line(format!("outages = [[\"{from} us\", \"{to} us\"]]"));
        }
        for bucket in ["policer", "port_limit"] {
            if self.draws.once_in(6) {
                let rate = self.rate * (1 + self.draws.below(12) as u64) / 10;
                let burst = self.draws.pick(&["10 packets", "1 packets", "100 packets"]);
                self.line(format!("{bucket} = {{ rate = \"{rate} bit/s\", burst = \"{burst}\" }}"));
            }
        }
        if self.draws.once_in(4) {
            let share = [1, 2, 10, 50][self.draws.below(4)];
            self.line(format!("reverse.rate = \"{} bit/s\"", (self.rate / share).max(8_000)));
        }
        if self.draws.once_in(4) {
            let loss = self.draws.pick(&["1e-3", "0.01", "0.1", "0.5"]);
            self.line(format!("reverse.loss = {loss}"));
        }
        if self.draws.once_in(6) {
            self.line("reverse.queue = \"fq-codel\"".into());
        }
        if hops > 1 && self.draws.once_in(2) {
            // A link of its own kind among the others.
            for index in 0..hops {
                let rate = self.rate * [1, 2, 10][self.draws.below(3)] / [1, 2, 10][self.draws.below(3)];
                self.line(format!("[[link]]\nname = \"hop{index}\"\nrate = \"{rate} bit/s\""));
            }
        }
    }

    /// Buffer and queue.
    fn room(&mut self) {
        let packets = [100, 1, 2, 3, 10, 50, 1000, 20000][self.draws.below(8)];
        let at_least = |least: usize| packets.max(least);
        let (room, queue) = match self.draws.below(11) {
            0..=2 => (packets, String::new()),
            // Without `packets` they are as many as `buffer` holds.
            3 => (packets, "\"drop-tail-packets\"".into()),
            4 => {
                let mark = self.draws.pick(&["1 packets", "2 packets", "9 packets"]);
                (at_least(10), format!("{{ kind = \"drop-tail\", mark_above = \"{mark}\" }}"))
            }
            5 => {
                let mark = self.draws.pick(&["1 packets", "2 packets", "9 packets"]);
                (at_least(10), format!("{{ kind = \"drop-tail-packets\", mark_above = \"{mark}\" }}"))
            }
            6 => {
                let probability = self.draws.pick(&["0.02", "0.1", "1", "1e-4"]);
                let ecn = self.draws.once_in(2);
                let queue = format!("{{ kind = \"red\", probability = {probability}, ecn = {ecn} }}");
                (at_least(50), queue)
            }
            7 | 8 => {
                let target = self.draws.pick(&["5 ms", "50 us", "1 us"]);
                let interval = self.draws.pick(&["100 ms", "10 ms", "1 ms"]);
                let ecn = self.draws.once_in(2);
                let times = if interval == "1 ms" && target == "5 ms" {
                    ""
                } else {
                    &format!("target = \"{target}\", interval = \"{interval}\", ")
                };
                (packets, format!("{{ kind = \"codel\", {times}ecn = {ecn} }}"))
            }
            9 => {
                let target = self.draws.pick(&["15 ms", "1 ms", "20 us"]);
                let step = self.draws.pick(&["step = \"1 ms\"", "step = \"10 us\"", "step_packets = 2"]);
                let overload = self.draws.pick(&["drop", "overflow"]);
                let settings = format!("target = \"{target}\", {step}, overload = \"{overload}\"");
                (packets, format!("{{ kind = \"dualpi2\", {settings} }}"))
            }
            _ => {
                let quantum = self.draws.pick(&["1514 B", "300 B", "9014 B", "1 B"]);
                let ecn = self.draws.once_in(2);
                (packets, format!("{{ kind = \"fq-codel\", quantum = \"{quantum}\", ecn = {ecn} }}"))
            }
        };
        self.line(format!("buffer = \"{room} packets\""));
        if !queue.is_empty() {
            self.line(format!("queue = {queue}"));
        }
    }

    fn loss_model(&mut self) {
        // Another model has no use for `loss`.
        let start = self.text.rfind("loss = ").expect("the path has been written");
        let end = start + self.text[start..].find('\n').expect("it is a line");
        self.text.replace_range(start..=end, "");
        let model = match self.draws.below(3) {
            0 => format!("{{ kind = \"bit-error\", rate = {} }}", self.draws.pick(&["1e-8", "1e-6", "1e-4"])),
            1 => "{ kind = \"gilbert-elliott\", good_to_bad = 0.001, bad_to_good = 0.1 }".into(),
            _ => "{ kind = \"gilbert-elliott\", good_to_bad = 0.1, bad_to_good = 0.5, loss_good = 0.01, loss_bad = 0.5 }"
                .into(),
        };
        self.line(format!("loss_model = {model}"));
    }

    fn congestion(&mut self) {
        let all = wirespeed_scenario::congestion_controls();
        let control = &all[self.draws.below(all.len())];
        let name = control.name;
        if control.parameters.is_empty() || !self.draws.once_in(6) {
            return self.line(format!("congestion = \"{name}\""));
        }
        let parameter = &control.parameters[self.draws.below(control.parameters.len())];
        let value = if self.draws.once_in(2) { parameter.max } else { parameter.min };
        self.line(format!("congestion = {{ name = \"{name}\", {} = {value} }}", parameter.name));
    }

    /// Another link for some ways of some flows, with what the path has or not. Drawn last, so that other scenarios stay
    /// what they were.
    fn detour(&mut self, hops: usize) {
        const FLOW: &str = "[[flow]]\n";
        if hops > 1 || !self.draws.once_in(6) {
            return;
        }
        let rate = self.rate * [1, 2, 10][self.draws.below(3)] / [1, 2, 10][self.draws.below(3)];
        let rtt = ["10 ms", "0 ms", "1 us", "77 ms"][self.draws.below(4)];
        self.line(format!(
            "[[link]]\nname = \"detour\"\nbetween = [0, 1]\nrate = \"{} bit/s\"\nrtt = \"{rtt}\"",
            rate.max(8_000)
        ));
        let flows: Vec<String> = std::mem::take(&mut self.text).split(FLOW).map(str::to_owned).collect();
        for (index, flow) in flows.iter().enumerate() {
            self.text.push_str(flow);
            if index + 1 < flows.len() {
                self.text.push_str(FLOW);
                for key in ["route", "route_back"] {
                    if self.draws.once_in(2) {
                        self.line(format!("{key} = [\"detour\"]"));
                    }
                }
            }
        }
    }

    fn flow(&mut self, topology: usize, hops: usize, index: usize) {
        self.line("\n[[flow]]".into());
        match topology {
            1 if index % 2 == 1 => self.line("from = \"receiver\"\nto = \"sender\"".into()),
            3 => {
                // The long one first, then one on each link.
                let link = index % (hops + 1);
                if link > 0 {
                    self.line(format!("from = \"cross{link}-sender\"\nto = \"cross{link}-receiver\""));
                }
            }
            _ => {}
        }
        if self.draws.once_in(3) {
            let start = self.duration_us * self.draws.below(10) as u64 / 10;
            self.line(format!("start = \"{start} us\""));
        }
        if self.draws.once_in(4) {
            let duration = 1 + self.duration_us * self.draws.below(10) as u64 / 10;
            self.line(format!("duration = \"{duration} us\""));
        }
        if self.draws.once_in(6) {
            return self.udp();
        }
        self.congestion();
        if self.draws.once_in(10) {
            self.line(format!("count = 3\nstagger = \"{} us\"", (self.duration_us / 40).min(300)));
        }
        if self.draws.once_in(3) || self.ends {
            let bytes = [100_000, 1, 1448, 1449, 30_000, 1_000_000, 3_000_000][self.draws.below(7)];
            // Half of the smallest packet may be headers.
            let most = self.packets * self.packet_bits() / 16;
            self.line(format!("bytes = \"{} B\"", bytes.min(most)));
        }
        if self.draws.once_in(5) {
            let window =
                self.draws.pick(&["100 packets", "1 packets", "2 packets", "10 packets", "1 B", "1 MiB"]);
            self.line(format!("window = \"{window}\""));
        }
        if self.draws.once_in(5) {
            let rate = (self.rate / [2, 1, 10, 100, 3][self.draws.below(5)]).max(8_000);
            self.line(format!("max_rate = \"{rate} bit/s\""));
        }
    }

    fn udp(&mut self) {
        let (rate, bits) = match self.draws.below(3) {
            0 => (self.rate / 2, self.packet_bits()),
            1 => (self.rate * 3, self.packet_bits()),
            _ => (self.rate.min(5_000_000), 16 * 8),
        };
        let most = (self.packets * bits * 1_000_000 / self.duration_us).min(300_000_000);
        self.line(format!("kind = \"udp\"\nrate = \"{} bit/s\"", rate.min(most).max(8_000)));
        if bits == 16 * 8 {
            self.line("datagram = \"16 B\"".into());
        }
        if self.draws.once_in(3) {
            self.line("bytes = \"10 kB\"".into());
        }
        if self.draws.once_in(3) {
            let size = self.draws.pick(&["4 KiB", "1 B", "100 kB", "4 MB"]);
            self.line(format!("rcvbuf = \"{size}\""));
        }
    }

    fn run(&mut self) {
        let duration = self.duration_us;
        // Every sample has a row for each core of each host.
        let sample = [duration / 20, duration / 30, 3000, duration][self.draws.below(4)];
        let sample = sample.clamp(SHORTEST_US.max(duration / 30), duration);
        let seed = self.draws.below(1000);
        self.line(format!("\n[run]\nduration = \"{duration} us\"\nsample = \"{sample} us\"\nseed = {seed}"));
        if self.draws.once_in(5) {
            self.line("trains = false".into());
        }
    }
}
