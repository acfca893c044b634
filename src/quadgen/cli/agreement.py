"""`quadgen agreement`: how often a drafter would be right, from two servers that run."""

import gc
from typing import Annotated

import typer

from quadgen.cli.exits import Exit, Shape, ShapeOption
from quadgen.cli.servers import ApiKeyOption, ModelOption


def command(  # noqa: PLR0913 - one for each option
    target: Annotated[str, typer.Argument(metavar="TARGET_URL", help="The llama-server whose text counts.")],
    draft: Annotated[str, typer.Argument(metavar="DRAFT_URL", help="One that serves the model that shall draft.")],
    *,
    width: Annotated[
        int, typer.Option("--width", metavar="K", min=1, max=64, help="Tokens of a draft, --spec-draft-n-max.")
    ] = 3,
    tokens: Annotated[
        int, typer.Option("--tokens", metavar="N", min=2, max=100_000, help="Tokens of each text, at most.")
    ] = 128,
    prompts: Annotated[
        str | None,
        typer.Option("--prompts", metavar="FILE", help="Texts with lines --- between them, or .jsonl with `prompt`."),
    ] = None,
    chat: Annotated[
        bool | None,
        typer.Option(
            "--chat/--no-chat",
            help="Ask as a user in the target's chat template; without either, if it has one of its own.",
            show_default=False,
        ),
    ] = None,
    api_key_file: ApiKeyOption = None,
    draft_api_key_file: Annotated[
        str | None,
        typer.Option("--draft-api-key-file", metavar="FILE", help="The drafter's; LLAMA_API_KEY without it."),
    ] = None,
    model: ModelOption = None,
    draft_model: Annotated[
        str | None, typer.Option("--draft-model", metavar="NAME", help="The same for the drafter's server.")
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=1, max=86_400, help="How long one answer may take.")
    ] = 600,
    format: ShapeOption = Shape.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Estimate how much of a drafter's text a target would accept, before either is restarted.

    Both are asked at temperature 0. The target writes, and the drafter drafts over that, round
    after round, as draft-simple would. Ends with 1 where their tokenizers differ.
    """
    from quadgen.cli import agreement_shown, agreement_work  # noqa: PLC0415 - heavy

    gc.enable()  # hundreds of answers
    asked = agreement_work.Asked(
        urls=(target, draft),
        models=(model, draft_model),
        key_files=(api_key_file, draft_api_key_file),
        width=width,
        tokens=tokens,
        prompts=prompts,
        chat=chat,
        timeout=timeout,
    )
    answer = agreement_work.answer(asked)
    typer.echo(agreement_shown.as_json(answer) if format is Shape.JSON else agreement_shown.as_text(answer), nl=False)
    if answer.found.refusal is not None:
        raise typer.Exit(Exit.REFUSED)
