"""Template tags of the pages about peers."""
