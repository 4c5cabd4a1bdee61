//! PICA200 (Nintendo 3DS) instruction words → IR.
