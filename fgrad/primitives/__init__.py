"""The primitives, each declared once with all of its rules."""
