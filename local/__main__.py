"""The stack on one machine: `make run` and `make sam-local`, or `python -m local` in the environment made for it."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from local.demo import Demo, DemoFailed
from local.processes import kill_all
from local.sam_stack import SamStack
from local.settings import ROOT, InvalidSetting, Settings, read_settings
from local.stack import Addresses, Stack, StartFailed
from local.template import UnsupportedTemplate
from local.terminal import BOLD, DIM, Terminal, without_password

CHECK_SECONDS = 1.0


class Stopped(BaseException):
    """The first Ctrl-C, or another request to end."""


def main() -> int:
    """Serves until a signal: 0 then, 1 when something is missing or fails."""
    arguments = parsed_arguments()
    terminal = Terminal()
    raise_on_signals()
    try:
        settings = read_settings(os.environ, arguments.template, arguments.python, in_containers=arguments.sam)
        terminal.say(f"{terminal.style('Meridian on this machine', BOLD)}\n")
        with stack_of(arguments, settings, terminal) as stack:
            if settings.demo:
                Demo(stack.addresses.api, terminal).show()
            show_addresses(terminal, stack.addresses, settings.data_dir)
            while True:
                time.sleep(CHECK_SECONDS)
                stack.check()
    except Stopped:
        terminal.say("Stopped.")
        return 0
    except (InvalidSetting, UnsupportedTemplate, StartFailed, DemoFailed, RuntimeError) as problem:
        terminal.error(str(problem))
        return 1
    finally:
        ignore_signals()
        kill_all()


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m local", description=__doc__)
    parser.add_argument("--template", type=Path, default=ROOT / "template.yaml", help="the template, built or not")
    parser.add_argument("--python", type=Path, help="the interpreter for a built template's functions")
    parser.add_argument("--sam", action="store_true", help="run a built template's functions by sam local, in Docker")
    parser.add_argument("--runtime", default="3.13", help="with --sam, the Python that it was built for")
    parser.add_argument("--skip-pull-image", action="store_true", help="with --sam, use AWS's image only if it is here")
    return parser.parse_args()


def stack_of(arguments: argparse.Namespace, settings: Settings, terminal: Terminal) -> Stack:
    if arguments.sam:
        return SamStack(settings, terminal, runtime=arguments.runtime, may_pull=not arguments.skip_pull_image)
    return Stack(settings, terminal)


def raise_on_signals() -> None:
    """Lets the first signal end the stack from wherever it is; a second one must not cut the clean-up short."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        ignore_signals()
        raise Stopped

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


def ignore_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def show_addresses(terminal: Terminal, addresses: Addresses, data_dir: Path) -> None:
    lines = {
        "API": addresses.api,
        "Internal API": addresses.internal_api,
        "Restate": f"{addresses.restate_ingress}  (admin {addresses.restate_admin})",
        "Run index": without_password(addresses.run_db_url),
        "Data and logs": str(data_dir),
    }
    terminal.say()
    for name, value in lines.items():
        terminal.say(f"  {name:<15}{value}")
    terminal.say()
    terminal.say(terminal.style("Ctrl-C stops.", DIM))


if __name__ == "__main__":
    sys.exit(main())
