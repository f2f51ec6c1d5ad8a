"""What goes across methods: each tool knows methods by their records alone."""
