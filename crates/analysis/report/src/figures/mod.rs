//! The figures. To add one: a file with a type that implements [`Draw`], and a row in [`REGISTRY`].

mod cpu;
mod cwnd;
mod datagrams;
mod drops;
mod factor_line;
mod fairness;
mod goodput;
mod host;
mod inter_arrival;
mod ladder;
mod limits;
mod loss_histogram;
mod loss_timeline;
mod losses;
mod overlay;
mod pair_losses;
mod queue;
mod rates;
mod repeats;
mod rtt;
mod stacked;
mod throughput;
mod time_sequence;

pub(crate) use {
    cwnd::Cwnd, drops::Drops, inter_arrival::InterArrival, queue::Queue, rtt::Rtt, stacked::Stacked,
    throughput::Throughput, time_sequence::TimeSequence,
};

use crate::digest::RunDigest;
use crate::figure::Figure;
use crate::source::Source;

/// A kind of figure: of one run, or across the runs of a study.
pub(crate) trait Draw: Sync {
    /// The figure of a run, if the run has the data for it.
    fn of_run(&self, _source: &Source) -> Option<Figure> {
        None
    }

    /// The figure across runs, if they have the data for it.
    fn of_study(&self, _runs: &[RunDigest]) -> Option<Figure> {
        None
    }
}

/// Every figure, in the order of the page.
pub(crate) const REGISTRY: &[&dyn Draw] = &[
    &goodput::Goodput,
    &factor_line::FactorLine,
    &repeats::Repeats,
    &losses::Losses,
    &loss_histogram::LossHistogram,
    &pair_losses::PairLosses,
    &overlay::Overlay,
    &throughput::Throughput,
    &stacked::Stacked,
    &cwnd::Cwnd,
    &rtt::Rtt,
    &queue::Queue,
    &loss_timeline::LossTimeline,
    &drops::Drops,
    &ladder::Ladder,
    &cpu::Cpu,
    &host::Host,
    &rates::Rates,
    &limits::Limits,
    &fairness::Fairness,
    &datagrams::Datagrams,
    &inter_arrival::InterArrival,
    &time_sequence::TimeSequence,
];
