//! Named levels of a factor: `[variant.NAME.LEVEL]`, a table of settings that are made together. NAME is then swept
//! or set like any path of the file.

use crate::address::Address;
use crate::error::Complaint;
use crate::suggest;
use crate::sweep::{Axis, factor};
use crate::tree::{Node, Place, Value};

/// Lists that a level may set as a whole.
const WHOLE: &[&str] = &["flow", "link", "capture"];

/// All variants of a file.
#[derive(Debug, Default)]
pub(crate) struct Variants(Vec<Variant>);

#[derive(Debug)]
struct Variant {
    name: Address,
    levels: Vec<Level>,
}

/// What one level sets.
#[derive(Debug)]
pub(crate) struct Level {
    name: String,
    at: Place,
    settings: Vec<(Address, Node)>,
}

impl Variants {
    /// Reads the `[variant]` table.
    pub fn read(node: &Node) -> Result<Self, Complaint> {
        let mut variants = Vec::new();
        for entry in table(node, "variant")? {
            let name = Address::parse(&entry.key, &entry.at)?;
            let mut levels = Vec::new();
            for level in table(&entry.node, &format!("variant.{}", entry.key))? {
                let what = format!("variant.{}.{}", entry.key, level.key);
                let settings = table(&level.node, &what)?
                    .iter()
                    .map(|setting| self::setting(&setting.key, &setting.at, &setting.node, &what))
                    .collect::<Result<_, _>>()?;
                levels.push(Level { name: level.key.clone(), at: level.at.clone(), settings });
            }
            if levels.is_empty() {
                return Err(Complaint::at(&entry.at, format!("variant.{} has no level", entry.key)).help(
                    "write a table for each level, for example [variant.roles.\"1:1\"], and its settings below it",
                ));
            }
            variants.push(Variant { name, levels });
        }
        Ok(Variants(variants))
    }

    fn find(&self, address: &Address) -> Option<&Variant> {
        self.0.iter().find(|variant| variant.name.same(address))
    }

    /// The level that `value` names, if `address` names a variant.
    pub fn level(&self, address: &Address, value: &Node) -> Result<Option<&Level>, Complaint> {
        let Some(variant) = self.find(address) else { return Ok(None) };
        let wanted = factor(value, &address.text)?.to_string();
        let level = variant.levels.iter().find(|level| level.name == wanted);
        level.map(Some).ok_or_else(|| {
            let known: Vec<&str> = variant.levels.iter().map(|level| level.name.as_str()).collect();
            Complaint::at(&value.at, format!("`{}` has no level `{wanted}`", address.text))
                .label("no such level")
                .help(suggest::choices(&wanted, "levels", &known))
        })
    }

    /// Every swept level is known, and nothing of it is swept on its own or by another variant too.
    pub fn check(&self, axes: &[Axis]) -> Result<(), Complaint> {
        for (index, axis) in axes.iter().enumerate() {
            for value in &axis.values {
                let Some(level) = self.level(&axis.address, value)? else { continue };
                for (number, other) in axes.iter().enumerate().filter(|(number, _)| *number != index) {
                    for (address, _) in &level.settings {
                        if self.sets(other, address)? {
                            let message = format!(
                                "level `{}` of `{}` sets `{}`, which `{}` sweeps too",
                                level.name, axis.address.text, address.text, other.address.text
                            );
                            let at = if number > index { &other.address.at } else { &axis.address.at };
                            return Err(Complaint::at(at, message).label("set twice").help(
                                "take it out of the levels, or out of [sweep]; what belongs together is one variant",
                            ));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether an axis sets this path, itself or by one of its levels.
    fn sets(&self, axis: &Axis, address: &Address) -> Result<bool, Complaint> {
        for value in &axis.values {
            match self.level(&axis.address, value)? {
                Some(level) if level.settings.iter().any(|(other, _)| other.same(address)) => {
                    return Ok(true);
                }
                Some(_) => {}
                None => return Ok(axis.address.same(address)),
            }
        }
        Ok(false)
    }
}

impl Level {
    /// Makes its settings.
    pub fn apply(&self, root: &mut Node) -> Result<(), Complaint> {
        for (address, value) in &self.settings {
            match whole(address) {
                Some(list) => {
                    root.remove(list);
                    address.set_plain(root, value);
                }
                None => address.set(root, value)?,
            }
        }
        Ok(())
    }

    /// The first of its settings that something has overwritten.
    pub fn overwritten(&self, root: &mut Node) -> Result<Option<&Address>, Complaint> {
        for (address, value) in &self.settings {
            // Of a list set as a whole, other factors may set a part.
            if whole(address).is_none() && !address.holds(root, &value.value)? {
                return Ok(Some(address));
            }
        }
        Ok(None)
    }

    /// Where it is in the file.
    pub fn place(&self) -> &Place {
        &self.at
    }
}

/// The list that an address names as a whole.
fn whole(address: &Address) -> Option<&'static str> {
    match address.segments.as_slice() {
        [only] => WHOLE.iter().copied().find(|list| *list == only),
        _ => None,
    }
}

fn table<'a>(node: &'a Node, what: &str) -> Result<&'a [crate::tree::Entry], Complaint> {
    match &node.value {
        Value::Table(entries) => Ok(entries),
        _ => Err(Complaint::at(&node.at, format!("{what}: expected a table, found {}", node.kind()))
            .label("not a table")
            .help("write [variant.NAME.LEVEL] and below it lines such as \"path.rtt\" = \"6.2 ms\"")),
    }
}

fn setting(key: &str, at: &Place, node: &Node, what: &str) -> Result<(Address, Node), Complaint> {
    let address = Address::parse(key, at)?;
    if address.segments.len() == 1 && matches!(node.value, Value::Table(_)) {
        return Err(Complaint::at(at, format!("{what}: `{key}` is a table of the file, not a setting"))
            .label("a table")
            .help("write the whole path in quotes, for example \"path.rtt\" = \"6.2 ms\""));
    }
    if ["schema", "name", "about", "sweep", "expect", "figure", "variant"]
        .contains(&address.segments[0].as_str())
        || address.segments == ["run", "repeat"]
    {
        return Err(Complaint::at(at, format!("{what}: `{key}` cannot be a setting of a level"))
            .label("the same for the whole study")
            .help("set keys of path, host, topology, link, flow, run or capture"));
    }
    Ok((address, node.clone()))
}
