"""The peer protocol over HTTP: what peers are asked to do."""
