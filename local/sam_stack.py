"""The stack with Docker: the built functions in AWS's image, behind `sam local`; PostgreSQL and Restate beside them.

`sam local start-api` serves the APIs. `sam local start-lambda` runs what is called otherwise: the engine by Restate,
workflow memory by the engine, settlement, expiry and follow-ups by the stack.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from local.docker import base_image, bridge, engine_problem, has_image, pull
from local.functions import Invoker
from local.model import Application, Function
from local.network import Network
from local.ports import free_port, is_free
from local.sam import Build, SamFunctions, SamService, write_variables
from local.settings import InvalidSetting, Settings
from local.stack import Stack
from local.terminal import Terminal


class SamStack(Stack):
    """A stack over a template that was built for `runtime`, such as 3.13, and for this machine's processor.

    `may_pull`: whether AWS's image is pulled when it is not here.
    """

    _api: SamService

    def __init__(self, settings: Settings, terminal: Terminal, *, runtime: str, may_pull: bool) -> None:
        super().__init__(settings, terminal)
        self._build = Build(self._settings.template, runtime)
        self._may_pull = may_pull
        self._variables = self._settings.data_dir / "variables.json"

    def _find_network(self) -> Network:
        problem = engine_problem()
        if problem is not None:
            raise InvalidSetting(f"{problem}\nmake run serves the same without Docker.")
        image = base_image(self._build.runtime)
        if not has_image(image):
            if not self._may_pull:
                raise InvalidSetting(f"The image {image} is not here, and is not to be pulled.")
            with self._terminal.step("Image"):
                pull(image)
        return bridge()

    def _reserve_api(self, parts: ExitStack) -> str:
        port = self._settings.port or free_port()
        if not is_free(port):
            raise InvalidSetting(f"Port {port} cannot be used (Address already in use): set PORT to another one.")
        self._api = self._service("start-api", port)
        parts.callback(self._api.stop)
        return self._api.url

    def _run_functions(self, parts: ExitStack, functions: Mapping[str, Function]) -> Invoker:
        write_variables(self._variables, functions.values())
        parts.callback(self._variables.unlink, missing_ok=True)
        service = self._service("start-lambda", free_port())
        parts.callback(service.stop)
        with self._terminal.step("start-lambda"):
            service.start()
        self._servers["sam local start-lambda"] = service
        invoker = SamFunctions(functions, service.url)
        parts.callback(invoker.close)
        return invoker

    def _serve_api(self, application: Application, functions: Invoker) -> None:
        with self._terminal.step("start-api"):
            self._api.start()
        self._servers["sam local start-api"] = self._api

    def _service(self, name: str, port: int) -> SamService:
        return SamService(name, self._build, self._variables, port, self._settings.log_dir / f"sam-{name}.log")
