"""How pages write dates and numbers; Django looks for a module per language."""
