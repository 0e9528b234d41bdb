"""How a batch reaches its receiver, by the kind of target."""
