"""The API reference as Markdown, out of the OpenAPI document: a page for each tag."""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

Schema: TypeAlias = dict[str, Any]

OBJECTS: Final = "api-objects"
HEADS: Final = {
    "parameters": "| Parameter | In | Type | Meaning |\n|---|---|---|---|\n",
    "fields": "| Field | Type | Meaning |\n|---|---|---|\n",
}


def pages(document: Schema) -> dict[str, str]:
    """Return the text of each page by its name, `api-TAG` and the objects of all."""
    tags: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            text = _operation(document, f"{method.upper()} {path}", operation)
            tags.setdefault(operation["tags"][0], []).append(text)
    found = {f"api-{tag}": _page(_titled(tag), tags[tag]) for tag in sorted(tags)}
    schemas = document["components"]["schemas"]
    found[OBJECTS] = _page(
        "API: objects", [_object(name, schemas[name]) for name in schemas]
    )
    return found


def _titled(tag: str) -> str:
    words = tag.replace("_", " ").replace("-", " ")
    return f"API: {'DNS' if words == 'dns' else words}"


def _page(title: str, parts: list[str]) -> str:
    return f"# {title}\n\n" + "\n".join(parts)


def _operation(document: Schema, title: str, operation: Schema) -> str:
    parts = [f"## `{title}`\n", operation.get("description", "")]
    if rows := [
        f"| `{one['name']}`{_required(one.get('required'))} | {one['in']}"
        f" | {_type(one['schema'])} | {_cell(one.get('description', ''))} |\n"
        for part in operation.get("parameters", [])
        for one in [_followed(document, part)]
    ]:
        parts.append(HEADS["parameters"] + "".join(rows))
    if body := operation.get("requestBody"):
        parts.append(f"Body: {_contents(body)}.")
    answers, refusals = [], []
    for status, answer in sorted(operation["responses"].items()):
        if status < "400":
            said = _contents(answer) or _cell(answer["description"])
            answers.append(f"**{status}**" + (f" {said}" if said else ""))
        else:
            refusals.append(status)
    parts.append(
        f"Answers: {'; '.join(answers)}. [Refusals](api.md#errors): {', '.join(refusals)}."
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _followed(document: Schema, part: Schema) -> Schema:
    """Return the part of the document that a reference names, or the part itself."""
    if "$ref" not in part:
        return part
    found = document
    for word in part["$ref"].removeprefix("#/").split("/"):
        found = found[word]
    return found


def _contents(part: Schema) -> str:
    return " or ".join(
        _type(content.get("schema", {}))
        + ("" if kind == "application/json" else f" as `{kind}`")
        for kind, content in part.get("content", {}).items()
    )


def _object(name: str, schema: Schema) -> str:
    parts = [f"## {name}\n", _cell(schema.get("description", ""))]
    rows = "".join(_rows(schema, ""))
    parts.append(HEADS["fields"] + rows if rows else f"{_type(schema)}.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _rows(schema: Schema, within: str) -> Iterator[str]:
    """Yield a row for each field, those of objects without a name of their own too."""
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        mark, said = _required(name in required), _cell(field.get("description", ""))
        yield f"| `{within}{name}`{mark} | {_type(field)} | {said} |\n"
        items = field.get("items", {})
        yield from _rows(field, f"{within}{name}.")
        yield from _rows(items, f"{within}{name}[].")


def _required(required: bool | None) -> str:
    return " (required)" if required else ""


def _type(schema: Schema) -> str:
    """Return a type in words, with links to objects that have a name."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}]({OBJECTS}.md#{name.lower()})"
    for several in ("oneOf", "anyOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(map(_type, schema[several])))
    return _simple(schema)


def _simple(schema: Schema) -> str:
    kind = schema.get("type", "anything")
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if isinstance(more := schema.get("additionalProperties"), dict):
        return f"object of {_type(more)}"
    if isinstance(kind, list):
        return " or ".join(kind)
    return f"{kind} ({schema['format']})" if "format" in schema else kind


def _cell(text: str) -> str:
    """Return a text as one line, whose bars do not end a cell."""
    lines = [line.strip().removeprefix("* ") for line in text.splitlines()]
    return "; ".join(line for line in lines if line).replace("|", "\\|")
