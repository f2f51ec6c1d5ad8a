"""Papers' tables made again."""
