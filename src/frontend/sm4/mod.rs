//! Direct3D shader model 4 and 5 tokens → IR.
