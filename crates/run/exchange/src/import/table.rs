//! The common parts of recordings of other programs.

use super::{ImportError, MOST_FLOWS};
use wirespeed_record::{FlowInfo, FlowSample, HostInfo, Recording, RunInfo, SubstrateKind};

/// The longest test that is imported, in seconds: 100 days, as for iperf3.
pub const LONGEST_S: f64 = 8_640_000.0;
/// The highest rate that is imported, in bit/s: 1 Pbit/s. A byte count over the longest test stays below 2^60 then.
pub const FASTEST_BPS: f64 = 1e15;

/// A recording of these rows: sorts them, and finds length and sampling grid. The rest is the caller's.
pub fn recording(
    substrate: SubstrateKind,
    info: RunInfo,
    mut flows: Vec<FlowSample>,
) -> Result<Recording, ImportError> {
    if info.flows.len() > MOST_FLOWS {
        return Err(ImportError::TooManyFlows { found: info.flows.len() });
    }
    flows.sort_by_key(|row| (row.t_ns, row.flow));
    let last_ns = flows.last().map_or(0, |row| row.t_ns);
    let info = RunInfo {
        substrate,
        duration_ns: info.duration_ns.max(last_ns),
        sample_ns: usual_step(&flows),
        ..info
    };
    Ok(Recording { info, flows, ..Recording::default() })
}

/// A flow of a recording over the whole time until something else is known.
pub fn flow(label: String, from: &str, to: &str) -> FlowInfo {
    FlowInfo { label, from: from.into(), to: to.into(), ..FlowInfo::default() }
}

/// A host of which the file has these settings; missing ones are left out.
pub fn host(name: &str, settings: &[(&str, Option<String>)]) -> HostInfo {
    let known = settings.iter().filter_map(|(key, value)| Some(((*key).to_owned(), value.clone()?)));
    HostInfo { name: name.into(), settings: known.collect(), ..HostInfo::default() }
}

/// Seconds of a test in nanoseconds; `None` if no test takes so long.
pub fn seconds_ns(seconds: f64) -> Option<i64> {
    (0.0..=LONGEST_S).contains(&seconds).then(|| (seconds * 1e9).round() as i64)
}

/// A time in nanoseconds of the unit in which one is so many nanoseconds; `None` if a packet cannot take so long.
pub fn time_ns(value: f64, unit_ns: f64) -> Option<i64> {
    const LONGEST_NS: f64 = LONGEST_S * 1e9;
    let ns = value * unit_ns;
    (0.0..=LONGEST_NS).contains(&ns).then(|| ns.round() as i64)
}

/// A rate in bit/s; `None` if none is so high.
pub fn rate_bps(value: f64) -> Option<u64> {
    (0.0..=FASTEST_BPS).contains(&value).then(|| value.round() as u64)
}

/// The usual time between the rows of the first flow that has several, to 10 ms if it is longer than that.
fn usual_step(rows: &[FlowSample]) -> i64 {
    const TICK_NS: i64 = 10_000_000;
    let Some(first) = rows.iter().find(|row| row.delivered_bytes.is_some()).or(rows.first()) else {
        return 0;
    };
    let times: Vec<i64> = rows
        .iter()
        .filter(|row| {
            row.flow == first.flow && row.delivered_bytes.is_some() == first.delivered_bytes.is_some()
        })
        .map(|row| row.t_ns)
        .collect();
    let mut steps: Vec<i64> =
        times.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0).collect();
    steps.sort_unstable();
    let usual = steps.get(steps.len() / 2).copied().unwrap_or(0);
    if usual < TICK_NS { usual } else { (usual + TICK_NS / 2) / TICK_NS * TICK_NS }
}
