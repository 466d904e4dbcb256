//! A small check of XML.

/// Tags nest, attributes are quoted, entities are known, no raw markup in text.
pub fn well_formed(xml: &str) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        text_is_clean(&rest[..start])?;
        let end = start + tag_length(&rest[start..]).ok_or("a tag does not end")?;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let expected = open.pop().ok_or_else(|| format!("</{name}> was never opened"))?;
            if expected != name {
                return Err(format!("</{name}> where </{expected}> is due"));
            }
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        let attributes = tag[name.len()..].trim_end_matches('/');
        let mut seen = Vec::new();
        for (index, part) in attributes.split('"').enumerate() {
            if index % 2 == 1 {
                text_is_clean(part)?;
            } else if !part.trim().is_empty() {
                let key = part.trim().strip_suffix('=').ok_or_else(|| format!("`{part}` in <{name}>"))?;
                if seen.contains(&key) {
                    return Err(format!("<{name}> has {key} twice"));
                }
                seen.push(key);
            }
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    text_is_clean(rest)?;
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} do not end")) }
}

fn tag_length(tag: &str) -> Option<usize> {
    let mut is_quoted = false;
    tag.char_indices().find_map(|(i, c)| {
        is_quoted ^= c == '"';
        (c == '>' && !is_quoted).then_some(i)
    })
}

fn text_is_clean(text: &str) -> Result<(), String> {
    if text.contains('<') || text.chars().any(|c| c.is_control() && c != '\n') {
        return Err(format!("raw markup or control characters in `{text}`"));
    }
    for (at, _) in text.match_indices('&') {
        let entities = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
        if !entities.iter().any(|e| text[at..].starts_with(e)) {
            return Err(format!("a bare & in `{text}`"));
        }
    }
    Ok(())
}
