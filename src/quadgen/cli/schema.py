"""`quadgen schema`: the JSON Schema of fleet.yml."""

import typer


def command() -> None:
    """Print the JSON Schema of fleet.yml, for editors."""
    import json  # noqa: PLC0415 - heavy

    from quadgen.fleet.schema import json_schema  # noqa: PLC0415 - heavy

    typer.echo(json.dumps(json_schema(), indent=2))
