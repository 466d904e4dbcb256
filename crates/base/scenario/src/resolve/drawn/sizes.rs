//! How much flows send.

use super::random::{normal, unit};
use crate::error::Complaint;
use crate::file::SizesTable;
use crate::tree::Node;
use wirespeed_congestion::Random;
use wirespeed_units::Bytes;

/// A distribution of amounts of payload.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::resolve) enum Sizes {
    Lognormal {
        median: f64,
        sigma: f64,
    },
    /// Up to `most`.
    Pareto {
        least: f64,
        shape: f64,
        most: f64,
    },
    /// Sizes, and the part of flows that are at most so large: both grow, the last part is 1. The first part is of that size.
    Cdf(Vec<(f64, f64)>),
}

/// Payload of a packet where a published distribution counts packets.
const PACKET: f64 = 1460.0;
/// The web search workload (Alizadeh et al., Data center TCP, SIGCOMM 2010, figure 4), in packets, as the authors' later simulations
/// have it (Alizadeh et al., pFabric, SIGCOMM 2013, section 5.1).
const WEB_SEARCH: [(f64, f64); 11] = [
    (6.0, 0.15),
    (13.0, 0.2),
    (19.0, 0.3),
    (33.0, 0.4),
    (53.0, 0.53),
    (133.0, 0.6),
    (667.0, 0.7),
    (1333.0, 0.8),
    (3333.0, 0.9),
    (6667.0, 0.97),
    (20_000.0, 1.0),
];
/// The data-mining workload (Greenberg et al., VL2, SIGCOMM 2009, figure 2), from the same source.
const DATA_MINING: [(f64, f64); 8] = [
    (1.0, 0.5),
    (2.0, 0.6),
    (3.0, 0.7),
    (7.0, 0.8),
    (267.0, 0.9),
    (2107.0, 0.95),
    (66_667.0, 0.99),
    (666_667.0, 1.0),
];

/// 1 PiB: no run sends as much.
const LARGEST: f64 = (1u64 << 50) as f64;

impl Sizes {
    /// How much the next flow sends.
    pub(in crate::resolve) fn draw(&self, random: &mut Random) -> Bytes {
        let size = match self {
            Sizes::Lognormal { median, sigma } => median * (sigma * normal(random)).exp(),
            Sizes::Pareto { least, shape, most } => {
                let beyond = (least / most).powf(*shape);
                least * (1.0 - unit(random) * (1.0 - beyond)).powf(-1.0 / shape)
            }
            Sizes::Cdf(points) => {
                let part = unit(random);
                let next = points.partition_point(|(_, upto)| *upto <= part).min(points.len() - 1);
                match next.checked_sub(1).map(|before| (points[before], points[next])) {
                    None => points[0].0,
                    Some(((from, lower), (to, upper))) => {
                        from + (to - from) * (part - lower) / (upper - lower)
                    }
                }
            }
        };
        Bytes::new(size.round().clamp(1.0, LARGEST) as u64)
    }

    /// Mean payload of a flow, bytes.
    pub(in crate::resolve) fn mean(&self) -> f64 {
        match self {
            Sizes::Lognormal { median, sigma } => median * (sigma * sigma / 2.0).exp(),
            Sizes::Pareto { least, shape, most } => {
                let (power, kept) = (shape - 1.0, 1.0 - (least / most).powf(*shape));
                // The integral of x^-shape, which has another form at a shape of 1.
                let integral = match power.abs() < 1e-9 {
                    true => (most / least).ln(),
                    false => (least.powf(-power) - most.powf(-power)) / power,
                };
                shape * least.powf(*shape) * integral / kept
            }
            Sizes::Cdf(points) => {
                let first = points[0].0 * points[0].1;
                let rest = points.windows(2).map(|pair| {
                    let [(from, lower), (to, upper)] = [pair[0], pair[1]];
                    (upper - lower) * (from + to) / 2.0
                });
                first + rest.sum::<f64>()
            }
        }
    }
}

