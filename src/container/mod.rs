//! Bytes → typed parts of the containers.
