"""The transforms, one file each: interpreters over the primitives' rules."""
