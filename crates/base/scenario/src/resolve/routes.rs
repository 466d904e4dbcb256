//! The ways of flows that are given link by link.

use crate::error::Complaint;
use crate::file::FlowTable;
use crate::run::{Host, Link};
use crate::suggest;
use crate::tree::{Node, Place};

/// The links that a flow's data and its acknowledgements cross, by name; empty where nothing is said of them.
pub(super) fn routes(
    table: &FlowTable,
    (from, to): (&Host, &Host),
    links: &[Link],
    node: &Node,
) -> Result<[Vec<String>; 2], Complaint> {
    let way = |key, names: &Option<Vec<String>>, from, to| match names {
        None => Ok(Vec::new()),
        Some(names) => check(key, names, from, to, links, node).map(|()| names.clone()),
    };
    Ok([way("route", &table.route, from, to)?, way("route_back", &table.route_back, to, from)?])
}

/// Follows a way from router to router.
fn check(
    key: &str,
    names: &[String],
    from: &Host,
    to: &Host,
    links: &[Link],
    node: &Node,
) -> Result<(), Complaint> {
    let all = node.place_of(&[key]);
    let rightwards = from.router < to.router;
    let complaint = |at: &Place, here: usize, message: String, label: &str| {
        let leads = |(index, link): (usize, &Link)| {
            let [left, right] = link.ends(index);
            let (begins, ends) = if rightwards { (left, right) } else { (right, left) };
            let is_short = if rightwards { ends <= to.router } else { ends >= to.router };
            (begins == here && is_short).then(|| format!("`{}` to router {ends}", link.name))
        };
        let on: Vec<String> = links.iter().enumerate().filter_map(leads).collect();
        let is_beyond = if rightwards { here > to.router } else { here < to.router };
        let help = match on.is_empty() {
            _ if is_beyond => format!(
                "that is beyond it: leave out the last link, or name one that ends at router {}",
                to.router
            ),
            true => format!(
                "no link leads on from router {here}; a [[link]] with between = [LEFT, RIGHT] adds one"
            ),
            false => format!("from router {here} lead on: {}", on.join(", ")),
        };
        Err(Complaint::at(at, message).label(label).help(help))
    };
    let mut here = from.router;
    for (i, name) in names.iter().enumerate() {
        let at = node.get(key).and_then(|list| list.elements().get(i)).map_or(&all, |element| &element.at);
        let Some(index) = links.iter().position(|link| link.name == *name) else {
            let known: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
            return Err(Complaint::at(at, format!("flow.{key}: there is no link `{name}`"))
                .label("names no link")
                .help(suggest::choices(name, "links", &known)));
        };
        let [left, right] = links[index].ends(index);
        let (begins, ends) = if rightwards { (left, right) } else { (right, left) };
        if begins != here {
            let message = format!(
                "flow.{key}: `{name}` leads from router {begins} to {ends}, but the way from `{}` is at router {here}",
                from.name
            );
            return complaint(at, here, message, "does not join on");
        }
        here = ends;
    }
    if here != to.router {
        let message = format!(
            "flow.{key}: the way ends at router {here}, but `{}` is at router {}",
            to.name, to.router
        );
        return complaint(&all, here, message, "does not get there");
    }
    Ok(())
}
