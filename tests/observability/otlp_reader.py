"""Prints the spans of OTLP requests; run by the interpreter that has the packages.

`otlp_reader.py FILE...` prints per span: name, service, attributes, parent, id and trace,
separated by tabs.
"""

import sys
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)


def attributes(pairs: Any) -> dict[str, str]:
    """Return names and values as text."""
    found = {}
    for pair in pairs:
        kind = pair.value.WhichOneof("value")
        found[pair.key] = str(getattr(pair.value, kind))
    return found


for name in sys.argv[1:]:
    request = ExportTraceServiceRequest.FromString(Path(name).read_bytes())
    for resource in request.resource_spans:
        service = attributes(resource.resource.attributes)["service.name"]
        for scope in resource.scope_spans:
            for span in scope.spans:
                facts = attributes(span.attributes)
                shown = " ".join(f"{key}={text}" for key, text in facts.items())
                ids = (span.parent_span_id, span.span_id, span.trace_id)
                cells = (span.name, service, shown, *(i.hex() for i in ids))
                sys.stdout.write("\t".join(cells).replace("\n", " ") + "\n")
