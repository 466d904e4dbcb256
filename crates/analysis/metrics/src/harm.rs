//! Harm: what a group of flows loses by the others beside it. It needs two runs, so reports compute it.

use crate::registry::{Better, Metric};

const REFERENCE: &str = "Ware, Mukerjee, Seshan, Sherry: Beyond Jain's Fairness Index (HotNets 2019)";

pub(crate) const ROWS: &[Metric] = &[
    Metric {
        name: "goodput_harm",
        unit: "",
        definition: "Part of the goodput of a group of flows alone that it loses beside the others: 1 - goodput beside them / \
                     goodput alone, of runs that differ in run.only and have the same repetition. Negative if it has more \
                     beside them. A single run has none.",
        reference: REFERENCE,
        better: Better::Lower,
        headline: false,
        compute: |_| None,
    },
    Metric {
        name: "fct_harm",
        unit: "",
        definition: "Part of the median completion time of a group of flows that the others cause: 1 - fct_median_ns alone / \
                     fct_median_ns beside them, of runs that differ in run.only and have the same repetition. Negative if it is \
                     faster beside them. A single run has none.",
        reference: REFERENCE,
        better: Better::Lower,
        headline: false,
        compute: |_| None,
    },
];
