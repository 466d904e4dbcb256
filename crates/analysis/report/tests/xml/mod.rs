//! A check of XML.

/// Fails if `xml` is not a document, or has control characters other than line ends.
pub fn well_formed(xml: &str) -> Result<(), String> {
    roxmltree::Document::parse(xml).map_err(|error| error.to_string())?;
    match xml.find(|c: char| c.is_control() && c != '\n') {
        Some(at) => Err(format!("a control character at byte {at}")),
        None => Ok(()),
    }
}
