"""Signing in through an OpenID Connect provider (OpenID Connect Core 1.0)."""
