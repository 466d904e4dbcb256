//! The data of pages as JSON, also for programs.

use crate::folder::Folder;
use crate::http::{Request, Response, Status};
use crate::index::Reading;
use crate::row::RunRow;
use crate::study::Answer;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use wirespeed_campaign::read_statuses;
use wirespeed_record::rfc3339;
use wirespeed_report::{factor_head, factor_number, factor_text, metric_words};

/// A factor and the texts of its levels, numbers in their order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct FactorColumn {
    pub key: String,
    pub head: String,
    pub levels: Vec<String>,
}

/// The factors of runs, in the order of their keys.
pub(crate) fn factor_columns<'a>(rows: impl Iterator<Item = &'a RunRow>) -> Vec<FactorColumn> {
    let mut levels: BTreeMap<&str, HashMap<String, Option<f64>>> = BTreeMap::new();
    for (key, value) in rows.flat_map(|row| &row.factors) {
        let of_key = levels.entry(key).or_default();
        of_key.entry(factor_text(value)).or_insert_with(|| factor_number(value).map(|(number, _)| number));
    }
    let keys: Vec<String> = levels.keys().map(|key| (*key).to_owned()).collect();
    let column = |(key, levels): (&str, HashMap<String, Option<f64>>)| {
        let mut levels: Vec<(String, Option<f64>)> = levels.into_iter().collect();
        levels.sort_by(|(a, x), (b, y)| match (x, y) {
            (Some(x), Some(y)) => x.total_cmp(y).then_with(|| a.cmp(b)),
            _ => y.is_some().cmp(&x.is_some()).then_with(|| a.cmp(b)),
        });
        let levels = levels.into_iter().map(|(text, _)| text).collect();
        FactorColumn { key: key.into(), head: factor_head(key, &keys), levels }
    };
    levels.into_iter().map(column).collect()
}

/// The metrics that runs have, by their places in the registry.
pub(crate) fn metric_places<'a>(rows: impl Iterator<Item = &'a RunRow>) -> Vec<usize> {
    let mut has = vec![false; wirespeed_metrics::all().len()];
    for (place, _) in rows.flat_map(|row| &row.metrics) {
        has[*place] = true;
    }
    has.iter().enumerate().filter(|(_, has)| **has).map(|(place, _)| place).collect()
}

/// `/api/runs`: the list of runs. `metric` adds metrics to the leading ones; `since` asks for a state after that one.
pub(crate) fn runs(folder: &Folder, request: &Request) -> Response {
    let (generation, reading) = (folder.index.generation(), folder.index.reading());
    if request.value("since").and_then(|text| text.parse().ok()) == Some(generation) {
        return Response::json(&json!({ "generation": generation, "reading": reading, "unchanged": true }));
    }
    let rows = folder.index.rows();
    let each = || rows.iter().map(|(_, row)| &**row);
    let factors = factor_columns(each());
    let wanted: Vec<&str> = request.values("metric").collect();
    let (shown, others): (Vec<usize>, Vec<usize>) = metric_places(each()).into_iter().partition(|place| {
        let metric = &wirespeed_metrics::all()[*place];
        metric.headline || wanted.contains(&metric.name)
    });
    let metric = |place: &usize| {
        let metric = &wirespeed_metrics::all()[*place];
        json!({ "name": metric.name, "unit": metric.unit, "words": metric_words(metric.name) })
    };
    let levels: Vec<HashMap<&str, usize>> = factors
        .iter()
        .map(|factor| factor.levels.iter().enumerate().map(|(at, text)| (text.as_str(), at)).collect())
        .collect();
    let row = |(id, row): &(String, Arc<RunRow>)| {
        let level = |(factor, places): (&FactorColumn, &HashMap<&str, usize>)| {
            let text = factor_text(row.factors.get(&factor.key)?);
            places.get(text.as_str()).copied()
        };
        let levels: Vec<Option<usize>> = factors.iter().zip(&levels).map(level).collect();
        let metrics: Vec<Option<f64>> = shown.iter().map(|place| row.metric(*place)).collect();
        json!([id, row.status.word(), row.reason, row.limit, row.repeat, row.substrate, levels, metrics])
    };
    let studies: std::collections::BTreeSet<&str> =
        each().map(|row| row.study.as_str()).filter(|study| !study.is_empty()).collect();
    Response::json(&json!({
        "folder": folder.name,
        "studies": studies,
        "generation": generation,
        "reading": reading,
        "factors": factors,
        "metrics": shown.iter().map(metric).collect::<Vec<_>>(),
        "other_metrics": others.iter().map(metric).collect::<Vec<_>>(),
        "columns": ["id", "status", "reason", "limit", "repeat", "substrate", "levels", "metrics"],
        "runs": rows.iter().map(row).collect::<Vec<_>>(),
    }))
}

/// `/api/progress`: the states of the workers of a campaign, and their sums.
pub(crate) fn progress(folder: &Folder) -> Response {
    let (workers, damaged) = match read_statuses(&folder.path) {
        Ok(found) => found,
        Err(error) => {
            let reason = format!("The states of the workers cannot be read: {error}.");
            return Response::text(Status::Conflict, reason);
        }
    };
    let sum = |of: fn(&wirespeed_campaign::Status) -> usize| workers.iter().map(of).sum::<usize>();
    // The campaign ends with its last worker.
    let left_s =
        workers.iter().filter(|worker| !worker.is_over).filter_map(|worker| worker.left_s).reduce(f64::max);
    Response::json(&json!({
        "now": rfc3339(SystemTime::now()),
        "is_over": workers.iter().all(|worker| worker.is_over),
        "total": sum(|worker| worker.total),
        "done": sum(|worker| worker.done),
        "kept": sum(|worker| worker.kept),
        "failed": sum(|worker| worker.failed),
        "running": sum(|worker| worker.running.len()),
        "left_s": left_s,
        "workers": workers,
        "damaged": damaged,
    }))
}

/// `/api/report`: how far the report of the study is. `at` is the state of the runs that it has to have at least.
pub(crate) fn report(folder: &Folder, request: &Request) -> Response {
    let at = request.value("at").and_then(|text| text.parse().ok());
    let value: Value = match folder.study.get(at, Duration::ZERO) {
        Answer::Finished(finished) => json!({ "is_finished": true, "generation": finished.generation }),
        Answer::Begun { generation, reading: Reading { done, of } } => {
            json!({ "is_finished": false, "generation": generation, "done": done, "of": of })
        }
    };
    Response::json(&value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::RunStatus;

    #[test]
    fn levels_of_numbers_are_in_their_order() {
        let row = |value: Value| RunRow {
            status: RunStatus::Complete,
            reason: None,
            study: String::new(),
            factors: [("path.rtt".to_owned(), value)].into(),
            repeat: 0,
            substrate: String::new(),
            limit: None,
            metrics: Vec::new(),
            is_checked: true,
        };
        let rows = [
            row(json!("100 ms")),
            row(json!("20 ms")),
            row(json!("off")),
            row(json!("1 s")),
            row(json!("20 ms")),
        ];
        let columns = factor_columns(rows.iter());
        assert_eq!(columns.len(), 1);
        assert_eq!((columns[0].key.as_str(), columns[0].head.as_str()), ("path.rtt", "rtt"));
        assert_eq!(columns[0].levels, ["20 ms", "100 ms", "1 s", "off"]);
    }
}