/// The distribution that a table names, which is called `name` in messages and stands at `node`.
pub(in crate::resolve) fn sizes(table: &SizesTable, name: &str, node: &Node) -> Result<Sizes, Complaint> {
    let packets = |points: &[(f64, f64)]| {
        Sizes::Cdf(points.iter().map(|(size, part)| (size * PACKET, *part)).collect())
    };
    let fault = |key: &str, message: String, help: &str| {
        Err(Complaint::at(&node.place_of(&[key]), format!("{name}.{key}: {message}"))
            .label("out of range")
            .help(help))
    };
    match table {
        SizesTable::WebSearch {} => Ok(packets(&WEB_SEARCH)),
        SizesTable::DataMining {} => Ok(packets(&DATA_MINING)),
        SizesTable::Lognormal { median, sigma } => {
            if *median == Bytes::ZERO {
                return fault(
                    "median",
                    "flows of no bytes send nothing".into(),
                    "write for example \"100 kB\"",
                );
            }
            if !(0.0..=10.0).contains(sigma) {
                return fault("sigma", format!("{sigma} is not from 0 to 10"), "write for example 1.5");
            }
            Ok(Sizes::Lognormal { median: median.get() as f64, sigma: *sigma })
        }
        SizesTable::Pareto { least, shape, most } => {
            if *least == Bytes::ZERO {
                return fault(
                    "least",
                    "flows of no bytes send nothing".into(),
                    "write for example \"10 kB\"",
                );
            }
            if most <= least {
                return fault("most", format!("{most} is not above least, {least}"), "write a larger size");
            }
            if !(0.01..=100.0).contains(shape) {
                return fault("shape", format!("{shape} is not from 0.01 to 100"), "write for example 1.2");
            }
            Ok(Sizes::Pareto { least: least.get() as f64, shape: *shape, most: most.get() as f64 })
        }
        SizesTable::Cdf { points } => {
            let help = "write sizes that grow, each with the part of flows that are at most so large, for example \
                [[\"10 kB\", 0.5], [\"1 MB\", 1.0]]";
            let Some(((first, _), (_, last))) = points.first().zip(points.last()) else {
                return fault("points", "there is none".into(), help);
            };
            if *first == Bytes::ZERO {
                return fault("points", "flows of no bytes send nothing".into(), help);
            }
            let mut before = (Bytes::ZERO, 0.0);
            for &(size, part) in points {
                if size <= before.0 || !(part > before.1 && part <= 1.0) {
                    let (known, known_part) = before;
                    return fault(
                        "points",
                        format!("{size} with {part} does not come after {known} with {known_part}"),
                        help,
                    );
                }
                before = (size, part);
            }
            if *last < 1.0 {
                return fault("points", format!("the last part is {last}, and not 1"), help);
            }
            Ok(Sizes::Cdf(points.iter().map(|&(size, part)| (size.get() as f64, part)).collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(points: &[(f64, f64)]) -> Sizes {
        Sizes::Cdf(points.iter().map(|(size, part)| (size * PACKET, *part)).collect())
    }

    #[test]
    fn published_workloads_have_the_means_of_their_publication() {
        // 1,138 and 5,117 packets are what pFabric's simulations take as the means.
        assert!((published(&WEB_SEARCH).mean() / (1138.0 * PACKET) - 1.0).abs() < 0.005);
        assert!((published(&DATA_MINING).mean() / (5117.0 * PACKET) - 1.0).abs() < 0.005);
    }

    #[test]
    fn drawn_sizes_have_the_mean_and_the_quantiles_of_their_distribution() {
        const DRAWS: usize = 200_000;
        for (sizes, median) in [
            (Sizes::Lognormal { median: 50_000.0, sigma: 1.0 }, 50_000.0),
            (Sizes::Pareto { least: 10_000.0, shape: 1.5, most: 1e7 }, 15_867.0),
            (Sizes::Pareto { least: 1_000.0, shape: 1.0, most: 1e5 }, 1_980.2),
            (Sizes::Cdf(vec![(1_000.0, 0.25), (3_000.0, 0.75), (9_000.0, 1.0)]), 2_000.0),
            (published(&WEB_SEARCH), 48.4 * PACKET),
        ] {
            let mut random = Random::new(7);
            let mut drawn: Vec<f64> = (0..DRAWS).map(|_| sizes.draw(&mut random).get() as f64).collect();
            let mean = drawn.iter().sum::<f64>() / DRAWS as f64;
            drawn.sort_by(f64::total_cmp);
            assert!((mean / sizes.mean() - 1.0).abs() < 0.03, "{sizes:?}: {mean}, expected {}", sizes.mean());
            let middle = drawn[DRAWS / 2];
            assert!((middle / median - 1.0).abs() < 0.02, "{sizes:?}: {middle}, expected {median}");
        }
    }

    #[test]
    fn the_first_part_of_a_distribution_is_of_its_size() {
        let sizes = Sizes::Cdf(vec![(500.0, 0.4), (1_000.0, 1.0)]);
        let mut random = Random::new(1);
        let least = (0..10_000).filter(|_| sizes.draw(&mut random) == Bytes::new(500)).count();
        assert!((3_800..4_200).contains(&least), "{least}");
    }
}
