"""Events sent on: who wants which, and how they get there."""
