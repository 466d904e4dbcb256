//! What is said of runs, whether they were carried out just now or lie there: a table with words under it, or JSON.

use super::analysis::{self, Limits};
use crate::failure::Failure;
use crate::{print, print_plain};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use wirespeed_campaign::Judged;
use wirespeed_metrics::{Moment, View};
use wirespeed_record::{
    Cause, Counter, EventKind, LedgerRow, Recording, SENT_AGAIN_FOR, SENT_AGAIN_SPURIOUS,
    SENT_AGAIN_UNMATCHED,
};
use wirespeed_report::{GroupResult, Report};
use wirespeed_scenario::Factor;

/// Collects what is to be said, run by run.
pub(super) struct Said {
    as_json: bool,
    /// Of many runs nobody reads it as text; the JSON has it of all.
    is_only: bool,
    rows: Vec<Value>,
    limits: Limits,
    only: String,
    /// When the only run began.
    began: Option<String>,
}

impl Said {
    /// Of so many runs.
    pub fn new(as_json: bool, runs: usize) -> Said {
        Said {
            as_json,
            is_only: runs == 1,
            rows: Vec::new(),
            limits: Limits::default(),
            only: String::new(),
            began: None,
        }
    }

    /// A run that was completed.
    pub fn add(&mut self, judged: &Judged) -> Result<(), Failure> {
        if self.as_json || self.is_only {
            if self.as_json {
                self.rows.push(json_row(judged));
            } else {
                self.only = analysis::run(judged, &View::new(&judged.recording)?);
                self.began.clone_from(&judged.recording.info.started);
            }
        }
        // Of a copy it is what is said of the original.
        let is_original = judged.recording.info.copy_of.is_none();
        if let Some(limit) = judged.analysis.diagnosis.sentence().filter(|_| is_original && !self.as_json) {
            self.limits.add(&judged.recording.info.id, &limit);
        }
        Ok(())
    }

    /// A run that was not; its factors, where they are known.
    pub fn add_incomplete(&mut self, id: &str, factors: Option<&BTreeMap<String, Factor>>, reason: &str) {
        self.rows.push(json!({ "id": id, "factors": factors, "complete": false, "reason": reason }));
    }

    /// Prints it all; the report is in the folder `out`, if it could be written.
    pub fn print(&self, study: &str, report: &Report, out: Option<&Path>) -> Result<(), Failure> {
        if self.as_json {
            let text = serde_json::to_string_pretty(
                &json!({ "study": study, "answer": report.answer(), "comparisons": report.comparisons(), "harm": report.harm(), "runs": self.rows }),
            )
            .expect("results are plain data");
            return print(&format!("{text}\n"));
        }
        super::report::show(report, out)?;
        if let Some(began) = &self.began {
            print_plain(&format!("Begun: {began}\n"))?;
        }
        print_plain(&self.limits.text())?;
        if self.is_only { print_plain(&self.only) } else { Ok(()) }
    }
}

fn json_row(judged: &Judged) -> Value {
    let Recording { info, ledger, counters, .. } = &judged.recording;
    let metrics: Map<String, Value> =
        judged.metrics.iter().map(|m| (m.name.clone(), json!(m.value))).collect();
    json!({
        "id": info.id,
        "factors": info.factors,
        "repeat": info.repeat,
        "seed": info.seed,
        "depends_on_seed": info.depends_on_seed,
        "substrate": info.substrate,
        "started": info.started,
        "interrupted": info.interrupted,
        "series": info.series,
        "hosts": info.hosts.iter().map(|host| json!({ "name": host.name, "settings": host.settings })).collect::<Vec<_>>(),
        "validated_region": info.validated_region,
        "metrics": metrics,
        "flows": json_flows(judged),
        "groups": json_groups(judged),
        "ledger": json_ledger(ledger),
        "ledger_window": judged.recording.window_ledger().as_deref().map(json_ledger),
        "sent_again": counters.iter().filter_map(json_sent_again).collect::<Vec<_>>(),
        "drops_missed": wirespeed_report::missed(counters),
        "ledger_intervals": judged.analysis.timeline.iter().map(json_moment).collect::<Vec<_>>(),
        "limit": judged.analysis.diagnosis.sentence(),
        "held_back": judged.analysis.diagnosis.intervals.iter().map(|i| json!({
            "flow": i.flow, "from_ns": i.from_ns, "to_ns": i.to_ns, "rate_bps": i.rate_bps, "by": i.factor.words(),
            "id": i.factor.id(),
        })).collect::<Vec<_>>(),
        "placement": info.placement.iter().map(|placement| json!({
            "flow": placement.flow,
            "host": placement.host,
            "application_core": placement.application_core(),
            "incoming_core": placement.incoming_core(),
            "queue": placement.queue,
        })).collect::<Vec<_>>(),
        "findings": judged.analysis.diagnosis.findings,
        "other_load": judged.recording.events.iter().filter(|event| event.kind == EventKind::OtherLoad).map(|event| json!({
            "host": event.host, "process": event.detail,
        })).collect::<Vec<_>>(),
        "not_steady": judged.analysis.unsteady.as_ref().map(|unsteady| json!({
            "reason": unsteady.words(),
            "flow": unsteady.label,
            "flows": unsteady.flows,
            "window_cycles": unsteady.cycles,
            "drifts": unsteady.drifts,
            "measured_ns": unsteady.measured_ns,
            "needed_ns": unsteady.needed_ns,
        })),
        "path_checks": info.path_checks,
        "expectations": judged.expectations.iter().map(|e| json!({
            "metric": e.metric, "bound": e.bound, "value": e.value, "passed": e.passed,
        })).collect::<Vec<_>>(),
        "warnings": info.warnings,
        "cost": info.cost,
        "complete": true,
    })
}

