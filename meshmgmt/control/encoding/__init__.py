"""From network maps to the bytes of messages."""

from meshmgmt.control.encoding.message import Encoded, Encoder, closing_message

__all__ = ["Encoded", "Encoder", "closing_message"]
