"""What one peer gets as its DNS configuration, and why; pure, without Django."""
