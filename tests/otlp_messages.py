"""Reads the messages of --otlp, by the field numbers of OTLP's interface. Unknown fields and values of another type are errors."""
from wire_format import message

# From opentelemetry/proto/{collector,common,resource,metrics,logs,trace}/v1/*.proto; for the format see wire_format.py.
VALUE = {1: ("string", str), 3: ("int", int)}
ATTRIBUTE = {1: ("key", str), 2: ("value", VALUE)}
SCOPE = {1: ("name", str), 2: ("version", str)}
RESOURCE = {1: ("attributes", [ATTRIBUTE])}
NUMBER_POINT = {2: ("start", "fixed"), 3: ("time", "fixed"), 4: ("real", "real"), 6: ("int", "signed"), 7: ("attributes", [ATTRIBUTE])}
HISTOGRAM_POINT = {2: ("start", "fixed"), 3: ("time", "fixed"), 4: ("count", "fixed"), 5: ("sum", "real"), 6: ("counts", "Q"), 7: ("bounds", "d"), 9: ("attributes", [ATTRIBUTE])}
BUCKETS = {1: ("offset", "zigzag"), 2: ("counts", "varints")}
EXPONENTIAL_POINT = {1: ("attributes", [ATTRIBUTE]), 2: ("start", "fixed"), 3: ("time", "fixed"), 4: ("count", "fixed"), 5: ("sum", "real"), 6: ("scale", "zigzag"), 7: ("zeros", "fixed"),
                     8: ("positive", BUCKETS), 9: ("negative", BUCKETS)}
METRIC = {1: ("name", str), 2: ("description", str), 3: ("unit", str), 5: ("gauge", {1: ("points", [NUMBER_POINT])}),
          7: ("sum", {1: ("points", [NUMBER_POINT]), 2: ("temporality", int), 3: ("monotonic", int)}),
          9: ("histogram", {1: ("points", [HISTOGRAM_POINT]), 2: ("temporality", int)}),
          10: ("exponential", {1: ("points", [EXPONENTIAL_POINT]), 2: ("temporality", int)})}
METRICS = {1: ("all", [{1: ("resource", RESOURCE), 2: ("scopes", [{1: ("scope", SCOPE), 2: ("items", [METRIC])}])}])}
RECORD = {1: ("time", "fixed"), 2: ("severity", int), 3: ("severity_text", str), 5: ("body", VALUE), 6: ("attributes", [ATTRIBUTE]), 9: ("trace", bytes), 10: ("span", bytes), 11: ("observed", "fixed")}
LOGS = {1: ("all", [{1: ("resource", RESOURCE), 2: ("scopes", [{1: ("scope", SCOPE), 2: ("items", [RECORD])}])}])}

SPAN = {1: ("trace", bytes), 2: ("id", bytes), 4: ("parent", bytes), 5: ("name", str), 6: ("kind", int), 7: ("start", "fixed"), 8: ("end", "fixed"), 9: ("attributes", [ATTRIBUTE]),
        10: ("left_out", int)}
TRACES = {1: ("all", [{1: ("resource", RESOURCE), 2: ("scopes", [{1: ("scope", SCOPE), 2: ("items", [SPAN])}])}])}


def labels(item):
    return {one["key"]: next(iter(one["value"].values())) for one in item.get("attributes", [])}


def items(body, fields):
    """The resource's attributes; and metrics, records or spans."""
    one, = message(body, fields)["all"]
    scope, = one["scopes"]
    assert scope["scope"]["name"] == "sonde", scope
    return labels(one["resource"]), scope["items"]
