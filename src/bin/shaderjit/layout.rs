//! `--layout`: what an interleaved vertex file looks like.

use shaderjit::VertexFormat;
use std::str::FromStr;

/// `SEMANTIC=FORMAT@OFFSET,…/STRIDE`. Without a stride, vertices follow each other at the end of the last element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VertexLayout {
    pub elements: Vec<LayoutElement>,
    pub stride: usize,
}

/// One element of a vertex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutElement {
    pub semantic: String,
    pub index: u32,
    pub format: VertexFormat,
    pub offset: usize,
}

impl FromStr for VertexLayout {
    type Err = String;

    fn from_str(text: &str) -> Result<VertexLayout, String> {
        let (list, stride) = text.split_once('/').map_or((text, None), |(list, stride)| (list, Some(stride)));
        let number = |text: &str| text.parse::<usize>().map_err(|_| format!("{text:?} is no number of bytes"));
        let mut elements = Vec::new();
        for element in list.split(',') {
            let shape = || format!("{element:?}: expected SEMANTIC=FORMAT@OFFSET");
            let (semantic, rest) = element.split_once('=').ok_or_else(shape)?;
            let (format, offset) = rest.split_once('@').ok_or_else(shape)?;
            let format = VertexFormat::from_name(format).ok_or_else(|| {
                let names: Vec<&str> = VertexFormat::ALL.iter().map(|format| format.name()).collect();
                format!("{format:?} is no vertex format; there are {}", names.join(" "))
            })?;
            let (semantic, index) = semantic_and_index(semantic);
            elements.push(LayoutElement { semantic, index, format, offset: number(offset)? });
        }
        let end = |element: &LayoutElement| element.offset.saturating_add(element.format.bytes());
        let ends = elements.iter().map(end).max().unwrap_or(0);
        let stride = stride.map(number).transpose()?.unwrap_or(ends);
        if stride == 0 || ends > stride {
            return Err(format!("vertices of {stride} bytes have no room for elements that end at byte {ends}"));
        }
        Ok(VertexLayout { elements, stride })
    }
}

/// `TEXCOORD1` is index 1 of TEXCOORD. A register (`v0`) keeps its number.
fn semantic_and_index(text: &str) -> (String, u32) {
    let name = text.trim_end_matches(|c: char| c.is_ascii_digit());
    match text[name.len()..].parse() {
        Ok(index) if name != "v" => (name.to_string(), index),
        _ => (text.to_string(), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_a_format_and_a_place() {
        let layout: VertexLayout = "POSITION=f32x3@0,TEXCOORD1=unorm16x2@12/40".parse().unwrap();
        let element = |semantic: &str, index, format, offset| LayoutElement {
            semantic: semantic.to_string(),
            index,
            format,
            offset,
        };
        let expected =
            [element("POSITION", 0, VertexFormat::F32x3, 0), element("TEXCOORD", 1, VertexFormat::Unorm16x2, 12)];
        assert_eq!((layout.elements.as_slice(), layout.stride), (expected.as_slice(), 40));
        let layout: VertexLayout = "v0=f32x4@0,v12=f32x2@16".parse().unwrap();
        assert_eq!((layout.elements[1].semantic.as_str(), layout.elements[1].index, layout.stride), ("v12", 0, 24));
        for bad in ["", "POSITION", "POSITION=f32x3", "POSITION=f33x3@0", "P=f32x3@x", "P=f32x3@0/8", "P=f32x3@0/x"] {
            assert!(bad.parse::<VertexLayout>().is_err(), "{bad}");
        }
    }
}
