"""The whole of Meridian on one machine: PostgreSQL, Restate, and the template's functions behind its APIs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Protocol

from local.data_dir import exclusive_data_dir, write_atomically
from local.follow_ups import FUNCTION as FOLLOW_UP
from local.follow_ups import PATH as FOLLOW_UPS_PATH
from local.follow_ups import FollowUps
from local.functions import Functions, Invoker, arn_of
from local.http_api import http_api
from local.http_server import Server
from local.lambda_service import lambda_service
from local.model import Application, Function, Schedule
from local.network import LOOPBACK, Network
from local.ports import KeptPorts
from local.postgres import PostgresServer, open_to
from local.restate import RestateServer
from local.schedules import Ticker, effective_schedules
from local.settings import PASSED_ON_TO_ALL, ROOT, InvalidSetting, Settings
from local.template import read_template
from local.terminal import Terminal

PUBLIC_API, INTERNAL_API = "PublicApi", "InternalApi"
ENGINE, MIGRATE = "EngineFunction", "MigrateFunction"

SECRETS = {"RUN_DB_SECRET_ARN": "RUN_DB_URL", "RESTATE_API_KEY_SECRET_ARN": None}
"""Settings that name something of AWS, and the setting that stands for each on one machine."""


class StartFailed(Exception):
    """A part of the stack did not start, or ended by itself; the message says which and why."""


@dataclass(frozen=True)
class Addresses:
    """Where the parts of a running stack are reached."""

    api: str
    internal_api: str
    restate_ingress: str
    restate_admin: str
    run_db_url: str


class Process(Protocol):
    """A server of the stack that is a process of its own."""

    def is_running(self) -> bool: ...


class Stack:
    """A context manager: `with` starts the stack and ends it, part by part in reverse, also when a part fails.

    The functions run beside it, in AWS's runtime client; `local.sam_stack` has another place for them. Raises
    `InvalidSetting` for what the caller can change, `StartFailed` or `RuntimeError` for the rest.
    """

    addresses: Addresses  # once it serves

    def __init__(self, settings: Settings, terminal: Terminal) -> None:
        self._settings = settings
        self._terminal = terminal
        self._parts = ExitStack()
        self._servers: dict[str, Process] = {}

    def __enter__(self) -> Stack:
        with ExitStack() as parts:
            self._start(parts)
            self._parts = parts.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._parts.close()

    def check(self) -> None:
        """Raises `StartFailed` when a server has ended by itself."""
        for name, server in self._servers.items():
            if not server.is_running():
                raise StartFailed(f"{name} has ended by itself; its log is in {self._settings.log_dir}.")

    def _start(self, parts: ExitStack) -> None:
        settings, step = self._settings, self._terminal.step
        parts.enter_context(exclusive_data_dir(settings.data_dir))
        settings.stack_file.unlink(missing_ok=True)
        network = self._find_network()
        # The servers listen before what stands behind them is there: a port that is taken is told at once.
        api = self._reserve_api(parts)
        internal, service = _listening(0, network.address), _listening(0, network.address)
        for server in (internal, service):
            parts.callback(server.stop)
        with step("Template"):
            application = read_template(settings.template)
            schedules = _schedules(application, settings)
        ports = KeptPorts(settings.data_dir / "ports.json")
        run_db_url = settings.run_db_url or self._start_postgres(parts, ports, network)
        restate = self._start_restate(parts, ports, network, service.url)
        self.addresses = Addresses(api, internal.url, restate.ingress_url, restate.admin_url, run_db_url)

        configured = {f.name: self._configured(f, network, service.url) for f in application.functions.values()}
        functions = self._run_functions(parts, configured)
        follow_ups = FollowUps(lambda event: functions.invoke_quietly(FOLLOW_UP, event))
        parts.callback(follow_ups.stop)
        service.start(lambda_service(functions, follow_ups))
        if MIGRATE in functions:
            with step("Migrations"):
                _migrate(functions)
        if ENGINE in functions:
            with step("Engine"):
                restate.register({"arn": f"{arn_of(ENGINE)}:1"})
        internal.start(http_api(INTERNAL_API, application.routes, functions))
        self._serve_api(application, functions)
        follow_ups.start()
        ticker = Ticker(schedules, functions.invoke_quietly)
        parts.callback(ticker.stop)
        ticker.start()
        parts.callback(settings.stack_file.unlink, missing_ok=True)
        write_atomically(settings.stack_file, _stack_file(self.addresses))

    def _find_network(self) -> Network:
        """Where functions and servers meet. Raises `InvalidSetting` when functions cannot run here."""
        return Network()

    def _reserve_api(self, parts: ExitStack) -> str:
        """Takes the public API's port; its URL."""
        self._public = _listening(self._settings.port)
        parts.callback(self._public.stop)
        return self._public.url

    def _run_functions(self, parts: ExitStack, functions: Mapping[str, Function]) -> Invoker:
        invoker = Functions(functions, self._settings.python, self._settings.log_dir)
        parts.callback(invoker.close)
        return invoker

    def _serve_api(self, application: Application, functions: Invoker) -> None:
        self._public.start(http_api(PUBLIC_API, application.routes, functions))

    def _start_postgres(self, parts: ExitStack, ports: KeptPorts, network: Network) -> str:
        """The URL of the stack's own PostgreSQL."""
        settings = self._settings
        server = PostgresServer(
            settings.data_dir / "postgres",
            settings.log_dir / "postgres.log",
            ports.get("postgres"),
            open_to(network, settings.data_dir / "pg_hba.conf"),
        )
        parts.callback(server.stop)
        with self._terminal.step("PostgreSQL"):
            server.start()
        self._servers["PostgreSQL"] = server
        return server.url()

    def _start_restate(self, parts: ExitStack, ports: KeptPorts, network: Network, lambda_url: str) -> RestateServer:
        settings = self._settings
        server = RestateServer(
            settings.data_dir / "restate",
            settings.log_dir / "restate.log",
            ingress=ports.get("restateIngress"),
            admin=ports.get("restateAdmin"),
            node=ports.get("restateNode"),
            lambda_url=lambda_url,
            host=network.address,
        )
        parts.callback(server.stop)
        with self._terminal.step("Restate"):
            server.start()
        self._servers["Restate"] = server
        return server

    def _configured(self, function: Function, network: Network, lambda_service_url: str) -> Function:
        """The function with the settings of this stack in place of the template's, as far as it declares them."""
        addresses = self.addresses
        values = {
            "WORKFLOWS_DIR": str(ROOT / "workflows"),
            **self._settings.environment,
            "RUN_DB_URL": network.seen(addresses.run_db_url),
            "RESTATE_URL": network.seen(addresses.restate_ingress),
            "RESTATE_ADMIN_URL": network.seen(addresses.restate_admin),
            "API_INTERNAL_URL": network.seen(addresses.internal_api),
            "API_INTERNAL_AUTH": "",
            "SETTLE_QUEUE_URL": network.seen(f"{lambda_service_url}{FOLLOW_UPS_PATH}"),
        }
        return replace(function, environment=configured_environment(function.environment, values))


