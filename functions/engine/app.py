"""The engine: the Restate endpoint that executes the workflows."""

import restate

from meridian.engine.services import engine_services
from meridian.engine.settings import EngineSettings
from meridian.observability import observed

handler = observed(restate.app(engine_services(EngineSettings.read())))
