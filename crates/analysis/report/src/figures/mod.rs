//! The figures. To add one: a file with a type that implements [`Draw`], and a row in [`REGISTRY`].

mod cdf;
mod cell_boxes;
mod cpu;
mod cwnd;
mod datagrams;
mod drops;
mod fairness;
mod goodput;
mod heat_map;
mod host;
mod inter_arrival;
mod ladder;
mod limits;
mod line_band;
mod loss_histogram;
mod loss_timeline;
mod losses;
mod overlay;
mod pair_losses;
mod queue;
mod rates;
mod rtt;
mod run_cdfs;
mod shares;
mod stacked;
mod throughput;
mod throughput_delay;
mod time_sequence;

pub(crate) use {
    cwnd::Cwnd, drops::Drops, inter_arrival::InterArrival, queue::Queue, rtt::Rtt, stacked::Stacked,
    throughput::Throughput, time_sequence::TimeSequence,
};

use crate::builder::POINTS_A_LINE;
use crate::digest::{RunDigest, leading_metric};
use crate::figure::Figure;
use crate::plan::Refusal;
use crate::source::Source;
use std::collections::BTreeSet;
use wirespeed_scenario::{FigureKind, FigureRequest};

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

    /// The figures across runs: several if they have panels.
    fn all_of_study(&self, runs: &[RunDigest]) -> Vec<Figure> {
        self.of_study(runs).into_iter().collect()
    }

    /// The kind of requests that it answers, if any.
    fn kind(&self) -> Option<FigureKind> {
        None
    }

    /// The requests that the runs themselves suggest.
    fn automatic(&self, _runs: &[RunDigest]) -> Vec<FigureRequest> {
        Vec::new()
    }

    /// The figures of a request of its kind: several if it has facets, and a statement if the runs have no data for it.
    fn of_request(&self, _runs: &[RunDigest], _request: &FigureRequest) -> Vec<Figure> {
        Vec::new()
    }
}

/// The figures across the runs of a study: first those of `requests`, then those that the runs suggest. Each has an id of
/// its own.
pub(crate) fn across(runs: &[RunDigest], requests: &[FigureRequest]) -> Vec<Figure> {
    let mut figures: Vec<Figure> = requests.iter().flat_map(|request| answered(runs, request)).collect();
    for draw in REGISTRY {
        figures.extend(draw.all_of_study(runs));
        // If a kind of figure is asked for with the same metric, it is not drawn again by choice.
        let is_asked = |request: &FigureRequest| {
            let leading = |metric: &Option<String>| {
                metric.as_deref().or_else(|| leading_metric(runs)).map(String::from)
            };
            requests.iter().any(|r| r.kind == request.kind && leading(&r.metric) == leading(&request.metric))
        };
        let automatic = draw.automatic(runs).into_iter().filter(|request| !is_asked(request));
        figures.extend(automatic.flat_map(|request| draw.of_request(runs, &request)));
    }
    name_apart(&mut figures);
    figures
}

/// The figures of one request alone. Each has an id of its own.
pub(crate) fn requested(runs: &[RunDigest], request: &FigureRequest) -> Vec<Figure> {
    let mut figures: Vec<Figure> =
        answered(runs, request).into_iter().map(|figure| figure.thinned(POINTS_A_LINE)).collect();
    name_apart(&mut figures);
    figures
}

fn answered(runs: &[RunDigest], request: &FigureRequest) -> Vec<Figure> {
    let of_kind = REGISTRY.iter().filter(|draw| draw.kind() == Some(request.kind));
    of_kind.flat_map(|draw| draw.of_request(runs, request)).collect()
}

/// Gives each figure an id of its own.
fn name_apart(figures: &mut [Figure]) {
    let mut taken = BTreeSet::new();
    for figure in figures {
        let stem = figure.id.clone();
        let ids = (1..).map(|n| if n == 1 { stem.clone() } else { format!("{stem}-{n}") });
        figure.id = ids.into_iter().find(|id| !taken.contains(id)).unwrap_or_default();
        taken.insert(figure.id.clone());
    }
}

/// The statement in the place of a figure that was asked for and cannot be drawn.
fn refused(id: &str, title: &str, refusal: &Refusal) -> Figure {
    Figure::statement(id, title, &refusal.words())
}

/// Every figure, in the order of the page.
pub(crate) const REGISTRY: &[&dyn Draw] = &[
    &goodput::Goodput,
    &heat_map::HeatMap,
    &line_band::LineBand,
    &shares::Shares,
    &throughput_delay::ThroughputDelay,
    &cell_boxes::CellBoxes,
    &cdf::Cdf,
    &losses::Losses,
    &loss_histogram::LossHistogram,
    &pair_losses::PairLosses,
    &overlay::Overlay,
    &throughput::Throughput,
    &stacked::Stacked,
    &cwnd::Cwnd,
    &rtt::Rtt,
    &run_cdfs::RttCdf,
    &run_cdfs::FlowTimesCdf,
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
