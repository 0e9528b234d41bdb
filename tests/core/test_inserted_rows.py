"""Rows put in at once, by whatever way their number takes."""

import pytest
from django.db import IntegrityError, transaction

from meshmgmt.core.queries import MOST_PARAMETERS, insert_rows
from meshmgmt.movingin.models import Copied

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("number", [2, MOST_PARAMETERS])
def test_what_the_database_refuses_of_few_and_of_many_is_an_error_of_django(
    number: int,
) -> None:
    rows = [("there", "group", "twice", "ours")] * number
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_rows(Copied, ("source", "kind", "old_id", "new_id"), rows)
