"""Token buckets."""

from meshmgmt.core.ratelimit import RateLimit


class Clock:
    moment = 0.0

    def __call__(self) -> float:
        return self.moment


def test_burst_then_one_every_so_often() -> None:
    clock = Clock()
    limit = RateLimit(per_minute=10, burst=5, now=clock)
    assert [limit.take("a") for _ in range(5)] == [0] * 5
    assert limit.take("a") == 6
    clock.moment = 3
    assert limit.take("a") == 3
    clock.moment = 6
    assert limit.take("a") == 0
    assert limit.take("a") == 6
    clock.moment = 600
    assert [limit.take("a") for _ in range(6)] == [0, 0, 0, 0, 0, 6]


def test_keys_do_not_share() -> None:
    limit = RateLimit(per_minute=1, burst=1, now=Clock())
    assert limit.take("a") == limit.take("b") == 0
    assert limit.take("a") > 0


def test_memory_is_bounded() -> None:
    clock = Clock()
    limit = RateLimit(per_minute=1, burst=1, keys=10, now=clock)
    for number in range(100):
        limit.take(str(number))
        assert len(limit._buckets) <= 10
    clock.moment = 3600
    limit.take("new")
    assert list(limit._buckets) == ["new"]
