"""What all pages of the admin site share: frame, menu, lists, forms, first page."""
