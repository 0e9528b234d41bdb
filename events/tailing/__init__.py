"""Taking log files in: lines, positions, faults."""