/// The flows in the order of their numbers, each with its metrics.
fn json_flows(judged: &Judged) -> Vec<Value> {
    let flows = judged.recording.info.flows.iter().enumerate();
    let flow = flows.map(|(number, flow)| {
        let metrics = judged.per_flow.get(number).into_iter().flatten();
        let metrics: Map<String, Value> = metrics.map(|m| (m.name.clone(), json!(m.value))).collect();
        json!({
            "label": flow.label,
            "kind": flow.kind.word(),
            "congestion": flow.congestion,
            "from": flow.from,
            "to": flow.to,
            "metrics": metrics,
        })
    });
    flow.collect()
}

/// The groups of flows in the order of their first flows, each with its metrics.
fn json_groups(judged: &Judged) -> Vec<Value> {
    let group = |GroupResult { group, metrics }: &GroupResult| {
        let labels = group.flows.iter().filter_map(|flow| judged.recording.info.flows.get(*flow as usize));
        let metrics: Map<String, Value> = metrics.iter().map(|m| (m.name.clone(), json!(m.value))).collect();
        json!({
            "label": group.label,
            "class": group.class.word(),
            "flows": labels.map(|flow| &flow.label).collect::<Vec<_>>(),
            "metrics": metrics,
        })
    };
    judged.per_group.iter().map(group).collect()
}

/// By direction: sent, delivered, unexplained, and what was lost or is in flight by place.
fn json_ledger(rows: &[LedgerRow]) -> Value {
    let mut ledger = Map::new();
    for row in rows {
        let account = ledger.entry(row.direction.word()).or_insert_with(|| json!({}));
        match row.stage {
            None => account[row.entry.word()] = json!(row.packets),
            Some(stage) => {
                let cause = row.cause.map(Cause::word);
                let place = json!({ "stage": stage.word(), "place": row.place, "cause": cause, "packets": row.packets });
                match account.get_mut(row.entry.word()).and_then(Value::as_array_mut) {
                    Some(places) => places.push(place),
                    None => account[row.entry.word()] = json!([place]),
                }
            }
        }
    }
    Value::Object(ledger)
}

/// Packets sent again for a drop, for none, or though the receiver had them, if that is what a counter counts.
fn json_sent_again(row: &Counter) -> Option<Value> {
    let reason = row.counter.strip_prefix(SENT_AGAIN_FOR);
    let spurious = row.counter == SENT_AGAIN_SPURIOUS;
    (reason.is_some() || spurious || row.counter == SENT_AGAIN_UNMATCHED).then(|| {
        json!({ "for": reason, "spurious": spurious, "host": row.host, "packets": row.after - row.before })
    })
}

/// The account of an interval and a direction.
fn json_moment(moment: &Moment) -> Value {
    json!({
        "from_ns": moment.from_ns,
        "to_ns": moment.to_ns,
        "direction": moment.direction.word(),
        "sent": moment.sent,
        "copied": moment.copied,
        "repair": moment.repair,
        "recovered": moment.recovered,
        "decoded": moment.decoded,
        "delivered": moment.delivered,
        "lost": moment.lost.iter().map(|lost| json!({
            "stage": lost.stage.word(), "place": lost.place, "cause": lost.cause.map(Cause::word), "packets": lost.packets,
        })).collect::<Vec<_>>(),
        "in_flight": moment.in_flight,
        "unseen": moment.unseen,
        "unexplained": moment.unexplained,
        "uncertain": moment.uncertain,
        "sent_again": moment.sent_again,
        "spurious": moment.spurious,
    })
}
