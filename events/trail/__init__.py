"""Reading the audit trail: rows, pages, cursors and exports."""
