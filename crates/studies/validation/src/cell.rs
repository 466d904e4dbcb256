//! From a cell to a scenario anyone can run, and what it will cost.

use super::section::Section;
use super::{ValidationError, column};
use wirespeed_scenario::run::Host;
use wirespeed_scenario::{Run, Scenario, Table};

/// By how much flows of a cell with several start after one another: one run of the cell each, with a seed of its
/// own, for as many as [`Section::repeats`]. So the runs differ where nothing is lost at random, too, and no result hangs on
/// the phase of the flows.
const STAGGERS_MS: [u32; 9] = [10, 11, 13, 17, 19, 23, 29, 31, 37];

/// Algorithms of which a single flow without random loss still draws at random, or follows the clock's phase.
const DRAWING: [&str; 4] = ["bbr", "cdg", "nv", "lp"];

/// An Ethernet header, which links count.
const HEADER_BYTES: f64 = 14.0;

/// One combination of factors.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The section that it is of.
    pub section: &'static Section,
    /// Its number in the section, from 1; cells are carried out in this order.
    pub number: u32,
    /// A value for each of the section's columns, as files write it.
    pub values: Vec<String>,
}

impl PartialEq for Cell {
    fn eq(&self, other: &Cell) -> bool {
        let of = |cell: &Cell| (cell.section.name, cell.number);
        of(self) == of(other) && self.values == other.values
    }
}

impl Cell {
    /// Its value in a column, if its section has that.
    pub fn get(&self, column: &str) -> Option<&str> {
        let place = self.section.columns().position(|name| name == column)?;
        self.values.get(place).map(String::as_str)
    }

    /// Its value in a column.
    ///
    /// # Panics
    /// If its section lacks the column.
    pub fn text(&self, column: &str) -> &str {
        self.get(column).unwrap_or_else(|| panic!("section {} has no {column}", self.section.name))
    }

    /// Its value in a column of numbers.
    ///
    /// # Panics
    /// As [`Cell::text`], or if the value is no number.
    pub fn value(&self, column: &str) -> f64 {
        self.text(column).parse().expect("a test reads every level")
    }

    /// How many flows it has.
    pub fn flows(&self) -> u32 {
        match self.get("flows") {
            Some(flows) => flows.parse().expect("a test reads every level"),
            None if self.get("beside").is_some() => 2,
            None => 1,
        }
    }

    /// Whether its runs cannot differ: one flow, nothing random on the link or in the arrivals, and an algorithm that draws nothing.
    pub fn is_deterministic(&self) -> bool {
        let lossless = self.get("loss").is_none_or(|loss| loss == "0") && self.get("change") != Some("lossy");
        let draws = ["reorder_probability", "load"].iter().any(|column| self.get(column).is_some());
        self.flows() == 1
            && lossless
            && !draws
            && !DRAWING.contains(&self.get("congestion").unwrap_or_default())
    }

    /// How many runs it has in the sections that do not repeat what cannot differ.
    pub fn repeats(&self) -> usize {
        if self.is_deterministic() { 1 } else { self.section.repeats }
    }

    /// The settings of its path: rate, round-trip time and buffer.
    pub fn path(&self) -> Table {
        Table::new()
            .set("rate", self.quantity("rate_gbit", "Gbit/s"))
            .set("rtt", self.quantity("rtt_ms", "ms"))
            .set("buffer", self.quantity("buffer_bdp", "bdp"))
    }

    /// Its flows, all with the cell's congestion control.
    pub fn equal_flows(&self) -> Vec<Table> {
        let count = Some(self.flows()).filter(|count| *count > 1);
        vec![Table::new().set("congestion", self.text("congestion")).set_if("count", count)]
    }

    /// A setting that takes a time for each run of the cell, which `time` makes from milliseconds.
    pub fn stagger(&self, setting: &'static str, time: impl Fn(u32) -> String) -> Stagger {
        let times = STAGGERS_MS[..self.section.repeats].iter().map(|ms| time(*ms)).collect();
        Stagger { setting, times }
    }

    /// A quantity: its value in a column with this unit.
    pub fn quantity(&self, column: &str, unit: &str) -> String {
        format!("{} {unit}", self.text(column))
    }

    /// The setting that makes runs of several equal flows differ; one flow has nothing to stagger.
    pub fn stagger_of_equal_flows(&self) -> Option<Stagger> {
        (self.flows() > 1).then(|| self.stagger("flow.stagger", |ms| format!("{ms} ms")))
    }

    /// Its factors in a line for people.
    pub fn title(&self) -> String {
        let titles = self.section.columns().zip(&self.values).map(|(name, v)| (column::named(name).title)(v));
        titles.collect::<Vec<_>>().join(", ")
    }

    /// The scenario that carries it out.
    pub fn scenario(&self) -> Scenario {
        (self.section.scenario)(self)
    }

    /// Its runs, with settings of the scenario changed by `overrides` as `--set` does.
    ///
    /// # Errors
    /// If a scenario cannot be what the cell and the overrides make of it.
    pub fn runs(&self, overrides: &[(String, String)]) -> Result<Vec<Run>, ValidationError> {
        let name = format!("{} cell {}", self.section.name, self.number);
        let mut runs = self.scenario().study(&name, overrides, None)?.runs;
        if self.section.lifts_host_limits {
            runs.iter_mut().flat_map(|run| &mut run.hosts).for_each(lift_limits);
        }
        Ok(runs)
    }

