"""Pages of questions and findings in the admin site."""
