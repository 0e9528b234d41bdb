"""The wire format: `.proto` files of our own and what `make protos` compiles them to."""
