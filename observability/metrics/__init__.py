"""Figures: instruments, the files of many processes, scrapes."""
