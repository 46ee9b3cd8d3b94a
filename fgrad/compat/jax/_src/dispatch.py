"""Effects of compiled programs are done when the programs are."""
