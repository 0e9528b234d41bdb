"""What explanations have for the other rooms."""

from meshmgmt.explain import bundles, homecards


def register() -> None:
    bundles.register()
    homecards.register()
