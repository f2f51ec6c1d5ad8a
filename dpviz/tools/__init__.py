"""Tools that work across methods: each tool uses only the methods' catalog records."""
