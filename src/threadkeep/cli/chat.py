"""`threadkeep chat`: a conversation that survives restarts."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer

import threadkeep
from threadkeep.cli import options
from threadkeep.cli.app import app
from threadkeep.cli.chat_model import LOCAL, choose
from threadkeep.cli.output import busy, stdout


@app.command()
def chat(
    db: options.Database = options.DB,
    thread: Annotated[
        str, typer.Option(metavar="NAME", help="Which conversation to go on with, or to begin.")
    ] = "default",
    model: Annotated[
        str,
        typer.Option(
            metavar="PROVIDER:NAME",
            envvar="THREADKEEP_MODEL",
            help="Any model that LangChain's init_chat_model knows, or the demo model: local.",
        ),
    ] = LOCAL,
    system: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A system prompt; it is sent, and not kept.")
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY",
            help="What of the thread is sent, as in summary-buffer:tokens=2000,keep=10; all of it by default.",
        ),
    ] = None,
) -> None:
    """Hold a conversation that goes on where it stopped.

    It does so after a restart too. Lines are read from the terminal, or from a pipe. /help lists what can be
    typed besides messages.
    """
    console = stdout()
    with ExitStack() as stack:
        with busy(console, "starting"):
            from threadkeep.cli.chat_loop import Chat
            from threadkeep.context.policies.parsing import parse_policy

            what = parse_policy(policy) if policy is not None else None
            chosen = choose(model)
            if what is not None:
                chosen.check(what)
            memory = stack.enter_context(threadkeep.open(db))
            held = stack.enter_context(
                Chat(
                    memory,
                    thread,
                    chosen.model,
                    console,
                    system=system,
                    policy=what,
                    summarizer=chosen.summarizer,
                    context_window=chosen.context_window,
                )
            )
        held.greet(chosen.notice, chosen.suggestion)
        status = held.run()
    raise typer.Exit(status)
