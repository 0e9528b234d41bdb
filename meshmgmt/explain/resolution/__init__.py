"""How a peer resolves a name with its configuration, and why; pure."""
