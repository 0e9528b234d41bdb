"""Rules of what refers to groups: pure, in order; stored facts come in as arguments."""
