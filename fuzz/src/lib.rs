//! What the fuzz targets share. Those that run native code run it under guard pages.

pub mod fence;
