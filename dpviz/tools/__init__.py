"""Tools that work across methods: each tool uses only the methods' catalogue records."""
