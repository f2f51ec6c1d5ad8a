"""The server under the pages: routes, headers, background work."""