def configured_environment(declared: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """The declared variables with the values of the stack, without those that name a secret of AWS.

    Log settings and those of Powertools go to every function, and so does the folder of the definitions, which a run
    index in SQLite needs and the template, being for AWS, does not declare.
    """
    local = dict(declared)
    for name, stand_in in SECRETS.items():
        if name in local:
            del local[name]
            if stand_in is not None:
                local[stand_in] = ""
    return {name: values.get(name, value) for name, value in local.items()} | {
        name: value for name, value in values.items() if name.startswith((*PASSED_ON_TO_ALL, "WORKFLOWS_DIR"))
    }


def _listening(port: int, address: str = LOOPBACK) -> Server:
    try:
        return Server(port, address)
    except OSError as error:
        raise InvalidSetting(f"Port {port} cannot be used ({error.strerror}): set PORT to another one.") from None


def _schedules(application: Application, settings: Settings) -> list[Schedule]:
    try:
        return effective_schedules(application.schedules, settings.environment)
    except ValueError as error:
        raise InvalidSetting(str(error)) from None


def _migrate(functions: Invoker) -> None:
    """Brings the databases up to date, as the template's deployment does."""
    outcome = functions.invoke(MIGRATE, b"{}")
    if not outcome.ok:
        raise StartFailed(f"The migrations failed: {outcome.error_message}")


def _stack_file(addresses: Addresses) -> dict[str, str]:
    return {
        "api": addresses.api,
        "internalApi": addresses.internal_api,
        "restateIngress": addresses.restate_ingress,
        "restateAdmin": addresses.restate_admin,
        "runDbUrl": addresses.run_db_url,
    }
