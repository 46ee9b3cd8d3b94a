"""There is no compiler for devices here: what patches one finds nothing to patch."""
