"""Between API Gateway and the services: requests in, JSON and problem documents out."""

from meridian.api.requests import read_body, read_json, read_query
from meridian.api.resolver import http_handler, json_response, make_resolver, request_path_parameter

__all__ = [
    "http_handler",
    "json_response",
    "make_resolver",
    "read_body",
    "read_json",
    "read_query",
    "request_path_parameter",
]
