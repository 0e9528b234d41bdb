"""Template tags of the admin site's frame."""
