"""Tools that work across methods: each tool knows methods by their catalogue records alone."""
