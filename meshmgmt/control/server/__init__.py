"""The process that peers connect to: gRPC on one event loop, decisions in threads."""
