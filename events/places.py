"""Places of public addresses, from a local MaxMind database file if given.

`meshmgmt.env` checks the file at the start. Whatever is wrong with it later, events come
in: they have no place then, and the log says so once.
"""

import ipaddress
import logging
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import geoip2.database
import geoip2.errors
import maxminddb
from django.conf import settings

log = logging.getLogger(__name__)


class Place(NamedTuple):
    """Where an address is; empty where the database does not say."""

    country_code: str
    city_name: str
    subdivision_code: str


class City(NamedTuple):
    """A city as the database knows it; the id is one of geonames.org."""

    geoname_id: int
    city_name: str


def cities(country_code: str) -> Sequence[City]:
    """Return the cities of a country, by name; none without a database of cities.

    The first question reads the whole file: some seconds for one of the usual size.
    """
    path: Path | None = settings.SVC.geoip_database
    if path is None:
        return ()
    with _reading_cities:
        return _cities(path).get(country_code, ())


_reading_cities: Final = threading.Lock()


@lru_cache(1)
def _cities(path: Path) -> dict[str, tuple[City, ...]]:
    found: dict[str, set[City]] = {}
    try:
        with maxminddb.open_database(path) as database:
            for _, record in database:
                _note_city(record, found)
    # A damaged file fails in any way.
    except Exception as error:
        _warn(path, type(error).__name__)
    return {
        code: tuple(sorted(known, key=lambda city: city.city_name))
        for code, known in found.items()
    }


def _note_city(record: Any, found: dict[str, set[City]]) -> None:
    city, country = record.get("city", {}), record.get("country", {})
    name = city.get("names", {}).get("en")
    if name and "geoname_id" in city and "iso_code" in country:
        found.setdefault(country["iso_code"], set()).add(City(city["geoname_id"], name))


def look_up(address: str) -> Place | None:
    """Return the place of a public IP address; None when unknown or not configured."""
    path: Path | None = settings.SVC.geoip_database
    if path is None or not address:
        return None
    return _look_up(path, address)


@lru_cache(16)
def _reader(path: Path) -> geoip2.database.Reader | None:
    """Open the file once per process; a new file needs a restart."""
    try:
        return geoip2.database.Reader(path)
    except (OSError, ValueError, RuntimeError) as error:
        _warn(path, str(error))
        return None


@lru_cache(16)
def _warn(path: Path, reason: str) -> None:
    """Log, once per reason, that events get no place."""
    log.warning("places of addresses are not known: %s: %s", path, reason)


@lru_cache(8192)
def _look_up(path: Path, address: str) -> Place | None:
    parsed = ipaddress.ip_address(address)
    reader = _reader(path)
    if reader is None or not parsed.is_global:
        return None
    if parsed.version > reader.metadata().ip_version:
        return None  # a database of IPv4 alone
    try:
        return _found(reader, address)
    except geoip2.errors.AddressNotFoundError:
        return None
    # A damaged file fails in any way.
    except Exception as error:
        _warn(path, type(error).__name__)
        return None


def _found(reader: Any, address: str) -> Place:
    kind = reader.metadata().database_type
    if "City" not in kind and "Enterprise" not in kind:
        return Place(reader.country(address).country.iso_code or "", "", "")
    city = (reader.city if "City" in kind else reader.enterprise)(address)
    return Place(
        city.country.iso_code or "",
        city.city.name or "",
        city.subdivisions.most_specific.iso_code or "",
    )
