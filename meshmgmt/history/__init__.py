"""What was: the account at a moment, what a write did, and taking changes back."""
