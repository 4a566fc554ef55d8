"""What each node does, as a pure function of its fields and the scope of its expressions.

A node is done at once, or asks for a call or for a suspension and says how it completes with the answer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from meridian import clock
from meridian.definitions.expressions import ExpressionError, evaluate, is_true
from meridian.engine.model import Ask, Call, Done, Json, NodeFailed, Pause, RunInput, Suspend
from meridian.engine.values import checked


@dataclass(frozen=True, slots=True)
class Visit:
    """One visit of a node."""

    node: Mapping[str, Any]
    number: int  # from 1, of this node
    run: RunInput
    scope: Json  # {"event", "nodes", "run"}

    @property
    def id(self) -> str:
        """The node's id, `<node>.<n>` from the second visit on: a new validation is a new request."""
        node_id = str(self.node["id"])
        return node_id if self.number == 1 else f"{node_id}.{self.number}"

    def evaluate(self, expression: str, field: str) -> Any:
        """:raises NodeFailed: naming the field and the problem, never a value."""
        try:
            return evaluate(expression, self.scope)
        except ExpressionError as error:
            raise NodeFailed(f"{field}: {error}") from None

    def field(self, name: str) -> Any:
        """The value of the expression in a field, None where the node has no such field."""
        return self.evaluate(self.node[name], name) if name in self.node else None


def set_values(visit: Visit) -> Done:
    """`set`: an object with the value of each expression."""
    values = {name: visit.evaluate(text, f"values.{name}") for name, text in visit.node["values"].items()}
    return Done(values, visit.node["next"])


def choose(visit: Visit) -> Done:
    """`choice`: goes on at the first branch whose condition is true, else at `otherwise`."""
    for index, branch in enumerate(visit.node["branches"]):
        if is_true(visit.evaluate(branch["when"], f"branches.{index}.when")):
            return Done({"branch": index, "next": branch["next"]}, branch["next"])
    if "otherwise" not in visit.node:
        raise NodeFailed("no branch holds and there is no otherwise")
    return Done({"branch": None, "next": visit.node["otherwise"]}, visit.node["otherwise"])


def validate(visit: Visit) -> Suspend:
    """`validation`: suspends until a person has decided, and goes on where the outcome leads."""
    outcomes: Mapping[str, str] = visit.node["outcomes"]
    message = checked(visit.field("message"), "message")

    def begin(at: str) -> Ask:
        return Ask(
            {
                "id": visit.id,
                "node": visit.node["id"],
                "title": visit.node["title"],
                "message": message,
                "outcomes": list(outcomes),
                "subjects": dict(visit.run.subjects),
                "requestedAt": at,
            }
        )

    def complete(decision: Json) -> Done:
        output = {name: decision[name] for name in ("outcome", "by", "comment", "data")}
        return Done({**output, "decidedAt": decision["at"]}, outcomes[decision["outcome"]])

    return Suspend(begin, complete)


def wait(visit: Visit) -> Suspend:
    """`wait`: goes on when it is resumed, or after its timeout."""
    seconds: int | None = visit.node.get("timeoutSeconds")

    def begin(at: str) -> Pause:
        until = None
        if seconds is not None:
            until = clock.text(datetime.fromisoformat(at) + timedelta(seconds=seconds))
        return Pause({"id": visit.id, "node": visit.node["id"], "until": until, "since": at}, seconds)

    def complete(answer: Json) -> Done:
        resumed: bool = answer["resumed"]
        follows = visit.node["next"] if resumed else visit.node.get("onTimeout", visit.node["next"])
        return Done({"resumed": resumed, "data": answer["data"]}, follows)

    return Suspend(begin, complete)


def end(visit: Visit) -> Done:
    """`end`: completes the run."""
    return Done(visit.field("output"), None)


def fail(visit: Visit) -> Done:
    """`fail`: ends the run as failed, with the author's reason and code."""
    raise NodeFailed(visit.node["reason"], visit.node.get("code", 500))


Evaluation = Callable[[Visit], Done | Call | Suspend]

CONTROL_NODES: Mapping[str, Evaluation] = {
    "set": set_values,
    "choice": choose,
    "validation": validate,
    "wait": wait,
    "end": end,
    "fail": fail,
}
