"""What is taken away from a page: files, links, settings, reports."""
