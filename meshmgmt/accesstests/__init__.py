"""Promises about who reaches what and how names resolve, kept by every write."""