    /// Data packets that one of its runs will send at most, roughly: by the link's rate, or by the response function of
    /// HighSpeed (RFC 3649, section 5) over that of Mathis et al. (CCR 1997), which random loss stops; it does not
    /// stop BBR.
    pub fn packets(&self, run: &Run) -> f64 {
        let direction = &run.links[0].forward;
        let mtu = run.hosts[0].mtu.get() as f64;
        let link = direction.rate.bytes_per_second() as f64 / (mtu + HEADER_BYTES);
        let window = match self.get("congestion") {
            Some("bbr") | None => f64::INFINITY,
            Some(_) => (1.22 / direction.loss.sqrt()).max(0.12 / direction.loss.powf(0.835)),
        };
        let flows = run.flows.len() as f64 * window / (run.links[0].rtt().nanoseconds() as f64 / 1e9);
        link.min(flows) * run.duration.nanoseconds() as f64 / 1e9
    }
}

/// Takes from a host what the kernel substrate has nothing of.
fn lift_limits(host: &mut Host) {
    host.hardware = None;
    host.tcp.initial_window = None;
    host.tcp.adv_win_scale = None;
    host.tcp.small_queues = true;
    host.tcp.stretch_acks = true;
}

/// A setting that makes the runs of a cell differ.
pub struct Stagger {
    /// The setting that takes the times in turn.
    pub setting: &'static str,
    /// A time for each run.
    pub times: Vec<String>,
}

/// The parts in which scenarios of different sections differ.
pub struct Parts {
    /// Settings of the path.
    pub path: Table,
    /// Settings of hosts `sender` and `receiver`; `None`: all have their defaults.
    pub hosts: Option<[Table; 2]>,
    /// The flows.
    pub flows: Vec<Table>,
    /// How long a run lasts and how often it is sampled.
    pub times_ms: (u32, u32),
    /// The scenario's seed.
    pub seed: u32,
    /// Makes the runs differ; `None`: repetitions differ by their seeds alone.
    pub stagger: Option<Stagger>,
    /// How often a run without a stagger is repeated.
    pub repeats: usize,
}

impl Parts {
    /// Those of flows that all have the cell's congestion control. Cells of a section have seeds from `first_seed` on.
    pub fn of_equal_flows(cell: &Cell, path: Table, times_ms: (u32, u32), first_seed: u32) -> Parts {
        Parts {
            path,
            hosts: None,
            flows: cell.equal_flows(),
            times_ms,
            seed: first_seed + cell.number,
            stagger: cell.stagger_of_equal_flows(),
            repeats: cell.repeats(),
        }
    }

    /// The scenario, with its name and a line that describes the cell.
    pub fn scenario(self, name: &str, about: &str) -> Scenario {
        let mut scenario = Scenario::new(name).about(about).path(self.path);
        for (host, settings) in ["sender", "receiver"].into_iter().zip(self.hosts.into_iter().flatten()) {
            scenario = scenario.host(host, settings);
        }
        scenario = self.flows.into_iter().fold(scenario, Scenario::flow);
        let ms = |time: u32| format!("{time} ms");
        let (duration, sample) = self.times_ms;
        let run = Table::new().set("duration", ms(duration)).set("sample", ms(sample)).set("seed", self.seed);
        let repeats = u32::try_from(self.repeats).expect("a cell has a few runs");
        match self.stagger {
            Some(Stagger { setting, times }) => scenario.run(run).sweep(Table::new().set(setting, times)),
            None => scenario.run(run.set_if("repeat", (repeats > 1).then_some(repeats))),
        }
    }
}

/// Name and description of a cell's scenario.
pub fn heading(cell: &Cell) -> (String, String) {
    let (section, number) = (cell.section.name, cell.number);
    let name = format!("validation-{section}-{number:04}");
    (name, format!("Cell {number} of section {section} of the validation: {}", cell.title()))
}

#[cfg(test)]
mod tests {
    use super::super::grid::generate;
    use super::super::section::sections;

    #[test]
    fn repeats_that_cannot_differ_are_one_run() {
        for section in &sections()[1..] {
            for cell in generate(section, section.committed_size()) {
                assert_eq!(
                    cell.runs(&[]).unwrap().len(),
                    cell.repeats(),
                    "{} {}",
                    section.name,
                    cell.title()
                );
            }
        }
    }

    #[test]
    fn runs_of_every_cell_equal_those_of_its_file() {
        for section in sections() {
            for cell in generate(section, section.committed_size()) {
                let scenario = cell.scenario();
                let built = scenario.study("cell", &[], None).unwrap();
                assert_eq!(built, wirespeed_scenario::parse(&scenario.text(), "cell", &[], None).unwrap());
            }
        }
    }

    #[test]
    fn overrides_reach_the_runs() {
        let cell = generate(&sections()[0], 1).pop().unwrap();
        let runs = cell.runs(&[("path.loss".into(), "0.5".into())]).unwrap();
        assert_eq!(runs[0].links[0].forward.loss, 0.5);
    }
}
