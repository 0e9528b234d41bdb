"""Zone files (RFC 1035, Section 5): reading, writing, comparing; pure.

An own reader, because dnslib's (the one parser that does not clash with our name
`dns`) was tried and is not good enough: its errors carry no line or column, it
refuses a class before the TTL, TTLs with units and blank owners, and it drops
surplus record data without a word.
"""
