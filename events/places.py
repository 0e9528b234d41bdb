"""Country and city of public addresses, from a local MaxMind database file if given."""

import ipaddress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import geoip2.database
import geoip2.errors
from django.conf import settings


class Place(NamedTuple):
    """Where an address is; empty where the database does not say."""

    country_code: str
    city_name: str
    subdivision_code: str


def look_up(address: str) -> Place | None:
    """Return the place of a public IP address; None when unknown or not configured."""
    path: Path | None = settings.SVC.geoip_database
    if path is None or not address:
        return None
    return _look_up(path, address)


@lru_cache(16)
def _reader(path: Path) -> geoip2.database.Reader:
    """Open the file once per process; a new file needs a restart."""
    return geoip2.database.Reader(path)


@lru_cache(8192)
def _look_up(path: Path, address: str) -> Place | None:
    if not ipaddress.ip_address(address).is_global:
        return None
    reader = _reader(path)
    try:
        if "City" in reader.metadata().database_type:
            city = reader.city(address)
            return Place(
                city.country.iso_code or "",
                city.city.name or "",
                city.subdivisions.most_specific.iso_code or "",
            )
        return Place(reader.country(address).country.iso_code or "", "", "")
    except geoip2.errors.AddressNotFoundError:
        return None
