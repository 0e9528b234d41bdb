"""Why things are as they are: what one peer gets, how it resolves names, what is odd."""
