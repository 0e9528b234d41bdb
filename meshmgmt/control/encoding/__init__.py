"""From network maps to the bytes of messages."""
