"""Moments as in ISO 8601; `Z` says that they are UTC."""

DATE_FORMAT = SHORT_DATE_FORMAT = "Y-m-d"
TIME_FORMAT = r"H:i:s\Z"
DATETIME_FORMAT = SHORT_DATETIME_FORMAT = r"Y-m-d H:i:s\Z"
MONTH_DAY_FORMAT = "m-d"
YEAR_MONTH_FORMAT = "Y-m"
