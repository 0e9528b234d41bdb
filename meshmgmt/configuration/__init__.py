"""The configuration of the account as one document, with names in place of ids."""
